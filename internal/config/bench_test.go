package config

import (
	"testing"

	"github.com/ingraft/ingraft/internal/source"
)

func BenchmarkParse(b *testing.B) {
	file := func(name string) []byte { return readText(b, releases(b, "1.31.0-rc.0/"+name)[0]).Data }
	config, values, mesh := file("inject-config.yaml"), file("values.json"), file("mesh.yaml")
	b.Run("injection", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ParseInjection(source.NewText("", config))
		}
	})
	b.Run("values", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ParseValues(source.NewText("", values))
		}
	})
	b.Run("mesh", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ParseMesh(source.NewText("", mesh))
		}
	})
	m, _ := ParseMesh(source.NewText("", mesh))
	b.Run("proxyConfig", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m.WithProxyConfig(source.NewText("", []byte("concurrency: 2\nholdApplicationUntilProxyStarts: true\n")))
		}
	})
}
