package tmpl

import "testing"

func BenchmarkParse(b *testing.B) {
	text := shipped(b, "injection-template")
	b.ReportAllocs()
	for b.Loop() {
		if _, d := Parse("sidecar", text); d != nil {
			b.Fatal(d)
		}
	}
}

func BenchmarkParseReference(b *testing.B) {
	tm := &Template{name: "sidecar", text: shipped(b, "injection-template")}
	b.ReportAllocs()
	for b.Loop() {
		if _, d := tm.parseReference(); d != nil {
			b.Fatal(d)
		}
	}
}

func BenchmarkRender(b *testing.B)          { benchmarkRender(b, func(t *Template) *Template { return t }) }
func BenchmarkRenderReference(b *testing.B) { benchmarkRender(b, (*Template).Reference) }

func benchmarkRender(b *testing.B, of func(*Template) *Template) {
	tm, d := Parse("sidecar", shipped(b, "injection-template"))
	if d != nil {
		b.Fatal(d)
	}
	data := testData(b, node(b, helloPod), tm.Needs())
	tm = of(tm)
	b.ReportAllocs()
	for b.Loop() {
		if _, d := tm.Render(data, testEnv, nil); d != nil {
			b.Fatal(d)
		}
	}
}

func BenchmarkSetPod(b *testing.B) {
	tm, d := Parse("sidecar", shipped(b, "injection-template"))
	if d != nil {
		b.Fatal(d)
	}
	pod := node(b, helloPod)
	b.ReportAllocs()
	for b.Loop() {
		var data Data
		if d := data.SetPod(pod, tm.Needs()); d != nil {
			b.Fatal(d)
		}
	}
}
