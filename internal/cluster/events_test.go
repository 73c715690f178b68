package cluster_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ingraft/ingraft/internal/cluster"
	"github.com/ingraft/ingraft/internal/metrics"
	"github.com/ingraft/ingraft/internal/testkit"
)

// clock is a time that a test sets.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// writing counts the requests that write Events, and lets a test wait for some.
type writing struct {
	mu       sync.Mutex
	made     []testkit.Object
	patched  int
	finished chan struct{}
}

func (w *writing) answer(r *http.Request, body testkit.Object) (testkit.Object, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch r.Method {
	case http.MethodPost:
		w.made = append(w.made, body)
	case http.MethodPatch:
		w.patched++
	}
	w.finished <- struct{}{}
	return nil, 0
}

func (w *writing) await(t *testing.T, n int) {
	t.Helper()
	for range n {
		select {
		case <-w.finished:
		case <-time.After(time.Minute):
			t.Fatal("no request came")
		}
	}
}

func startEvents(t *testing.T, api *testkit.API, c *clock) (*cluster.Events, *metrics.Registry) {
	t.Helper()
	r := &metrics.Registry{}
	e := cluster.NewEvents(connectTo(t, api), "ingraft-injector", "pod-1", c.read, slog.New(slog.NewTextHandler(io.Discard, nil)), r)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.Run(ctx)
	}()
	t.Cleanup(func() { stop(); <-ended })
	return e, r
}

func denied(name string) cluster.Event {
	return cluster.Event{Namespace: "shop", APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name, UID: "u-" + name, Reason: "InjectionDenied", Message: "no such port"}
}

// An Event is about its object, and counted up where it is told again, but not at
// once.
func TestEventsAreCounted(t *testing.T) {
	api, w := testkit.NewAPI(t), &writing{finished: make(chan struct{}, 1000)}
	api.Answer(w.answer)
	c := &clock{now: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)}
	e, _ := startEvents(t, api, c)
	long := denied("web")
	long.Message = strings.Repeat("ä", 2000)
	e.Tell(denied("web"))
	w.await(t, 1)
	event := w.made[0]
	involved := event["involvedObject"].(testkit.Object)
	if involved["kind"] != "ReplicaSet" || involved["name"] != "web" || involved["uid"] != "u-web" || event["type"] != "Warning" || event["reason"] != "InjectionDenied" ||
		event["message"] != "no such port" || event["count"] != 1.0 || event["lastTimestamp"] != "2026-12-01T12:00:00Z" ||
		event["source"].(testkit.Object)["component"] != "ingraft-injector" {
		t.Errorf("%v", event)
	}
	e.Tell(long)
	w.await(t, 1)
	if m, _ := w.made[1]["message"].(string); len(m) > 1024 || !strings.HasSuffix(m, "ä...") {
		t.Errorf("message %q", m)
	}
	for range 100 {
		e.Tell(denied("web"))
	}
	c.add(11 * time.Second)
	e.Tell(denied("web"))
	w.await(t, 1)
	path := "/api/v1/namespaces/shop/events/" + event["metadata"].(testkit.Object)["name"].(string)
	eventually(t, func() bool { o := api.Get(path); return o != nil && o["count"] == 102.0 })
	if w.patched != 1 || api.Get(path)["lastTimestamp"] != "2026-12-01T12:00:11Z" {
		t.Errorf("%d patches: %v", w.patched, api.Get(path))
	}
	// One that the API server has forgotten is made anew.
	api.Delete(path)
	c.add(11 * time.Second)
	e.Tell(denied("web"))
	w.await(t, 2) // the patch that finds none, and the new one
	if len(w.made) != 3 || w.made[2]["count"] != 103.0 {
		t.Errorf("%v", w.made)
	}
}

func eventually(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come about")
		}
	}
}

// A flood of denials costs the API server a few requests, and the injector little
// memory; what is left out is counted.
func TestAFloodOfEventsIsBounded(t *testing.T) {
	api, w := testkit.NewAPI(t), &writing{finished: make(chan struct{}, 10000)}
	api.Answer(w.answer)
	c := &clock{now: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)}
	e, r := startEvents(t, api, c)
	for i := range 20_000 {
		e.Tell(denied(fmt.Sprint("web-", i%5000)))
	}
	w.await(t, 20)
	for second := 1; second <= 5; second++ {
		c.add(time.Second)
		for i := range 1000 {
			e.Tell(denied(fmt.Sprint("web-", i)))
		}
		w.await(t, 1)
	}
	select {
	case <-w.finished:
		t.Error("there are more requests than one a second")
	case <-time.After(1500 * time.Millisecond): // a tick of the writer, in which it must not write
	}
	if len(w.made) != 25 {
		t.Errorf("%d Events were made", len(w.made))
	}
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `ingraft_events_total{result="written"} 25`) || !strings.Contains(b.String(), `ingraft_events_total{result="dropped"} `) {
		t.Error(b.String())
	}
}

// Without the right nothing is written, and that is counted.
func TestEventsWithoutTheRight(t *testing.T) {
	api := testkit.NewAPI(t)
	api.Deny(func(_, path string) bool { return strings.Contains(path, "/events") })
	c := &clock{now: time.Now()}
	e, r := startEvents(t, api, c)
	e.Tell(denied("web"))
	eventually(t, func() bool {
		var b strings.Builder
		return r.Write(&b) == nil && strings.Contains(b.String(), `ingraft_events_total{result="failed"} 1`)
	})
}
