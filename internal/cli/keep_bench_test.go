package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/ingraft/ingraft/internal/source"
)

// BenchmarkDocument is what becomes of one Deployment, read already, by the way
// it is written: anew, kept, or kept with a record; and taking that out again.
func BenchmarkDocument(b *testing.B) {
	data, err := os.ReadFile(filepath.Join("..", "..", "examples", "payments.yaml"))
	if err != nil {
		b.Fatal(err)
	}
	_, data, _ = bytes.Cut(data, []byte("\n---\n"))
	engine := engineOf(b, nil, nil, nil)
	doc, err := source.Parse(source.NewText("f", data))
	if err != nil {
		b.Fatal(err)
	}
	canonical, kept, recorded := injectorOf(engine, false), injectorOf(engine, false), injectorOf(engine, false)
	canonical.canonical, kept.noRecord = true, true
	injected, err := source.Parse(source.NewText("f", recorded.document(doc, nil).data))
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		doc  *source.Document
		work func(*source.Document, error) outcome
	}{
		{"canonical", doc, canonical.document},
		{"kept", doc, kept.document},
		{"recorded", doc, recorded.document},
		{"again", injected, recorded.document},
		{"uninject", injected, (&uninjector{}).document},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if o := c.work(c.doc, nil); o.data == nil {
					b.Fatal("nothing was injected")
				}
			}
		})
	}
}
