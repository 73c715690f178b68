package config

import (
	"net"
	"testing"
)

func TestIsAddress(t *testing.T) {
	for s, want := range map[string]bool{
		"istiod.istio-system.svc:15012": true,
		"istiod.:1":                     true,
		"10.0.0.1:65535":                true,
		"[::1]:80":                      true,
		"[fe80::1%eth0]:80":             true,
		"UPPER.example:80":              true,
		"":                              false,
		":80":                           false,
		"host":                          false,
		"host:":                         false,
		"host:0":                        false,
		"host:65536":                    false,
		"host:http":                     false,
		"::1:80":                        false,
		"a_b:80":                        false,
		"-a:80":                         false,
		"a.1:80":                        false, // the last label is a number
		"1.2.3.4.5:80":                  false,
		"a..b:80":                       false,
	} {
		if got := isAddress(s); got != want {
			t.Errorf("isAddress(%q) = %v", s, got)
		}
	}
}

func TestIsWildcardDomain(t *testing.T) {
	for s, want := range map[string]bool{
		"*": true, "*.a": true, "*.": true, "*a.b": true, "*-a.b": true, "a.b.": true, "a": true,
		"": false, "*-": false, "a*": false, "*.*": false, "a.*": false, ".a": false, "*.1": false,
	} {
		if got := isWildcardDomain(s); got != want {
			t.Errorf("isWildcardDomain(%q) = %v", s, got)
		}
	}
}

func FuzzSplitHostPort(f *testing.F) {
	for _, s := range []string{"", ":", "a:1", "[a]:1", "[a]b:1", "[[a]]:1", "a]:1", "[a:1", "a:b:1", "[::1]:", "[a]:[", "[]:"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		host, port, ok := splitHostPort(s)
		wantHost, wantPort, err := net.SplitHostPort(s)
		if ok != (err == nil) || ok && (host != wantHost || port != wantPort) {
			t.Errorf("%q: got %q, %q, %v; want %q, %q, %v", s, host, port, ok, wantHost, wantPort, err)
		}
	})
}
