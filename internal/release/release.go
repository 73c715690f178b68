package release

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Release is a minor release of the mesh, such as 1.9. Behaviour that changed
// between patches is that of the last one. The zero Release is none.
type Release struct{ Major, Minor int }

// The span of releases that are known.
var (
	Oldest = Release{0, 8}
	Newest = Release{1, 31}
)

// V returns a release.
func V(major, minor int) Release { return Release{major, minor} }

// String returns the release as it is written: 1.9.
func (r Release) String() string { return strconv.Itoa(r.Major) + "." + strconv.Itoa(r.Minor) }

// IsZero reports whether r is no release.
func (r Release) IsZero() bool { return r == Release{} }

// Compare orders releases by age, the oldest first.
func (r Release) Compare(o Release) int {
	return cmp.Or(cmp.Compare(r.Major, o.Major), cmp.Compare(r.Minor, o.Minor))
}

// Before reports whether r is older than o.
func (r Release) Before(o Release) bool { return r.Compare(o) < 0 }

// Next returns the release that followed r.
func (r Release) Next() Release {
	if r == Oldest {
		return V(1, 0) // there was no 0.9
	}
	return V(r.Major, r.Minor+1)
}

// Known reports whether r is one of the releases between Oldest and Newest.
func (r Release) Known() bool {
	return r == Oldest || r.Major == 1 && r.Minor >= 0 && !Newest.Before(r)
}

// Parse reads a release as people write it: 1.9, v1.9, 1.9.3. It must be a
// known one.
func Parse(s string) (Release, error) {
	r, rest, ok := scan(strings.TrimPrefix(s, "v"))
	if !ok || rest != "" && rest[0] != '.' && rest[0] != '-' {
		return Release{}, fmt.Errorf("reading release %q: want a number such as 1.9", s)
	}
	if !r.Known() {
		return Release{}, fmt.Errorf("reading release %q: known are %s and 1.0 to %s", s, Oldest, Newest)
	}
	return r, nil
}

// scan reads a major and a minor number, and returns what follows them.
func scan(s string) (r Release, rest string, ok bool) {
	major, rest, ok := digits(s)
	if !ok || !strings.HasPrefix(rest, ".") {
		return Release{}, s, false
	}
	minor, rest, ok := digits(rest[1:])
	return Release{major, minor}, rest, ok
}

func digits(s string) (n int, rest string, ok bool) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	if i == 0 || i > 4 {
		return 0, s, false
	}
	n, _ = strconv.Atoi(s[:i])
	return n, s[i:], true
}

// OfTag returns the release that the tag of an image names: 1.9.3, 1.31-alpha.5,
// 1.20.8-distroless, release-1.1-latest-daily. It reports false for a tag
// without one, such as latest. The release need not be a known one.
func OfTag(tag string) (Release, bool) {
	for _, prefix := range [...]string{"release-", "v", "master-", ""} {
		rest, cut := strings.CutPrefix(tag, prefix)
		if !cut {
			continue
		}
		if r, end, ok := scan(rest); ok && (end == "" || strings.ContainsRune(".-_+", rune(end[0]))) {
			return r, r.Major == 1 || r == Oldest
		}
	}
	return Release{}, false
}

// Span is a run of releases, both ends included. A zero Since stands for
// Oldest, a zero Until for Newest.
type Span struct{ Since, Until Release }

// Has reports whether a release lies in the span.
func (s Span) Has(r Release) bool {
	return !r.Before(s.Since) && (s.Until.IsZero() || !s.Until.Before(r))
}

// And returns the releases that lie in both spans.
func (s Span) And(o Span) Span {
	if s.Since.Before(o.Since) {
		s.Since = o.Since
	}
	if s.Until.IsZero() || !o.Until.IsZero() && o.Until.Before(s.Until) {
		s.Until = o.Until
	}
	return s
}

// Last returns the newest release of the span, and whether there is any.
func (s Span) Last() (Release, bool) {
	last := s.Until
	if last.IsZero() || Newest.Before(last) {
		last = Newest
	}
	return last, !last.Before(s.Since)
}

// String says the span to people: since 1.9, 1.2 to 1.8, until 1.1.
func (s Span) String() string {
	switch {
	case s.Since.IsZero() && s.Until.IsZero():
		return "every release"
	case s.Until.IsZero():
		return "since " + s.Since.String()
	case s.Since.IsZero() || s.Since == Oldest:
		return "until " + s.Until.String()
	case s.Since == s.Until:
		return s.Since.String() + " only"
	}
	return s.Since.String() + " to " + s.Until.String()
}
