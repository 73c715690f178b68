package tmpl

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ingraft/ingraft/internal/source"
)

// origins writes what a recorder learnt, one line an origin:
// output < template < reads < statements around.
func origins(out []byte, rec *Recorder) string {
	var b strings.Builder
	list := func(reads []Read) string {
		names := make([]string, len(reads))
		for i, r := range reads {
			names[i] = r.String()
		}
		return strings.Join(names, " ")
	}
	for _, o := range rec.Origins {
		fmt.Fprintf(&b, "%q < %s", out[o.Start:o.End], o.Span.Text.Data[o.Span.Start:o.Span.End])
		if o.Reads != nil {
			b.WriteString(" < " + list(o.Reads))
		}
		for w := o.Within; w != nil; w = w.Outer {
			fmt.Fprintf(&b, " in %s", w.Span.Text.Data[w.Span.Start:w.Span.End])
			if w.Else {
				b.WriteString(" else")
			}
			if w.Reads != nil {
				b.WriteString(" (" + list(w.Reads) + ")")
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestRecorder(t *testing.T) {
	tests := []struct{ name, template, want string }{
		{"text", "a\n  {{- /* c */ -}}  b", `
"a" < a
"b" < b
`},
		{"fields", "{{ .Values.global.hub }}{{ .ObjectMeta.Labels.app }}{{ .DeploymentMeta.Name }}{{ 1 }}", `
"registry.istio.io/testing" < {{ .Values.global.hub }} < .Values.global.hub
"hello" < {{ .ObjectMeta.Labels.app }} < .ObjectMeta.Labels.app
"hello" < {{ .DeploymentMeta.Name }} < .DeploymentMeta.Name
"1" < {{ 1 }}
`},
		{"what is not there", "{{ .Values.global.none.x }}", `
"<no value>" < {{ .Values.global.none.x }} < .Values.global.none.x
`},
		{"trim marks", "x\n{{- .Revision -}}\n y", `
"x" < x
"default" < {{- .Revision -}} < .Revision
"y" < y
`},
		{"index and annotation", "{{ index .ObjectMeta.Labels `app` }}{{ annotation .ObjectMeta `a/b` .Values.global.hub }}{{ isset .ObjectMeta.Annotations `x y` }}", `
"hello" < {{ index .ObjectMeta.Labels ` + "`app`" + ` }} < .ObjectMeta.Labels.app
"registry.istio.io/testing" < {{ annotation .ObjectMeta ` + "`a/b`" + ` .Values.global.hub }} < .ObjectMeta.Annotations["a/b"] .Values.global.hub
"false" < {{ isset .ObjectMeta.Annotations ` + "`x y`" + ` }} < .ObjectMeta.Annotations["x y"]
`},
		{"functions", "{{ index .ObjectMeta.Labels `none` | default .DeploymentMeta.Name | quote }}{{ .ProxyConfig.InterceptionMode.String }}{{ env `HOME` `x` }}", `
"\"hello\"" < {{ index .ObjectMeta.Labels ` + "`none`" + ` | default .DeploymentMeta.Name | quote }} < .DeploymentMeta.Name .ObjectMeta.Labels.none
"REDIRECT" < {{ .ProxyConfig.InterceptionMode.String }} < .ProxyConfig.InterceptionMode
"/root" < {{ env ` + "`HOME` `x`" + ` }} < .env.HOME
`},
		{"if and else", "{{ if .Values.global.none }}a{{ else if eq .Revision `default` }}b{{ else }}c{{ end }}", `
"b" < b in {{ else if eq .Revision ` + "`default`" + ` }} (.Revision) in {{ if .Values.global.none }} else (.Values.global.none)
`},
		{"with", "{{ with .Values.global }}{{ .hub }}{{ end }}", `
"registry.istio.io/testing" < {{ .hub }} < .Values.global.hub in {{ with .Values.global }} (.Values.global)
`},
		{"range over a list", "{{ range $i, $c := .Spec.Containers }}{{ $i }}{{ $c.Name }} {{ end }}", `
"0" < {{ $i }} < .Spec.Containers in {{ range $i, $c := .Spec.Containers }} (.Spec.Containers)
"hello" < {{ $c.Name }} < .Spec.Containers[0].Name in {{ range $i, $c := .Spec.Containers }} (.Spec.Containers)
" " <   in {{ range $i, $c := .Spec.Containers }} (.Spec.Containers)
"1" < {{ $i }} < .Spec.Containers in {{ range $i, $c := .Spec.Containers }} (.Spec.Containers)
"side" < {{ $c.Name }} < .Spec.Containers[1].Name in {{ range $i, $c := .Spec.Containers }} (.Spec.Containers)
" " <   in {{ range $i, $c := .Spec.Containers }} (.Spec.Containers)
`},
		{"range over a map", "{{ range $k, $v := .ObjectMeta.Labels }}{{ $k }}{{ $v }}{{ end }}", `
"app" < {{ $k }} < .ObjectMeta.Labels in {{ range $k, $v := .ObjectMeta.Labels }} (.ObjectMeta.Labels)
"hello" < {{ $v }} < .ObjectMeta.Labels.app in {{ range $k, $v := .ObjectMeta.Labels }} (.ObjectMeta.Labels)
"version" < {{ $k }} < .ObjectMeta.Labels in {{ range $k, $v := .ObjectMeta.Labels }} (.ObjectMeta.Labels)
"v1" < {{ $v }} < .ObjectMeta.Labels.version in {{ range $k, $v := .ObjectMeta.Labels }} (.ObjectMeta.Labels)
`},
		{"range over nothing", "{{ range .Values.none }}a{{ else }}b{{ end }}", `
"b" < b in {{ range .Values.none }} else (.Values.none)
`},
		{"templates", "{{ define `t` }}{{ .app }}{{ $.version }}{{ end }}{{ template `t` .ObjectMeta.Labels }}", `
"hello" < {{ .app }} < .ObjectMeta.Labels.app in {{ template ` + "`t`" + ` .ObjectMeta.Labels }} (.ObjectMeta.Labels)
"v1" < {{ $.version }} < .ObjectMeta.Labels.version in {{ template ` + "`t`" + ` .ObjectMeta.Labels }} (.ObjectMeta.Labels)
`},
		{"variables", "{{ $x := printf `%s/%s` .Values.global.hub .Revision }}{{ $x }}{{ $x = 1 }}{{ $x }}", `
"registry.istio.io/testing/default" < {{ $x }} < .Values.global.hub .Revision
"1" < {{ $x }}
`},
		{"a variable assigned under a condition", "{{ $x := `a` }}{{ if .NativeSidecars }}{{ $x = `b` }}{{ else }}{{ $x = `c` }}{{ end }}{{ $x }}", `
"c" < {{ $x }} < .NativeSidecars
`},
		{"a variable not assigned under a condition", "{{ $x := .Revision }}{{ if .NativeSidecars }}{{ $x = `b` }}{{ end }}{{ $x }}", `
"default" < {{ $x }} < .Revision .NativeSidecars
`},
		{"a list made by the template", "{{ $l := list }}{{ range .Spec.Containers }}{{ $l = append $l .Name }}{{ end }}{{ join `,` $l }}", `
"hello,side" < {{ join ` + "`,`" + ` $l }} < .Spec.Containers[0].Name .Spec.Containers .Spec.Containers[1].Name
`},
		{"and, or, not", "{{ if and .Revision (or .Values.none .ProxyImage) }}{{ not .NativeSidecars }}{{ end }}", `
"true" < {{ not .NativeSidecars }} < .NativeSidecars in {{ if and .Revision (or .Values.none .ProxyImage) }} (.Revision .Values.none .ProxyImage)
`},
		{"the whole dot", "{{ with . }}{{ kindOf . }}{{ end }}", `
"ptr" < {{ kindOf . }} < . in {{ with . }} (.)
`},
		{"a template that only text/template understands", "a{{ html .Revision }}", `
"adefault" < a{{ html .Revision }}
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tm := parseTemplate(t, tt.template)
			data := testData(t, node(t, helloPod), tm.Needs())
			var rec Recorder
			out, d := tm.Render(data, testEnv, &rec)
			if d != nil {
				t.Fatal(d)
			}
			if plain, _ := tm.Render(data, testEnv, nil); string(plain) != string(out) {
				t.Errorf("with a recorder %q, without %q", out, plain)
			}
			if got := origins(out, &rec); got != strings.TrimPrefix(tt.want, "\n") {
				t.Errorf("got\n%swant%s", got, tt.want)
			}
		})
	}
}

func TestRecorderOfSidecar(t *testing.T) {
	tm, _ := Parse("sidecar", shipped(t, "injection-template"))
	var rec Recorder
	out, d := tm.Render(testData(t, node(t, helloPod), tm.Needs()), testEnv, &rec)
	if d != nil {
		t.Fatal(d)
	}
	covered(t, out, &rec)
	for _, want := range []struct{ text, read string }{
		{"hello\"\n    service.istio.io/canonical-revision", ".ObjectMeta.Labels.app"},
		{"hello\"\n    service.istio.io/canonical-revision", `.ObjectMeta.Labels["service.istio.io/canonical-name"]`},
		{"100m", ".Values.global.proxy.resources"},
		{"100m", `.ObjectMeta.Annotations["sidecar.istio.io/proxyCPU"]`},
		{`{"name":"http"`, ".Spec.Containers[0].Ports[0]"},
		{"hello,side", ".Spec.Containers[1].Name"},
		{"istio-iptables", `.ObjectMeta.Annotations["sidecar.istio.io/interceptionMode"]`},
		{"securityContext:\n      allow", ".ProxyConfig.InterceptionMode"},
	} {
		at := strings.Index(string(out), want.text)
		if at < 0 {
			t.Fatalf("no %s in\n%s", want.text, out)
		}
		found := false
		for i := range rec.Origins {
			o := &rec.Origins[i]
			if o.Start <= at && at < o.End {
				for _, r := range o.Everything() {
					found = found || r.String() == want.read
				}
				if !found {
					t.Errorf("%q does not depend on %s, but on %v", want.text, want.read, o.Everything())
				}
			}
		}
	}
}

// covered checks that origins cover an output without gap, and that text is
// what stands in the template.
func covered(t *testing.T, out []byte, rec *Recorder) {
	t.Helper()
	at := 0
	for _, o := range rec.Origins {
		if o.Start != at || o.End <= o.Start {
			t.Fatalf("origin %d-%d after %d", o.Start, o.End, at)
		}
		at = o.End
		piece := string(o.Span.Text.Data[o.Span.Start:o.Span.End])
		if !strings.Contains(piece, "{{") && !strings.Contains(piece, "}}") && piece != string(out[o.Start:o.End]) {
			t.Fatalf("text %q wrote %q", piece, out[o.Start:o.End])
		}
	}
	if at != len(out) {
		t.Fatalf("%d of %d bytes have an origin", at, len(out))
	}
}

// TestRecorderOfRandomTemplates: whatever the template, the output is the same
// with a recorder, all of it has an origin, and no text of the pod comes out of
// an action that reads nothing of it.
func TestRecorderOfRandomTemplates(t *testing.T) {
	const mark = "zq7"
	pod := node(t, strings.NewReplacer("hello", mark+"a", "side", mark+"b", "v1", mark+"c").Replace(helloPod))
	for seed := range uint64(200) {
		tm, d := Parse("random", source.NewText("random", []byte(randomTemplate(rand.New(rand.NewPCG(seed, 11))))))
		if d != nil {
			continue
		}
		data := testData(t, pod, tm.Needs())
		data.DeploymentMeta.Name = mark
		var rec Recorder
		out, d := tm.Render(data, testEnv, &rec)
		plain, dp := tm.Render(data, testEnv, nil)
		if (d == nil) != (dp == nil) || normal(out) != normal(plain) {
			t.Fatalf("with a recorder %q %v, without %q %v", out, d, plain, dp)
		}
		covered(t, out, &rec)
		for i := range rec.Origins {
			o := &rec.Origins[i]
			if strings.Contains(string(out[o.Start:o.End]), mark) && len(o.Everything()) == 0 && o.Span.End-o.Span.Start < len(tm.text.Data) {
				t.Errorf("seed %d: %q comes from nowhere:\n%s\n%s", seed, out[o.Start:o.End], tm.text.Data, origins(out, &rec))
			}
		}
	}
}
