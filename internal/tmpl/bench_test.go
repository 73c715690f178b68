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

// BenchmarkPlan is the overlay of a further pod of a known shape.
func BenchmarkPlan(b *testing.B) {
	tm, d := Parse("sidecar", shipped(b, "injection-template"))
	if d != nil {
		b.Fatal(d)
	}
	p := NewPlanner(tm, acceptable)
	pod := node(b, helloPod)
	in := &Input{Pod: pod, Data: testData(b, nil, Needs{}), Env: testEnv}
	p.Overlay(in)
	p.Overlay(in)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := p.Overlay(in); !ok {
			b.Fatal("not served")
		}
	}
}

// BenchmarkLearn is the making of a plan.
func BenchmarkLearn(b *testing.B) {
	tm, d := Parse("sidecar", shipped(b, "injection-template"))
	if d != nil {
		b.Fatal(d)
	}
	in := &Input{Pod: node(b, helloPod), Data: testData(b, nil, Needs{}), Env: testEnv}
	b.ReportAllocs()
	for b.Loop() {
		p := NewPlanner(tm, acceptable)
		p.Overlay(in)
		if _, ok := p.Overlay(in); !ok {
			b.Fatal("not served")
		}
	}
}
