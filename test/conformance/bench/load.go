package main

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/ingraft/ingraft/internal/certs"
	"github.com/ingraft/ingraft/test/conformance/bench/side"
)

// connections are how many requests are under way at a time.
const connections = 8

// loadRounds is how often each side is driven, in turns.
const loadRounds = 3

// driver is the built program drive, and what it is told about both sides.
type driver struct {
	program, ca string
	// duration is how long one turn takes.
	duration time.Duration
	asked    int
}

// pressure is what a driver saw of one side.
type pressure struct {
	took []time.Duration // sorted
	wall time.Duration
	// cpu is what the process that serves used meanwhile.
	cpu time.Duration
}

func (p *pressure) add(q *pressure) {
	p.took = append(p.took, q.took...)
	slices.Sort(p.took)
	p.wall += q.wall
	p.cpu += q.cpu
}

// each returns the CPU time that serving one request takes.
func (p *pressure) each() time.Duration { return p.cpu / time.Duration(len(p.took)) }

func (p *pressure) rate() float64 { return float64(len(p.took)) / p.wall.Seconds() }

// quantile returns the time that all but a part of the answers took at most.
func (p *pressure) quantile(q float64) time.Duration {
	return p.took[min(int(q*float64(len(p.took))), len(p.took)-1)]
}

// run asks a webhook for one turn, in a process of its own.
func (d *driver) run(url, reviews string) (*pressure, error) {
	cmd := exec.Command(d.program, "-url", url, "-ca", d.ca, "-reviews", reviews, "-first", strconv.Itoa(d.asked),
		"-connections", strconv.Itoa(connections), "-duration", d.duration.String())
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("driving a webhook: %w", err)
	}
	var r struct {
		Took []time.Duration
		Wall time.Duration
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("reading what the driver saw: %w", err)
	}
	d.asked += len(r.Took)
	slices.Sort(r.Took)
	return &pressure{took: r.Took, wall: r.Wall}, nil
}

// templates writes reviews in which the number of the request is to be filled
// in: of applications, each of which comes once, or of one's replicas.
func templates(folder string, replicas bool) (file string, err error) {
	var lines [][]byte
	for application := range 600 {
		text, err := review(application, 0)
		if err != nil {
			return "", err
		}
		fill := func(old, in string) { text = bytes.ReplaceAll(text, []byte(old), []byte(in)) }
		id := fmt.Sprintf("-%012x", application)
		fill("-11e8-0000"+id, "-11e8-0000-0000000@@@@@")
		fill(fmt.Sprintf("kube-api-access-%05x", application*131), "kube-api-access-@@@@@")
		if replicas {
			return save(folder, "replicas.json", text)
		}
		fill("-8000"+id, "-8000-0000000@@@@@") // of the owner
		fill(fmt.Sprintf("app-%05d", application), "app-@@@@@")
		lines = append(lines, text)
	}
	return save(folder, "distinct.json", bytes.Join(lines, []byte("\n")))
}

// writeLoad drives both sides in turns, and tells how they stood it.
func (s *suite) writeLoad(b *bytes.Buffer, folder string) error {
	state, err := certs.DefaultPolicy.Next(nil, []string{"127.0.0.1"}, time.Now())
	if err != nil {
		return fmt.Errorf("making a certificate: %w", err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(state.Serving().PrivateKey)
	if err != nil {
		return fmt.Errorf("writing a key: %w", err)
	}
	listen := side.Order{Chain: state.Serving().Certificate, Key: key}
	d := &driver{program: filepath.Join(folder, "drive"), duration: s.turn}
	if d.ca, err = save(folder, "ca.crt", state.Bundle()); err != nil {
		return err
	}
	fmt.Fprintf(b, `
## Under load

A second process asks the webhook over TLS on the loopback, with %d connections of HTTP/1.1 that are kept, each with the
next request as soon as it has the answer: so much as the machine can do. Both handlers are served by the same server, in
a process of each side's own, in turns, %d of %s each. Server and driver share the cores; CPU time is the server's alone,
with TLS and transport.

| pods | | upstream | ingraft | ratio |
| --- | --- | --- | --- | --- |
`, connections, loadRounds, s.turn)
	for _, kind := range []struct {
		name     string
		replicas bool
	}{{"distinct pods", false}, {"replicas of one application", true}} {
		fmt.Fprintln(os.Stderr, "driving", kind.name)
		reviews, err := templates(folder, kind.replicas)
		if err != nil {
			return err
		}
		our, their, err := d.compare(s.ours, s.peer, listen, reviews)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "| %s | requests/s | %.0f | %.0f | %s |\n", kind.name, their.rate(), our.rate(), factor(our.rate()/their.rate()))
		fmt.Fprintf(b, "| %s | CPU time a request | %s | %s | %s |\n", kind.name, duration(their.each()), duration(our.each()), factor(float64(their.each())/float64(our.each())))
		for _, q := range []struct {
			name string
			part float64
		}{{"p50", 0.5}, {"p99", 0.99}, {"p99.9", 0.999}} {
			t, o := their.quantile(q.part), our.quantile(q.part)
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", kind.name, q.name, duration(t), duration(o), factor(float64(t)/float64(o)))
		}
	}
	return nil
}

// compare drives both handlers in turns. The first turn of each only warms up.
func (d *driver) compare(ours, theirs *child, listen side.Order, reviews string) (our, their *pressure, err error) {
	our, their = &pressure{}, &pressure{}
	for i := range loadRounds + 1 {
		for _, turnOf := range []struct {
			child *child
			into  *pressure
		}{{ours, our}, {theirs, their}} {
			at, err := turnOf.child.do(listen)
			if err != nil {
				return nil, nil, err
			}
			turn := *d
			if i == 0 {
				turn.duration = d.duration / 5
			}
			p, err := turn.run(at.URL, reviews)
			d.asked = turn.asked
			stopped, e := turnOf.child.do(side.Order{Stop: true})
			if err == nil {
				err = e
			}
			if err != nil {
				return nil, nil, err
			}
			if i > 0 {
				p.cpu = time.Duration(stopped.CPU)
				turnOf.into.add(p)
			}
		}
	}
	return our, their, nil
}

// writeAdmission tells what test/e2e measured on a real API server, where that
// is given.
func (s *suite) writeAdmission(b *bytes.Buffer) error {
	if s.admission == "" {
		return nil
	}
	text, err := os.ReadFile(s.admission)
	if err != nil {
		return fmt.Errorf("reading what admission adds: %w", err)
	}
	b.WriteString("\n")
	b.Write(text)
	return nil
}
