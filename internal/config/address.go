package config

import (
	"net/netip"
	"strconv"
	"strings"
)

// isAddress reports whether s is a host and a port, as the control plane wants
// the address of a service: a domain name or an IP address, a colon and a port
// from 1 to 65535.
func isAddress(s string) bool {
	host, port, ok := splitHostPort(s)
	if !ok {
		return false
	}
	number, err := strconv.Atoi(port)
	if err != nil || !isPort(number) {
		return false
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return isDomain(host)
}

// splitHostPort splits as net.SplitHostPort does; an IPv6 address stands in
// brackets. Package net itself is not for the rooms that do no I/O.
func splitHostPort(s string) (host, port string, ok bool) {
	colon := strings.LastIndexByte(s, ':')
	if colon < 0 {
		return "", "", false
	}
	host, port = s[:colon], s[colon+1:]
	if inner, bracket := strings.CutPrefix(host, "["); bracket {
		host, bracket = strings.CutSuffix(inner, "]")
		return host, port, bracket && !strings.ContainsAny(host, "[]") && !strings.ContainsAny(port, "[]")
	}
	return host, port, !strings.ContainsAny(host, ":[]") && !strings.ContainsAny(port, "[]")
}

func isPort(number int) bool { return number >= 1 && number <= 65535 }

// isDomain reports whether s is a domain name: labels with dots between them
// and perhaps one at the end, the last label not a number.
func isDomain(s string) bool {
	return s != "" && len(s) <= 255 && hasDomainLabels(s)
}

// isWildcardDomain is isDomain, but the first label may be a wildcard or begin
// with one: *.example.com, *-a.example.com.
func isWildcardDomain(s string) bool {
	first, rest, more := strings.Cut(s, ".")
	if len(s) > 255 || len(first) > 63 {
		return false
	}
	if first != "*" {
		label, _ := strings.CutPrefix(first, "*-")
		if label == first {
			label, _ = strings.CutPrefix(first, "*")
		}
		if !isDomainLabel(label) {
			return false
		}
	}
	return !more || hasDomainLabels(rest)
}

func hasDomainLabels(s string) bool {
	labels := strings.Split(s, ".")
	top := labels[len(labels)-1]
	if _, err := strconv.Atoi(top); err == nil {
		return false
	}
	return areDomainLabels(labels)
}

// isTrustDomain is isDomain without the limits on its length and last label.
func isTrustDomain(s string) bool { return s != "" && areDomainLabels(strings.Split(s, ".")) }

// areDomainLabels reports whether all are labels, the last of which may be
// empty.
func areDomainLabels(labels []string) bool {
	if last := len(labels) - 1; labels[last] == "" {
		labels = labels[:last]
	}
	for _, label := range labels {
		if !isDomainLabel(label) {
			return false
		}
	}
	return true
}

// isDomainLabel reports whether s is a label of a domain name: 1 to 63
// letters, digits and hyphens, none of the latter at the ends.
func isDomainLabel(s string) bool {
	return len(s) <= 63 && isAlnumBounded(s, func(c byte) bool { return c == '-' || isUpper(c) })
}
