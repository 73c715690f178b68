package webhook_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ingraft/ingraft/internal/certs"
	"github.com/ingraft/ingraft/internal/metrics"
	"github.com/ingraft/ingraft/internal/webhook"
)

// started is a server on free ports of the loopback.
type started struct {
	*webhook.Server
	client *http.Client
	end    context.CancelFunc
	ended  chan error
}

func start(t *testing.T, change func(*webhook.Server)) *started {
	t.Helper()
	state, err := certs.DefaultPolicy.Next(nil, []string{"127.0.0.1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l
	}
	s := &started{ended: make(chan error, 1), Server: &webhook.Server{
		Hook:        http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) }),
		Certificate: func() (*tls.Certificate, error) { return state.Serving(), nil },
		Webhook:     listen(), Monitoring: listen(), Ready: func() error { return nil },
		Metrics: &metrics.Registry{}, Grace: 10 * time.Second, Log: quiet,
	}}
	if change != nil {
		change(s.Server)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(state.Bundle())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	s.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	ctx, cancel := context.WithCancel(context.Background())
	s.end = cancel
	go func() { s.ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		cancel()
	})
	return s
}

func (s *started) get(t *testing.T, address, path string) (status int, body string) {
	t.Helper()
	resp, err := s.client.Get(address + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

func (s *started) hook() string   { return "https://" + s.Webhook.Addr().String() }
func (s *started) health() string { return "http://" + s.Monitoring.Addr().String() }

func TestServerPaths(t *testing.T) {
	s := start(t, nil)
	for path, want := range map[string]string{
		"/inject":                  "200 /inject",
		"/inject/net/n1":           "200 /inject/net/n1",
		"/inject//x/../y":          "200 /inject//x/../y", // not cleaned, not redirected
		"/inject/:ENV:a=b:ENV:c=d": "200 /inject/:ENV:a=b:ENV:c=d",
		"/injection":               "404 there is nothing here; reviews go to /inject",
		"/":                        "404 there is nothing here; reviews go to /inject",
		"/healthz":                 "200 ok",
		"/readyz":                  "200 ok",
		"/metrics":                 "404 there is nothing here; reviews go to /inject",
	} {
		status, body := s.get(t, s.hook(), path)
		if got := http.StatusText(status) + " " + strings.TrimSpace(body); got != strings.Replace(strings.Replace(want, "200", "OK", 1), "404", "Not Found", 1) {
			t.Errorf("%s: %s", path, got)
		}
	}
	if status, body := s.get(t, s.health(), "/debug/pprof/"); status != 404 {
		t.Errorf("profiles are served: %d %s", status, body)
	}
	if status, _ := s.get(t, s.health(), "/metrics"); status != 200 {
		t.Errorf("metrics: %d", status)
	}
	if resp, err := s.client.Get("https://" + s.Webhook.Addr().String() + "/healthz"); err != nil || resp.ProtoMajor != 2 {
		t.Errorf("not HTTP/2: %v", err)
	}
}

// I-66: it is not ready before its port takes connections, nor without a
// configuration.
func TestI66ReadyMeansReachable(t *testing.T) {
	var mine error = errors.New("there is no configuration yet")
	s := start(t, func(s *webhook.Server) { s.Ready = func() error { return mine } })
	if status, body := s.get(t, s.health(), "/readyz"); status != 503 || !strings.Contains(body, "there is no configuration yet") {
		t.Errorf("%d %s", status, body)
	}
	mine = nil
	if status, body := s.get(t, s.health(), "/readyz"); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	if status, body := s.get(t, s.hook(), "/inject"); status != 200 { // at the first success
		t.Errorf("%d %s", status, body)
	}
	s.Webhook.Close()
	if err := <-s.ended; err == nil || !strings.Contains(err.Error(), "serving the webhook") {
		t.Errorf("the port is gone, and it ended with %v", err)
	}
}

// Once told to end it is not ready, still answers, and then waits for answers
// under way.
func TestDrain(t *testing.T) {
	arrived, answer := make(chan bool), make(chan bool)
	s := start(t, func(s *webhook.Server) {
		s.Drain = 300 * time.Millisecond
		s.Hook = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/inject/slow" {
				arrived <- true
				<-answer
			}
			_, _ = io.WriteString(w, "answered")
		})
	})
	slow := make(chan string, 1)
	go func() {
		resp, err := s.client.Get(s.hook() + "/inject/slow")
		if err != nil {
			slow <- err.Error()
			return
		}
		defer resp.Body.Close()
		data, _ := io.ReadAll(resp.Body)
		slow <- string(data)
	}()
	<-arrived
	s.end()
	for status := 200; status == 200; {
		status, _ = s.get(t, s.hook(), "/readyz")
	}
	if status, body := s.get(t, s.hook(), "/inject"); status != 200 || body != "answered" {
		t.Errorf("while it drains: %d %s", status, body)
	}
	// API servers speak HTTP/1.1, and are told to connect anew.
	config := s.client.Transport.(*http.Transport).TLSClientConfig.Clone()
	config.NextProtos = nil
	http1 := &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
	if resp, err := http1.Get(s.hook() + "/inject"); err != nil || resp.ProtoMajor != 1 || !resp.Close {
		t.Errorf("while it drains, the connection is kept: %v, error %v", resp, err)
	} else {
		resp.Body.Close()
	}
	select {
	case err := <-s.ended:
		t.Fatalf("it ended with an answer under way: %v", err)
	case <-time.After(400 * time.Millisecond): // longer than it drains
	}
	close(answer)
	if got := <-slow; got != "answered" {
		t.Errorf("the answer under way: %s", got)
	}
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
}

// Who does not answer in time is not waited for.
func TestGrace(t *testing.T) {
	arrived, never := make(chan bool), make(chan bool)
	s := start(t, func(s *webhook.Server) {
		s.Grace = time.Millisecond
		s.Hook = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived <- true; <-never })
	})
	defer close(never)
	go func() {
		if resp, err := s.client.Get(s.hook() + "/inject"); err == nil {
			resp.Body.Close()
		}
	}()
	<-arrived
	s.end()
	if err := <-s.ended; err == nil || !strings.Contains(err.Error(), "waiting for requests under way") {
		t.Errorf("ended with %v", err)
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string) { must(os.WriteFile(path(name), []byte(text), 0o666)) }
	write("a", "1")
	write("b", "1")
	must(os.Symlink("a", path("link")))
	f := webhook.NewFiles(path("link"), "", path("none"))
	changed := func(what string, want bool) {
		t.Helper()
		if got := f.Changed(); got != want {
			t.Errorf("%s: %v", what, got)
		}
	}
	changed("nothing", false)
	write("a", "12")
	changed("written to", true)
	changed("nothing", false)
	must(os.Symlink("b", path("next")))
	must(os.Rename(path("next"), path("link")))
	changed("link swapped", true)
	write("none", "")
	changed("made", true)
	must(os.Remove(path("b")))
	changed("gone", true)
	changed("still gone", false)
}
