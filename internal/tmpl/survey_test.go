package tmpl

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
)

func surveyOf(t *testing.T, r release.Release, text string) *Survey {
	t.Helper()
	s := DialectOf(r).Survey(source.NewText("t", []byte(text)))
	if s == nil {
		t.Fatalf("%s: no survey", text)
	}
	return s
}

func TestSurveyFields(t *testing.T) {
	for _, c := range []struct{ template, want string }{
		{`{{ .Values.a.b }}{{ .ObjectMeta.Name }}{{ .Spec.Containers }}`, ""},
		{`{{ .ProxyConfig.Concurency }}`, "Concurency of the proxy configuration: Concurrency"},
		{`{{ .MeshConfig.DefaultConfig.StatusPrt }}`, "StatusPrt of the proxy configuration: StatusPort"},
		{`{{ .ProxyConfig.GetStatusPrt }}`, "GetStatusPrt of the proxy configuration: GetStatusPort"},
		{`{{ .ProxyConfig.GetTracing.GetZipkin.Adress }}`, "Adress of a Tracing_Zipkin: Address"},
		{`{{ .Nothing }}`, "Nothing of the template's data: "},
		{`{{ $.Revisin }}`, "Revisin of the template's data: Revision"},
		{`{{ range .Spec.Containers }}{{ .Nmae }}{{ $.Spec.Nmae }}{{ end }}`, "Nmae of a Container: Name; Nmae of a PodSpec: "},
		{`{{ range $i, $c := .Spec.Containers }}{{ $i.X }}{{ $c.Imag }}{{ end }}`, "Imag of a Container: Image"},
		{`{{ with .ObjectMeta }}{{ .Nam }}{{ else }}{{ .Spce }}{{ end }}`, "Nam of an ObjectMeta: Name; Spce of the template's data: Spec"},
		{`{{ (index .Spec.Containers 0).Imge }}`, "Imge of a Container: Image"},
		{`{{ .ObjectMeta.Labels.app.x }}`, "x of a string: "},
		{`{{ .ObjectMeta.Labels.anything }}`, ""},
		{`{{ $x := .Spec }}{{ $x.Container }}{{ $x = "" }}{{ $x.Container }}`, "Container of a PodSpec: Containers"},
		{`{{ define "a" }}{{ .Contaners }}{{ end }}{{ template "a" .Spec }}`, "Contaners of a PodSpec: Containers"},
		{`{{ define "a" }}{{ .Contaners }}{{ end }}`, ""},
		{`{{ define "a" }}{{ template "a" .X }}{{ end }}{{ template "a" . }}`, "X of the template's data: "},
		{`{{ if false }}{{ .Sepc }}{{ end }}{{ printf "%s" .Sepc }}`, "Sepc of the template's data: Spec; Sepc of the template's data: Spec"},
		{`{{ .ProxyConfig.InterceptionMode.String }}{{ .ObjectMeta.CreationTimestamp.Unix }}`, ""},
		{`{{ (fromJSON "{}").a.b }}`, ""},
	} {
		var got []string
		for _, f := range surveyOf(t, release.Newest, c.template).Fields {
			got = append(got, f.Name+" of "+f.Of+": "+f.Near)
			if at := c.template[f.At.Start:f.At.End]; at != f.Name {
				t.Errorf("%s: %s is placed at %q", c.template, f.Name, at)
			}
		}
		if list := strings.Join(got, "; "); list != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.template, list, c.want)
		}
	}
}

// A field that a survey does not find, text/template does not find either, and
// the other way round.
func TestSurveyAgreesWithTemplates(t *testing.T) {
	chains := []string{
		"Spec.Containers", "Spec.Volume", "ObjectMeta.Name", "ObjectMeta.Nam", "TypeMeta.Kind", "DeploymentMeta.Name", "DeploymentMeta.Labels",
		"ProxyConfig.DiscoveryAddress", "ProxyConfig.ParentShutdownDuration", "ProxyConfig.GetParentShutdownDuration", "ProxyConfig.ConnectTimeout", "ProxyConfig.ServiceCluster",
		"ProxyConfig.GetServiceCluster", "ProxyConfig.Concurrency.Valu", "MeshConfig.MixerCheckServer", "MeshConfig.RootNamespace", "MeshConfig.Rot", "EstimatedConcurrency",
		"Revision", "NativeSidecars", "ProxyImage", "Former",
	}
	for r := release.Oldest; ; r = r.Next() {
		d := DialectOf(r)
		for _, chain := range chains {
			text := source.NewText("t", []byte(d.left+" ."+chain+" "+d.right))
			s := d.Survey(text)
			if s == nil {
				t.Fatalf("release %s: no survey of %s", r, chain)
			}
			tm, bad := d.Parse("t", text)
			if bad != nil {
				t.Fatal(bad)
			}
			_, bad = tm.Render(testData(t, node(t, helloPod), AllNeeds()), testEnv, nil)
			if missing := bad != nil && bad.Code == CodeUnknown; missing != (len(s.Fields) > 0) {
				t.Errorf("release %s: .%s: the survey says %v, the template %v", r, chain, s.Fields, bad)
			}
		}
		if r == release.Newest {
			break
		}
	}
}

func TestSurveyValues(t *testing.T) {
	for template, want := range map[string]string{
		`{{ .Values.a.b }}`:                                             "a a.b a.b*",
		`{{ if .Values.a }}x{{ end }}`:                                  "a",
		`{{ toYaml .Values.a }}`:                                        "a a*",
		`{{ with .Values.a }}{{ .b }}{{ end }}`:                         "a a.b a.b*",
		`{{ range .Values.a }}x{{ end }}`:                               "a a*",
		`{{ index .Values "a" "b" }}`:                                   "a a.b a.b*",
		`{{ index .Values $.Revision }}`:                                "*",
		`{{ $v := .Values }}{{ $v.a }}`:                                 "a a*",
		`{{ toYaml . }}`:                                                "lost",
		`{{ template "x" .Values.a }}{{ define "x" }}{{ .b }}{{ end }}`: "a.b a.b* a",
		`{{ .Values }}`:                                                 "*",
	} {
		s := surveyOf(t, release.Newest, template)
		var got []string
		for _, r := range s.Values {
			path := strings.Join(r.Path, ".")
			if r.Whole {
				path += "*"
			}
			got = append(got, path)
		}
		if s.Lost {
			got = append(got, "lost")
		}
		wanted := strings.Fields(want)
		slices.Sort(wanted)
		slices.Sort(got)
		if !slices.Equal(got, wanted) {
			t.Errorf("%s: reads %v, want %v", template, got, wanted)
		}
	}
}

func TestSurveyKeys(t *testing.T) {
	s := surveyOf(t, release.Newest, `{{ annotation .ObjectMeta "a" "d" }}{{ index .ObjectMeta.Labels "b" }}{{ isset .ObjectMeta.Annotations `+"`c`"+` }}{{ index .ObjectMeta.Annotations $.Revision }}{{ hasKey .Values "d" }}`)
	want := "[{a false t:1:28} {b true t:1:66} {c false t:1:105}]"
	var got []string
	for _, k := range s.Keys {
		got = append(got, fmt.Sprintf("{%s %v %s}", k.Name, k.Label, k.At.Pos()))
	}
	if fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}

func TestSurveyFunctionsAndText(t *testing.T) {
	s := surveyOf(t, release.Newest, `a{{ toYmal .Spec }} {{ "x" | uper }}{{/* c */}}{{ define "d" }}z{{ end }}{{ if .Spec }}b{{ end }}`)
	var names []string
	for _, at := range append(s.Functions, s.Idle...) {
		names = append(names, string(at.Text.Data[at.Start:at.End]))
	}
	if got := strings.Join(names, " "); got != `toYmal uper "d"` {
		t.Error(got)
	}
	text := strings.NewReplacer("\x00", "h", "\x01", "s").Replace(string(s.Text))
	if want := "ahh hhhhhh hhhhh hh hh hhh h hhhh hhssss s ssssss ssssss sss sssss sss ssss ss sssss ssbss sss ss"; text != want {
		t.Errorf("text\n%q, want\n%q", text, want)
	}
	for _, broken := range []string{"{{", "{{ if }}", "{{ block `x` . }}{{ end }}"} {
		if newest.Survey(source.NewText("t", []byte(broken))) != nil {
			t.Errorf("%s: a survey", broken)
		}
	}
}

// A misspelt word is told at its place, with the one that was meant.
func TestMisspeltWords(t *testing.T) {
	for template, want := range map[string]string{
		"{{ if .Spec }}\nx\n{{ ende }}\ny": `t:3:4: function "ende" is not defined: did you mean end?`,
		"{{ toYmal .Spec }}":               `t:1:4: function "toYmal" is not defined: did you mean toYaml?`,
		"{{ if .Spec }}":                   "t:1:1: unexpected EOF: ",
	} {
		_, bad := Parse("x", source.NewText("t", []byte(template)))
		if bad == nil {
			t.Fatalf("%s: no error", template)
		}
		if got := fmt.Sprintf("%s: %s: %s", bad.Span.Pos(), strings.TrimPrefix(bad.Message, `template "x": `), bad.Fix); got != want {
			t.Errorf("%s: %s, want %s", template, got, want)
		}
	}
}
