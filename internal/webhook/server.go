package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ingraft/ingraft/internal/metrics"
)

// Server serves a webhook over TLS and, without, its health and its numbers.
type Server struct {
	// Hook answers what comes to /inject and below.
	Hook http.Handler
	// Certificate returns the certificate to serve with now.
	Certificate func() (*tls.Certificate, error)
	// Webhook and Monitoring are listened on; Monitoring may be nil.
	Webhook, Monitoring net.Listener
	// Ready says what keeps the server from answering as it should, nil for
	// nothing. That its port takes connections is found out by the server.
	Ready   func() error
	Metrics *metrics.Registry
	// Pprof serves profiles beside the numbers.
	Pprof bool
	// Drain is how long to go on serving once the server is told to end, while
	// it says that it is not ready, so that nobody is sent to it any more;
	// Grace how long to wait for requests under way after that.
	Drain, Grace time.Duration
	Log          *slog.Logger

	ending atomic.Bool
}

// The bounds on what a client may take of a connection's time. An API server
// waits 30 seconds for an answer at most.
const (
	headerTimeout = 10 * time.Second
	bodyTimeout   = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	probeTimeout  = time.Second
)

// Run serves until the context ends, then drains. The error tells why it had to
// stop before.
func (s *Server) Run(ctx context.Context) error {
	logger := log.New(noise{s.Log}, "", 0)
	hook := &http.Server{
		Handler: http.HandlerFunc(s.serveWebhook), ErrorLog: logger,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout, WriteTimeout: bodyTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: 64 << 10,
		TLSConfig: &tls.Config{
			MinVersion:     tls.VersionTLS12,
			NextProtos:     []string{"h2", "http/1.1"},
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.Certificate() },
		},
	}
	monitoring := &http.Server{
		Handler: s.monitoring(), ErrorLog: logger,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout, IdleTimeout: idleTimeout,
	}
	failed := make(chan error, 2)
	var wait sync.WaitGroup
	serve := func(what string, serve func() error) {
		wait.Go(func() {
			if err := serve(); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serving %s: %w", what, err)
			}
		})
	}
	serve("the webhook", func() error { return hook.ServeTLS(s.Webhook, "", "") })
	if s.Monitoring != nil {
		serve("health and metrics", func() error { return monitoring.Serve(s.Monitoring) })
	}
	var err error
	select {
	case <-ctx.Done():
		s.Log.Info("ending: not ready any more", "drain", s.Drain.String())
		s.ending.Store(true)
		pause := time.NewTimer(s.Drain)
		defer pause.Stop()
		select {
		case <-pause.C:
		case err = <-failed:
		}
	case err = <-failed:
		s.ending.Store(true)
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Grace)
	defer cancel()
	if e := hook.Shutdown(grace); e != nil {
		err = errors.Join(err, fmt.Errorf("waiting for requests under way: %w", e))
		hook.Close()
	}
	_ = monitoring.Close()
	wait.Wait()
	return err
}

// noise takes what net/http logs about connections: port scans and probes that
// do not shake hands, mostly.
type noise struct{ log *slog.Logger }

func (n noise) Write(p []byte) (int, error) {
	n.log.Debug("connection", "message", strings.TrimSpace(string(p)))
	return len(p), nil
}

// serveWebhook is what the API server talks to. Paths are taken as they are: a
// ServeMux would redirect some that set variables.
func (s *Server) serveWebhook(w http.ResponseWriter, r *http.Request) {
	if s.ending.Load() {
		// API servers keep connections, and ask for endpoints when they make one:
		// who still has one here is to get another, while that can be in peace.
		w.Header().Set("Connection", "close")
	}
	switch path := r.URL.Path; {
	case path == "/inject" || strings.HasPrefix(path, "/inject/"):
		s.Hook.ServeHTTP(w, r)
	case path == "/healthz":
		s.healthz(w, r)
	case path == "/readyz":
		s.readyz(w, r)
	default:
		http.Error(w, "there is nothing here; reviews go to /inject", http.StatusNotFound)
	}
}

func (s *Server) monitoring() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", s.healthz)
	mux.HandleFunc("/readyz", s.readyz)
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", metrics.ContentType)
		_ = s.Metrics.Write(w) // the client has gone
	})
	if s.Pprof {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// healthz tells that the process answers at all.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") }

// readyz tells whether reviews would be answered.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if err := s.unready(r.Context()); err != nil {
		http.Error(w, "not ready: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}

func (s *Server) unready(ctx context.Context) error {
	if s.ending.Load() {
		return errors.New("it is ending")
	}
	if err := s.Ready(); err != nil {
		return err
	}
	// Whoever is told that it is ready has to get through: the port is asked as
	// a client asks (I-66).
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // it asks itself whether it answers
	conn, err := d.DialContext(ctx, "tcp", s.Webhook.Addr().String())
	if err != nil {
		return fmt.Errorf("its port does not take connections: %w", err)
	}
	conn.Close()
	return nil
}
