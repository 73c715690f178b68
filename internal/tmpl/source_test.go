package tmpl

import (
	"strings"
	"testing"
)

func TestSource(t *testing.T) {
	const text = `spec:
{{- range $i, $name := list "a" "b" }}
- name: {{ $name }}   
  image: "{{ annotation $.ObjectMeta "example.com/image" "none" }}"
{{- end }}
  last: one
`
	tpl := parseTemplate(t, text)
	data := &Data{}
	data.ObjectMeta.Annotations = map[string]string{"example.com/image": "x:1"}
	out, bad := tpl.Render(data, testEnv, nil)
	if bad != nil {
		t.Fatal(bad)
	}
	for _, c := range []struct{ written, want, reads string }{
		{"spec:", "test.yaml:1:1 spec:", ""},
		{"name: b", "test.yaml:3:3 name:", ""},
		{"b   ", "test.yaml:3:9 {{ $name }}", ""},
		{"x:1", `test.yaml:4:11 {{ annotation $.ObjectMeta "example.com/image" "none" }}`, ".ObjectMeta.Annotations[\"example.com/image\"]"},
		{"last", "test.yaml:6:3 last: one", ""},
	} {
		at := strings.LastIndex(string(out), c.written)
		if at < 0 {
			t.Fatalf("no %q in\n%s", c.written, out)
		}
		span, reads := tpl.Source(at, data, testEnv)
		got := span.Pos().String() + " " + string(span.Text.Data[span.Start:span.End])
		var read []string
		for _, r := range reads {
			read = append(read, r.String())
		}
		if got != c.want || strings.Join(read, " ") != c.reads {
			t.Errorf("%q: got %q, reads %q", c.written, got, read)
		}
	}
	for _, at := range []int{-1, len(out)} {
		if span, _ := tpl.Source(at, data, testEnv); span.IsValid() {
			t.Errorf("offset %d, which nothing wrote, is of %v", at, span)
		}
	}
	if span, _ := parseTemplate(t, "a: b\nc").Source(5, data, testEnv); span.Start != 5 || span.End != 6 {
		t.Errorf("of a template without actions: %+v", span)
	}

	// What text/template alone renders is found by its line, where only one is
	// like it.
	alone := tpl.Reference()
	if span, _ := alone.Source(strings.Index(string(out), "last"), data, testEnv); !span.IsValid() || span.Pos().String() != "test.yaml:6:3" {
		t.Errorf("without recorder: %+v", span)
	}
	if span, _ := alone.Source(strings.Index(string(out), "name: b"), data, testEnv); span.IsValid() {
		t.Errorf("without recorder, of a line that is not in the template: %+v", span)
	}
}
