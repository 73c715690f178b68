package release

import (
	"sort"
	"strings"
	"testing"

	"github.com/ingraft/ingraft/internal/source"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Release{
		"0.8": V(0, 8), "1.0": V(1, 0), "v1.9": V(1, 9), "1.31.0-rc.0": V(1, 31), "1.20.8": V(1, 20),
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("Parse(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "1", "1.", "0.7", "0.9", "1.32", "2.0", "1.9x", "x1.9", "1.-1", "1.99999"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) = %v; want an error", text, got)
		}
	}
}

func TestOfTag(t *testing.T) {
	for tag, want := range map[string]string{
		"1.9.3": "1.9", "1.31-alpha.5": "1.31", "1.20.8-distroless": "1.20", "release-1.1-latest-daily": "1.1",
		"0.8.0": "0.8", "v1.4": "1.4", "1.40.1": "1.40", "latest": "", "": "", "2.3.4": "", "1x.2": "", "1.2x": "",
	} {
		r, ok := OfTag(tag)
		if got := r.String(); ok != (want != "") || ok && got != want {
			t.Errorf("OfTag(%q) = %v, %v; want %q", tag, r, ok, want)
		}
	}
}

func TestFeaturesAreSorted(t *testing.T) {
	if !sort.SliceIsSorted(features[:], func(i, j int) bool {
		a, b := &features[i], &features[j]
		return a.Kind < b.Kind || a.Kind == b.Kind && a.Name < b.Name
	}) {
		t.Error("the table is not sorted by kind and name")
	}
	for _, f := range features {
		if found, ok := Lookup(f.Kind, f.Name); !ok || found != f {
			t.Errorf("%s %s is not found", f.Kind, f.Name)
		}
	}
}

func TestReleasesFollowEachOther(t *testing.T) {
	n := 1
	for r := Oldest; r != Newest; r = r.Next() {
		if !r.Known() || !r.Before(r.Next()) {
			t.Fatalf("%v, then %v", r, r.Next())
		}
		n++
	}
	if n != 33 {
		t.Errorf("%d releases, want 33: 0.8 and 1.0 to 1.31", n)
	}
}

func TestSpans(t *testing.T) {
	a := Span{V(1, 2), V(1, 13)}
	for _, c := range []struct {
		b    Span
		last string
		text string
	}{
		{Span{}, "1.13", "every release"},
		{from(1, 9), "1.13", "since 1.9"},
		{Span{Until: V(1, 8)}, "1.8", "until 1.8"},
		{Span{V(1, 14), V(1, 20)}, "", "1.14 to 1.20"},
		{Span{V(1, 5), V(1, 5)}, "1.5", "1.5 only"},
	} {
		if got := c.b.String(); got != c.text {
			t.Errorf("String of %#v: %q, want %q", c.b, got, c.text)
		}
		last, ok := a.And(c.b).Last()
		if ok != (c.last != "") || ok && last.String() != c.last {
			t.Errorf("1.2 to 1.13 and %v end with %v, %v; want %q", c.b, last, ok, c.last)
		}
	}
}

func TestUses(t *testing.T) {
	for template, want := range map[string]string{
		`x {{ .Values.global.tag }} y`:                                       "Values",
		`{{- if (isset .ObjectMeta.Annotations "a.b/c") -}}`:                 "isset ObjectMeta",
		"{{ annotation .ObjectMeta `.Fake }} env` $.Revision }}":             "annotation ObjectMeta Revision",
		`{{/* toJson .Values }} */}}{{ $x := .A.B }}{{ $x.NativeSidecars }}`: "A",
		`{{ (index .Spec.Containers 0).Revision | toYaml | indent 4 }}`:      "index Spec toYaml indent",
		`{{ range .Spec.Containers }}{{ .Name }}{{ end }}`:                   "Spec Name",
		`{{ "quote \" .X" }} {{ 'c' }} {{ unclosed`:                          "unclosed",
		`{{ if eq $a 1.5 }}`: "eq",
		`[[ .Values ]] {{`:   "",
	} {
		var got []string
		for _, u := range Uses(source.NewText("", []byte(template)), "{{", "}}") {
			got = append(got, u.Name)
			if string(u.At.Text.Data[u.At.Start:u.At.End]) != u.Name {
				t.Errorf("%s: the place of %s is %q", template, u.Name, u.At.Text.Data[u.At.Start:u.At.End])
			}
		}
		if list := strings.Join(got, " "); list != want {
			t.Errorf("%s uses %q, want %q", template, list, want)
		}
	}
}

func TestDetect(t *testing.T) {
	for name, c := range map[string]struct {
		shape          Shape
		template, tag  string
		keys           []string
		want, evidence string
	}{
		"tag of the values":       {Overlays, "{{ .Values }}", "1.14.5", nil, "1.14", "tag 1.14.5"},
		"newest":                  {Overlays, "{{ .Values }}", "latest", nil, "1.31", "key templates"},
		"last that had it":        {Overlays, "{{ .EstimatedConcurrency }}", "", nil, "1.17", "field EstimatedConcurrency"},
		"field of the proxy":      {Overlays, "{{ .ProxyConfig.ParentShutdownDuration }}", "", nil, "1.16", "field ProxyConfig.ParentShutdownDuration"},
		"field that went early":   {Spec, "{{ formatDuration .ProxyConfig.ConnectTimeout }}", "", nil, "1.5", "field ProxyConfig.ConnectTimeout"},
		"number of threads":       {Spec, "{{ if gt .ProxyConfig.Concurrency 0 }}x{{ end }}", "", nil, "1.6", "field ProxyConfig.Concurrency as a number"},
		"message of threads":      {Spec, "{{ if gt .ProxyConfig.Concurrency.GetValue 0 }}x{{ end }}", "", nil, "1.8", "key template"},
		"threads, not compared":   {Spec, "{{ if .ProxyConfig.Concurrency }}x{{ end }}", "", nil, "1.8", "key template"},
		"tag newer than any":      {Overlays, "", "1.99.0", nil, "1.31", "newer than any"},
		"tag of another shape":    {Overlays, "{{ render .Values.x }}", "1.2.3", nil, "1.13", "function render"},
		"square brackets":         {Spec, "[[ toYaml .Spec ]]", "", nil, "1.1", "actions in [["},
		"tag in the template":     {Spec, "image: docker.io/istio/proxyv2:1.0.9\n[[ .Spec ]]", "", nil, "1.0", "tag 1.0.9"},
		"old, but with Sprig":     {Spec, "{{ upper .Values.x }}", "", nil, "1.8", "key template"},
		"old shape, new function": {Spec, "{{ mergeMaps }}", "", nil, "1.8", "function mergeMaps"},
	} {
		m := Material{Shape: c.shape, Tag: c.tag, Templates: []*source.Text{source.NewText("", []byte(c.template))}}
		got := Detect(m)
		if got.Release.String() != c.want {
			t.Errorf("%s: %v, want %s: %+v", name, got.Release, c.want, got.Evidence)
		}
		found := false
		for _, e := range got.Evidence {
			found = found || strings.Contains(e.What, c.evidence)
		}
		if !found {
			t.Errorf("%s: no evidence %q in %+v", name, c.evidence, got.Evidence)
		}
	}
}

// A [[ of a shell script in a template is no action; neither is a {{ of another
// template's in one that has [[ ]].
func TestDelimitersOfMixedText(t *testing.T) {
	for text, want := range map[string]string{
		`args: ["if [[ -f /x ]]; then echo; fi", "{{ .Values.global.hub }}"]`:     "{{",
		`args: ["[[ $A == b ]]", "[[ -n x ]]", "{{- if .X -}}"]`:                  "{{",
		"[[ if .X -]] a [[ end ]] [[ annotation .ObjectMeta `x` 1 ]] {{ .Name }}": "[[",
		`format: "{{.Name}}" # [[ range .Spec.Containers ]][[ .Name ]][[ end ]]`:  "[[",
		`a: [[1, 2], [3]]`:       "[[",
		`b: "{{ x }}" # [[ y ]]`: "{{",
		`[[ "`:                   "[[",
		``:                       "{{",
	} {
		if left, _ := Delimiters([]byte(text)); left != want {
			t.Errorf("%s: %s, want %s", text, left, want)
		}
	}
}
