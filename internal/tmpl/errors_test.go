package tmpl

import (
	"strings"
	"testing"

	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/testkit/portion"
)

// TestDiagnostics: where a faulty template is reported, and how.
func TestDiagnostics(t *testing.T) {
	tests := []struct {
		name, template      string
		code, at, has, hint string
	}{
		{"syntax", "a\n  {{ if }}\nb", CodeSyntax, "2:3 {{ if }}", "missing value for if", ""},
		{"syntax at the end", "a\n{{ if true }}\n", CodeSyntax, "3:1 ", "unexpected EOF", ""},
		{"unclosed", "{{ `", CodeSyntax, "1:1 {{ `", "unterminated raw quoted string", ""},
		{"undefined variable", "{{ $x }}", CodeSyntax, "1:1 {{ $x }}", `undefined variable "$x"`, ""},
		{"unknown function", "a\n{{ b }}{{ frobnicate .ObjectMeta }}", CodeUnknown, "2:4 b", `function "b" is not defined`, "written for a newer release"},
		{"unknown function in a define", "{{ define `x` }}{{ len (frobnicate 1) }}{{ end }}", CodeUnknown, "1:25 frobnicate", `function "frobnicate"`, "written for a newer release"},
		{"hidden function", "{{ _step }}", CodeUnknown, "1:4 _step", `function "_step"`, ""},
		{"unknown field", "\n {{ .Novelty }}", CodeUnknown, "2:5 .Novelty", "there is no field Novelty in the template's data", "written for a newer release"},
		{"unknown field below", "{{ .ObjectMeta.Novelty.X }}", CodeUnknown, "1:4 .ObjectMeta.Novelty.X", "there is no field Novelty in an ObjectMeta", "written for a newer release"},
		{"unknown field of a message", "{{ $p := .ProxyConfig }}{{ $p.Novelty }}", CodeUnknown, "1:28 $p.Novelty", "there is no field Novelty in the proxy configuration", "written for a newer release"},
		{"field of an older release", "{{ .EstimatedConcurrency }}", CodeUnknown, "1:4 .EstimatedConcurrency", "there is no field EstimatedConcurrency", "1.10 to 1.17"},
		{"fail", "{{ fail `no such luck` }}", CodeRender, "1:4 fail `no such luck`", "no such luck", ""},
		{"panic", "{{ regexFind `(` `a` }}", CodeRender, "1:4 regexFind `(` `a`", "missing closing )", ""},
		{"division", "{{ div 1 0 }}", CodeRender, "1:4 div 1 0", "divide by zero", ""},
		{"index", "{{ index .Spec.Containers 7 }}", CodeRender, "1:4 index .Spec.Containers 7", "out of range", ""},
		{"nil pointer of the pod", "{{ .Spec.SecurityContext.RunAsUser }}", CodeRender, "1:4 .Spec.SecurityContext.RunAsUser", "nil pointer evaluating", ""},
		{"missing template", "{{ template `x` }}", CodeRender, "1:13 `x`", "not defined", ""},
		{"missing value", "{{ if lt .Values.global.proxy.nothing 5 }}{{ end }}", CodeValues, "1:7 lt .Values.global.proxy.nothing 5", "values: global.proxy.nothing is not set", "the pod is not at fault"},
		{"missing values", "{{ len .Values.a.b }}", CodeValues, "1:4 len .Values.a.b", "values: a.b is not set", "the pod is not at fault"},
		{"missing value in parentheses", "x {{ 1 | add (len (index .Values.a.b `c`)) }}", CodeValues, "1:20 index .Values.a.b `c`", "values: a.b is not set", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, d := eval(t, tt.template)
			if d == nil {
				t.Fatalf("no diagnostic, but %q", out)
			}
			if d.Code != tt.code {
				t.Errorf("code %s, want %s: %v", d.Code, tt.code, d)
			}
			if got := at(d); got != tt.at {
				t.Errorf("at %q, want %q: %v", got, tt.at, d)
			}
			if !strings.HasPrefix(d.Message, `template "test": `) || !strings.Contains(d.Message, tt.has) {
				t.Errorf("message %q, want %q", d.Message, tt.has)
			}
			if !strings.Contains(d.Fix, tt.hint) || tt.hint == "" && tt.code != CodeUnknown && tt.code != CodeValues && d.Fix != "" {
				t.Errorf("fix %q, want %q", d.Fix, tt.hint)
			}
			if strings.Contains(d.Message, "template: inject") {
				t.Errorf("message shows text/template's own position: %s", d.Message)
			}
		})
	}
}

func TestTooLarge(t *testing.T) {
	tm, d := Parse("big", source.NewText("big.yaml", make([]byte, maxTemplate+1)))
	if tm != nil || d == nil || d.Code != CodeLimit {
		t.Errorf("got %v %v", tm, d)
	}
}

// FuzzTemplate renders any text as a template: there is no panic, it ends, and
// there is a result or an error, never both.
func FuzzTemplate(f *testing.F) {
	f.Add([]byte("{{ .ObjectMeta.Name }}"))
	f.Add([]byte("{{ range .Spec.Containers }}{{ .Name | quote }},{{ end }}"))
	f.Add([]byte("{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}"))
	f.Add([]byte("{{ define `a` }}{{ template `a` . }}{{ end }}{{ template `a` . }}"))
	if portion.Whole { // takes seconds
		f.Add([]byte("{{ $x := `a` }}{{ range until 100 }}{{ $x = printf `%s%s` $x $x }}{{ end }}"))
	}
	f.Add([]byte("{{ range $i, $c := .Spec.Containers }}{{ break }}{{ continue }}{{ else }}{{ end }}"))
	f.Add([]byte("{{ .Values.global.proxy.image }}{{ with .ProxyConfig.Tracing }}{{ end }}"))
	f.Add([]byte("{{ index .Values `a` `b` }}{{ .MeshConfig.ProtoReflect.Descriptor.Fields.Get 99 }}"))
	f.Add([]byte("{{ eq .Values.a.b 1 }}{{ and }}{{ call .X }}{{- /* c */ -}}"))
	f.Add([]byte("{{ render `{{ render .X }}` }}{{ toYaml .Spec | nindent 4 }}{{ index (list 1 2) 5 }}"))
	for _, file := range []string{"injection-template", "gateway-injection-template", "grpc-simple", "grpc-agent", "waypoint"} {
		f.Add(shipped(f, file).Data)
	}
	pod := node(f, helloPod)
	values := chartValues(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		tm, d := Parse("fuzz", source.NewText("fuzz.yaml", text))
		if (tm == nil) == (d == nil) {
			t.Fatalf("template %v and diagnostic %v", tm, d)
		}
		if d != nil {
			checkSpan(t, d.Span, text)
			return
		}
		mesh := meshConfig()
		data := &Data{MeshConfig: mesh, ProxyConfig: mesh.DefaultConfig, Values: values}
		if d := data.SetPod(pod, tm.Needs()); d != nil {
			t.Fatal(d)
		}
		out, d := tm.Render(data, testEnv, nil)
		if (out == nil) == (d == nil) {
			t.Fatalf("output %q and diagnostic %v", out, d)
		}
		if d != nil {
			checkSpan(t, d.Span, text)
			if d.Message == "" {
				t.Fatal("empty message")
			}
		}
		compareReference(t, tm, data)
		if len(out) > maxOutput {
			t.Fatalf("%d bytes", len(out))
		}
	})
}

func checkSpan(t *testing.T, s source.Span, text []byte) {
	t.Helper()
	if !s.IsValid() || s.Start < 0 || s.Start > s.End || s.End > len(text) {
		t.Fatalf("span %d-%d of %d bytes", s.Start, s.End, len(text))
	}
}
