// Package side lets the benchmark measure each engine in a process of its own,
// so that neither pays for the heap, the collector or the initialization of the
// other. Such a process reads orders from its standard input and answers each
// one on its standard output, both as JSON.
package side

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/ingraft/ingraft/internal/metrics"
	"github.com/ingraft/ingraft/internal/webhook"
)

// Revision is the control plane's, which istioctl wants to be told.
const Revision = "default"

// Order asks for one of what a process can do: the first field that is set.
type Order struct {
	// Command is the file that kube-inject is to inject, Times over.
	Command string
	Times   int64
	// Reviews are to be answered by the webhook of Release, "" for the built-in
	// configuration.
	Reviews [][]byte
	Release string
	// Chain and Key (PKCS #8) are a certificate, with which the webhook is to be
	// served on the loopback, over TLS.
	Chain [][]byte
	Key   []byte
	// Stop ends that again, and asks for the CPU time of the process meanwhile.
	Stop bool
}

// Answer is what an order took, for one of its runs or reviews.
type Answer struct {
	// Wall is in nanoseconds, Out and Allocated in bytes.
	Wall, Out, Allocs, Allocated int64
	// CPU is in nanoseconds.
	CPU int64
	// URL is where the webhook is served.
	URL   string
	Error string
}

// Engine is what a process measures.
type Engine struct {
	// Command runs kube-inject without the process around it, and returns the
	// size of its output.
	Command func(s Settings, input string) (int64, error)
	// Handler returns the webhook of a release, "" for the built-in
	// configuration.
	Handler func(s Settings, release string) (http.Handler, error)
}

// Main is the main function of such a process. Its argument is the folder of
// the settings.
func (e Engine) Main() {
	err := errors.New("usage: program FOLDER")
	if len(os.Args) == 2 {
		err = e.serve(Settings{os.Args[1]}, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// serve answers orders until there are no more.
func (e Engine) serve(s Settings, from io.Reader, to io.Writer) error {
	orders, answers := json.NewDecoder(from), json.NewEncoder(to)
	w := worker{engine: e, settings: s, handlers: map[string]http.Handler{}}
	for {
		var o Order
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading an order: %w", err)
		}
		a, err := w.do(&o)
		if err != nil {
			a.Error = err.Error()
		}
		if err := answers.Encode(a); err != nil {
			return fmt.Errorf("answering an order: %w", err)
		}
	}
}

type worker struct {
	engine   Engine
	settings Settings
	handlers map[string]http.Handler // by release
	served   *endpoint
}

func (w *worker) handler(release string) (http.Handler, error) {
	if h := w.handlers[release]; h != nil {
		return h, nil
	}
	h, err := w.engine.Handler(w.settings, release)
	if err == nil {
		w.handlers[release] = h
	}
	return h, err
}

func (w *worker) do(o *Order) (Answer, error) {
	switch {
	case o.Command != "":
		return measure(o.Times, func(int64) (int64, error) { return w.engine.Command(w.settings, o.Command) })
	case o.Stop:
		used, err := w.served.stop()
		w.served = nil
		return Answer{CPU: int64(used)}, err
	}
	h, err := w.handler(o.Release)
	if err != nil {
		return Answer{}, err
	}
	if o.Chain != nil {
		key, err := x509.ParsePKCS8PrivateKey(o.Key)
		if err != nil {
			return Answer{}, fmt.Errorf("reading a key: %w", err)
		}
		if w.served, err = serveTLS(h, &tls.Certificate{Certificate: o.Chain, PrivateKey: key}); err != nil {
			return Answer{}, err
		}
		return Answer{URL: w.served.url}, nil
	}
	return measure(int64(len(o.Reviews)), func(i int64) (int64, error) { return admit(h, o.Reviews[i]) })
}

// measure measures several calls of a function that returns the size of its
// output.
func measure(times int64, f func(i int64) (int64, error)) (Answer, error) {
	var before, after runtime.MemStats
	var a Answer
	runtime.GC() // of what the order was read from
	runtime.ReadMemStats(&before)
	begin := time.Now()
	for i := range times {
		n, err := f(i)
		if err != nil {
			return a, err
		}
		a.Out += n / times
	}
	a.Wall = int64(time.Since(begin)) / times
	runtime.ReadMemStats(&after)
	a.Allocs, a.Allocated = int64(after.Mallocs-before.Mallocs)/times, int64(after.TotalAlloc-before.TotalAlloc)/times
	return a, nil
}

// admit asks a webhook about a review, and returns the size of its answer.
func admit(handler http.Handler, review []byte) (int64, error) {
	req := httptest.NewRequest(http.MethodPost, "/inject", bytes.NewReader(review))
	req.Header.Set("Content-Type", "application/json")
	rec := httptest.NewRecorder()
	handler.ServeHTTP(rec, req)
	answer := rec.Body.Bytes()
	if rec.Code != http.StatusOK || !bytes.Contains(answer, []byte(`"patch":`)) {
		return 0, errors.New("a pod was not injected: " + rec.Body.String())
	}
	return int64(len(answer)), nil
}

// endpoint is a webhook that is served on the loopback, over TLS.
type endpoint struct {
	url   string
	begun time.Duration // CPU time of the process until then
	end   context.CancelFunc
	ended chan error
}

// serveTLS serves a handler as `ingraft injector serve` serves its own.
func serveTLS(handler http.Handler, certificate *tls.Certificate) (*endpoint, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	server := &webhook.Server{
		Hook: handler, Webhook: l, Certificate: func() (*tls.Certificate, error) { return certificate, nil },
		Ready: func() error { return nil }, Metrics: &metrics.Registry{}, Grace: time.Second,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &endpoint{url: "https://" + l.Addr().String() + "/inject", begun: cpuUsed(), end: cancel, ended: make(chan error, 1)}
	go func() { e.ended <- server.Run(ctx) }()
	return e, nil
}

// stop ends it, and returns the CPU time that the process used since it was
// served.
func (e *endpoint) stop() (used time.Duration, err error) {
	if e == nil {
		return 0, errors.New("nothing is served")
	}
	used = cpuUsed() - e.begun
	e.end()
	return used, <-e.ended
}

// cpuUsed returns the CPU time of this process until now; 0 where the system
// does not tell.
func cpuUsed() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
