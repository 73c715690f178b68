package inject_test

import (
	"testing"

	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/testkit/portion"
)

// Whatever a pod looks like, advice about it neither panics nor points outside
// of the text, and Kubernetes' judge takes whatever the types allow.
func FuzzAdvice(f *testing.F) {
	e := defaultEngine(f, nil, nil, inject.Options{})
	for name, c := range loadCases(f) {
		if !portion.Takes(name, 6) {
			continue
		}
		f.Add(string(c.file("input.yaml")))
	}
	level, err := inject.ParsePodSecurity("restricted")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := source.Parse(source.NewText("f", []byte(text)))
		if err != nil || doc.Root == nil {
			return
		}
		for object := range kube.Objects(doc.Root) {
			inject.CheckObject(object.Ref, object.Node)
			w, ok := object.Workload(nil)
			if !ok || w.Template == nil {
				continue
			}
			list := inject.CheckWorkload(w)
			list = append(list, e.Run(&inject.Request{Pod: w.Template, Owner: w.Ref, PodSecurity: level}).Diagnostics...)
			for _, d := range list {
				if d.Message == "" {
					t.Errorf("%s without a message", d.Code)
				}
				if s := d.Span; s.Text != nil && (s.Start < 0 || s.End < s.Start || s.End > len(s.Text.Data)) {
					t.Errorf("%s: %d to %d of %d bytes", d.Code, s.Start, s.End, len(s.Text.Data))
				}
			}
		}
	})
}
