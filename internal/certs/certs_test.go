package certs_test

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"testing"
	"time"

	"github.com/ingraft/ingraft/internal/certs"
)

var (
	start = time.Date(2026, 8, 27, 12, 0, 0, 0, time.UTC)
	names = []string{"injector.mesh.svc", "127.0.0.1"}
)

func pool(t *testing.T, bundle []byte) *x509.CertPool {
	t.Helper()
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM(bundle) {
		t.Fatalf("no bundle: %s", bundle)
	}
	return p
}

func count(bundle []byte) int {
	n := 0
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		n++
	}
	return n
}

func next(t *testing.T, p certs.Policy, s *certs.State, now time.Time) *certs.State {
	t.Helper()
	s, err := p.Next(s, names, now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Five years pass, a step every eleven hours. Whoever trusts a bundle that is up to
// a day old can always verify what is served, and whoever has the newest bundle
// what a replica serves that is a day behind.
func TestYearsWithoutAGap(t *testing.T) {
	p := certs.DefaultPolicy
	type moment struct {
		at time.Time
		s  *certs.State
	}
	var day []moment // what was within the last 23 hours
	authorities, servings := map[string]bool{}, map[string]bool{}
	var s *certs.State
	for now := start; now.Before(start.AddDate(5, 0, 0)); now = now.Add(11 * time.Hour) {
		s = next(t, p, s, now)
		if again := next(t, p, s, now); again != s {
			t.Fatalf("%s: the next of the next is another", now)
		}
		day = append(day, moment{now, s})
		for now.Sub(day[0].at) > 23*time.Hour {
			day = day[1:]
		}
		for _, pair := range [][2]*certs.State{{s, day[0].s}, {day[0].s, s}, {s, s}} {
			served, trusted := pair[0], pair[1]
			_, err := served.Serving().Leaf.Verify(x509.VerifyOptions{Roots: pool(t, trusted.Bundle()), DNSName: "127.0.0.1", CurrentTime: now})
			if err != nil {
				t.Fatalf("%s: %v", now, err)
			}
		}
		if n := count(s.Bundle()); n > 2 {
			t.Fatalf("%s: %d authorities", now, n)
		}
		authorities[string(s.Bundle())] = true
		servings[s.Serving().Leaf.SerialNumber.String()] = true
		if left := s.Expires().Sub(now); left < p.Serving/4 {
			t.Fatalf("%s: %s are left", now, left)
		}
	}
	// A bundle has one authority, then two, then one.
	if len(authorities) < 10 || len(authorities) > 20 || len(servings) < 80 || len(servings) > 110 {
		t.Errorf("%d bundles, %d serving certificates", len(authorities), len(servings))
	}
}

// After a long sleep nothing that there was is of use.
func TestAfterLongSleep(t *testing.T) {
	old := next(t, certs.DefaultPolicy, nil, start)
	now := start.AddDate(3, 0, 0)
	s := next(t, certs.DefaultPolicy, old, now)
	if _, err := s.Serving().Leaf.Verify(x509.VerifyOptions{Roots: pool(t, s.Bundle()), DNSName: names[0], CurrentTime: now}); err != nil {
		t.Error(err)
	}
	if count(s.Bundle()) != 1 || bytes.Equal(s.Bundle(), old.Bundle()) {
		t.Error("the old authority is still trusted")
	}
}

func TestOtherNames(t *testing.T) {
	s := next(t, certs.DefaultPolicy, nil, start)
	other, err := certs.DefaultPolicy.Next(s, []string{"other.mesh.svc"}, start)
	if err != nil || other == s || !bytes.Equal(other.Bundle(), s.Bundle()) {
		t.Fatalf("%v", err)
	}
	if err := other.Serving().Leaf.VerifyHostname("other.mesh.svc"); err != nil {
		t.Error(err)
	}
}

func TestEncode(t *testing.T) {
	p := certs.DefaultPolicy
	s := next(t, p, nil, start)
	s = next(t, p, s, start.AddDate(0, 0, 250)) // two authorities
	data, err := s.Encode()
	if err != nil || count(s.Bundle()) != 2 {
		t.Fatal(err, count(s.Bundle()))
	}
	back, err := certs.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(back.Bundle(), s.Bundle()) || !back.Expires().Equal(s.Expires()) {
		t.Error("another state came back")
	}
	if again := next(t, p, back, start.AddDate(0, 0, 250)); again != back {
		t.Error("what was read is not good enough")
	}
	other, err := next(t, p, nil, start).Encode()
	if err != nil {
		t.Fatal(err)
	}
	for key := range data {
		values := [][]byte{nil, []byte("x"), []byte("-----BEGIN X-----\nQQ==\n-----END X-----\n")}
		if key != certs.KeyBundle && key != certs.KeyServing {
			values = append(values, other[key]) // the key of another certificate
		}
		for _, value := range values {
			broken := maps.Clone(data)
			broken[key] = value
			if _, err := certs.Decode(broken); err == nil {
				t.Errorf("%s is %q, and no error", key, value)
			}
		}
	}
}
