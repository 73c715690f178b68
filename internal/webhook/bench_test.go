package webhook_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ingraft/ingraft/internal/webhook"
)

// null takes an answer and forgets it.
type null struct{ header http.Header }

func (n *null) Header() http.Header         { return n.header }
func (n *null) Write(p []byte) (int, error) { return len(p), nil }
func (n *null) WriteHeader(int)             {}

// BenchmarkHandler measures an admission at the handler, with its line of log.
func BenchmarkHandler(b *testing.B) {
	const count = 1000
	for _, bc := range []struct {
		name  string
		cache int
		pod   func(i int) string
	}{
		{"replicas", 32 << 20, replica},
		{"replicas, no cache", 0, replica},
		{"distinct", 32 << 20, func(i int) string {
			return strings.NewReplacer("5d78c9869d", fmt.Sprintf("%010d", i), `"app":"web"`, fmt.Sprintf(`"app":"web%d"`, i),
				"registry.example.com/web:1", fmt.Sprintf("registry.example.com/web:%d", i)).Replace(replica(i))
		}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			h := newHook(b, defaultEngine(b), cached(bc.cache), func(o *webhook.Options, _ *webhook.Installation) {
				o.Log, o.Now = slog.New(slog.NewJSONHandler(io.Discard, nil)), time.Now
			})
			bodies := make([]string, count)
			for i := range bodies {
				bodies[i] = reviewOf("v1", fmt.Sprint("u", i), "shop", bc.pod(i))
			}
			w := &null{http.Header{}}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if bc.name == "distinct" && i%count == 0 {
					b.StopTimer()
					h.Install(&webhook.Installation{Engine: defaultEngine(b)})
					b.StartTimer()
				}
				r := httptest.NewRequest(http.MethodPost, "/inject", strings.NewReader(bodies[i%count]))
				r.Header.Set("Content-Type", "application/json")
				h.ServeHTTP(w, r)
			}
		})
	}
}
