package webhook

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/ingraft/ingraft/internal/metrics"
)

// Reloader gets new configurations and gives them to a Handler. One that is
// broken is refused, and the one before stays.
type Reloader struct {
	// Load gets a configuration, complete and compiled.
	Load    func(context.Context) (*Installation, error)
	Handler *Handler
	Log     *slog.Logger
	Now     func() time.Time

	generation, good atomic.Int64
	ok               atomic.Bool
	results          *metrics.Counters
}

// Register adds the numbers of the Reloader to a registry.
func (r *Reloader) Register(m *metrics.Registry) {
	r.results = m.Counters("ingraft_config_reloads_total", "Configurations that were loaded, by result (applied, refused).", "result")
	m.Gauge("ingraft_config_generation", "Number of configurations applied since the start.", func() (float64, bool) {
		return float64(r.generation.Load()), true
	})
	m.Gauge("ingraft_config_last_reload_success", "1 if the configuration that was loaded last is the one in use, 0 if it was refused.", func() (float64, bool) {
		if r.ok.Load() {
			return 1, true
		}
		return 0, true
	})
	m.Gauge("ingraft_config_last_success_timestamp_seconds", "When the configuration in use was applied, in seconds since 1970.", func() (float64, bool) {
		return float64(r.good.Load()), r.generation.Load() > 0
	})
}

// Reload loads the configuration and applies it. It is not called by two at a
// time.
func (r *Reloader) Reload(ctx context.Context) error {
	i, err := r.Load(ctx)
	r.ok.Store(err == nil)
	if err != nil {
		r.results.With("refused").Add(1)
		message := "the configuration is refused; the one before stays"
		if r.generation.Load() == 0 {
			message = "the configuration is refused, and there is none before it"
		}
		r.Log.Error(message, "error", err.Error(), "generation", r.generation.Load())
		return err
	}
	r.Handler.Install(i)
	r.good.Store(r.Now().Unix())
	n := r.generation.Add(1)
	r.results.With("applied").Add(1)
	r.Log.Info("configuration applied", "generation", n, "release", i.Engine.Release().String())
	return nil
}

// Files tells when what files hold may have changed. It asks, and does not
// wait to be told: that works for links which are swapped, as those of mounted
// ConfigMaps are, on every file system, and costs a few system calls.
type Files struct {
	paths []string
	last  []fs.FileInfo // nil for what is not there
}

// NewFiles returns Files that look after paths, as they are now. Empty paths
// are none.
func NewFiles(paths ...string) *Files {
	f := &Files{}
	for _, p := range paths {
		if p != "" {
			f.paths = append(f.paths, p)
		}
	}
	f.last = make([]fs.FileInfo, len(f.paths))
	f.Changed()
	return f
}

// Changed reports whether a file has become another one, or was written to,
// since it was asked last.
func (f *Files) Changed() bool {
	changed := false
	for i, path := range f.paths {
		now, err := os.Stat(path)
		if err != nil {
			now = nil
		}
		was := f.last[i]
		if (was == nil) != (now == nil) ||
			now != nil && (!os.SameFile(was, now) || was.Size() != now.Size() || !was.ModTime().Equal(now.ModTime())) {
			changed = true
		}
		f.last[i] = now
	}
	return changed
}
