package cluster

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ingraft/ingraft/internal/metrics"
	"github.com/ingraft/ingraft/internal/source"
)

// Event is something to tell about an object: kubectl describe shows it there.
type Event struct {
	// Namespace is where it happened.
	Namespace string
	// APIVersion, Kind, Name and UID say which object it is about.
	APIVersion, Kind, Name, UID string
	// Reason is one word for programs: InjectionDenied. Message is for people.
	Reason, Message string
}

// Events writes Events (core/v1) of type Warning. It is for what may happen a
// thousand times a second: what is the same is counted in one Event, a bucket of
// tokens bounds the requests, and what does not fit into it is dropped and counted.
// (client-go's recorder does that, too, but with the typed clients.)
type Events struct {
	Client *Client
	// Component is what writes them, Instance which replica of it.
	Component, Instance string
	Now                 func() time.Time
	Log                 *slog.Logger

	mu      sync.Mutex
	entries map[Event]*eventEntry
	queue   []Event // of entries to be written
	wake    chan struct{}
	results *metrics.Counters
	tokens  float64
	filled  time.Time // when tokens was right
}

// eventEntry is what is known of an Event that is told again and again.
type eventEntry struct {
	name          string // of the object; "" until it is made
	count         int
	first, last   time.Time
	written       time.Time
	queued, dirty bool
}

// The bounds on Events.
const (
	// eventBurst Events are written at once, then one each eventEvery.
	eventBurst, eventEvery = 20, time.Second
	// eventAgain is how long an Event that was written is left alone, however often
	// it is told.
	eventAgain = 5 * time.Second
	// maxEvents bounds the memory, by Events that are known.
	maxEvents = 500
	// eventLife is how long an Event counts as the same one: as long as API servers
	// keep it, at least.
	eventLife = 30 * time.Minute
	// maxEventMessage is what the API server takes of a message, in bytes.
	maxEventMessage = 1024
)

var eventResource = schema.GroupVersionResource{Version: "v1", Resource: "events"}

// NewEvents returns Events that write once Run runs.
func NewEvents(c *Client, component, instance string, now func() time.Time, log *slog.Logger, r *metrics.Registry) *Events {
	return &Events{
		Client: c, Component: component, Instance: instance, Now: now, Log: log,
		entries: map[Event]*eventEntry{}, wake: make(chan struct{}, 1), tokens: eventBurst, filled: now(),
		results: r.Counters("ingraft_events_total", "Events for denied pods and warnings, by result (written, failed, or dropped where there are too many).", "result"),
	}
}

// Tell writes an Event, or counts it with one that is the same. It does not wait.
func (e *Events) Tell(event Event) {
	if len(event.Message) > maxEventMessage {
		event.Message = strings.ToValidUTF8(event.Message[:maxEventMessage-3], "") + "..."
	}
	now := e.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	entry := e.entries[event]
	if entry == nil {
		if len(e.entries) >= maxEvents {
			e.forget(now)
		}
		if len(e.entries) >= maxEvents {
			e.results.With("dropped").Add(1)
			return
		}
		// What it is made of may be part of a large review.
		event = Event{
			strings.Clone(event.Namespace), strings.Clone(event.APIVersion), strings.Clone(event.Kind), strings.Clone(event.Name),
			strings.Clone(event.UID), strings.Clone(event.Reason), strings.Clone(event.Message),
		}
		entry = &eventEntry{first: now}
		e.entries[event] = entry
	}
	entry.count++
	entry.last, entry.dirty = now, true
	if !entry.queued && now.Sub(entry.written) >= eventAgain {
		e.enqueue(event, entry)
	}
}

// enqueue has an entry written next; e is locked.
func (e *Events) enqueue(event Event, entry *eventEntry) {
	entry.queued = true
	e.queue = append(e.queue, event)
	select {
	case e.wake <- struct{}{}:
	default: // it is awake
	}
}

// forget drops entries that have not been told for long, and else those that were
// written and have nothing new; e is locked.
func (e *Events) forget(now time.Time) {
	for event, entry := range e.entries {
		if !entry.queued && !entry.dirty && now.Sub(entry.last) >= eventAgain {
			delete(e.entries, event)
		}
	}
}

// Run writes Events until the context ends.
func (e *Events) Run(ctx context.Context) {
	tick := time.NewTicker(eventEvery)
	defer tick.Stop()
	for {
		for ctx.Err() == nil && e.step(ctx) { //nolint:revive // it does all the work
		}
		select {
		case <-ctx.Done():
			return
		case <-e.wake:
		case <-tick.C:
			e.again()
		}
	}
}

// again enqueues what was told once more since it was written, and forgets what is
// old.
func (e *Events) again() {
	now := e.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	for event, entry := range e.entries {
		switch {
		case entry.queued:
		case entry.dirty && now.Sub(entry.written) >= eventAgain:
			e.enqueue(event, entry)
		case now.Sub(entry.last) >= eventLife:
			delete(e.entries, event)
		}
	}
}

// step writes one Event; false where there is none, or there have been enough.
func (e *Events) step(ctx context.Context) bool {
	now := e.Now()
	e.mu.Lock()
	e.tokens = min(eventBurst, e.tokens+float64(now.Sub(e.filled))/float64(eventEvery))
	e.filled = now
	if len(e.queue) == 0 || e.tokens < 1 {
		e.mu.Unlock()
		return false
	}
	e.tokens--
	event := e.queue[0]
	e.queue = e.queue[1:]
	entry := e.entries[event]
	entry.queued, entry.dirty, entry.written = false, false, now
	copied := *entry
	e.mu.Unlock()

	name, err := e.write(ctx, &event, &copied)
	if err != nil {
		if ctx.Err() == nil {
			e.results.With("failed").Add(1)
			e.Log.Warn("writing an Event", "error", err.Error())
		}
		return true
	}
	e.results.With("written").Add(1)
	e.mu.Lock()
	entry.name = name
	e.mu.Unlock()
	return true
}

// write makes an Event, or counts it up where it was made before.
func (e *Events) write(ctx context.Context, event *Event, entry *eventEntry) (name string, err error) {
	s := source.NewString
	stamp := func(t time.Time) *source.Node { return s(t.UTC().Format(time.RFC3339)) }
	if entry.name != "" {
		patch := `[{"op":"replace","path":"/count","value":` + strconv.Itoa(entry.count) + `},{"op":"replace","path":"/lastTimestamp","value":"` + entry.last.UTC().Format(time.RFC3339) + `"}]`
		_, err := e.Client.Patch(ctx, eventResource, event.Namespace, entry.name, []byte(patch))
		if !IsKind(err, NotFound) { // else its time was over
			return entry.name, err
		}
	}
	involved := source.NewMap(
		source.F("apiVersion", s(event.APIVersion)), source.F("kind", s(event.Kind)),
		source.F("namespace", s(event.Namespace)), source.F("name", s(event.Name)))
	if event.UID != "" {
		involved = involved.With("uid", s(event.UID))
	}
	name = "ingraft-" + strings.ToLower(rand.Text()[:16])
	_, err = e.Client.Create(ctx, eventResource, event.Namespace, source.NewMap(
		source.F("apiVersion", s("v1")), source.F("kind", s("Event")),
		source.F("metadata", source.NewMap(source.F("name", s(name)), source.F("namespace", s(event.Namespace)))),
		source.F("involvedObject", involved),
		source.F("type", s("Warning")), source.F("reason", s(event.Reason)), source.F("message", s(event.Message)),
		source.F("count", source.NewInt(int64(entry.count))),
		source.F("firstTimestamp", stamp(entry.first)), source.F("lastTimestamp", stamp(entry.last)),
		source.F("source", source.NewMap(source.F("component", s(e.Component)), source.F("host", s(e.Instance)))),
		source.F("reportingComponent", s(e.Component)), source.F("reportingInstance", s(e.Instance))))
	return name, err
}
