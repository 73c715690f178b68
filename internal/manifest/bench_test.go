package manifest_test

import (
	"testing"

	"github.com/ingraft/ingraft/internal/manifest"
)

func BenchmarkGenerate(b *testing.B) {
	for b.Loop() {
		res, _ := generate(b, nil)
		if len(manifest.Append(nil, res.Objects)) < 1e6 {
			b.Fatal("objects are missing")
		}
	}
}
