package cli

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/ingraft/ingraft/internal/source"
)

// stylist writes values as people write YAML: every file in its own way, with
// comments and anchors.
type stylist struct {
	*rand.Rand
	b       strings.Builder
	step    int
	indent  bool // sequences in mappings
	anchors []anchoredScalar
}

type anchoredScalar struct {
	name, text string
}

func restyled(r *rand.Rand, root *source.Node) []byte {
	s := &stylist{Rand: r, step: 1 + r.IntN(4), indent: r.IntN(2) == 0}
	switch r.IntN(4) {
	case 0:
		s.b.WriteString("# first\n\n")
	case 1:
		s.b.WriteString("--- # first\n")
	case 2:
		s.b.WriteString("%YAML 1.1\n---\n")
	}
	s.mapping(root, 0, false)
	switch r.IntN(4) {
	case 0:
		s.b.WriteString("\n# last\n")
	case 1:
		return []byte(strings.TrimRight(s.b.String(), "\n"))
	}
	return []byte(s.b.String())
}

func (s *stylist) pad(col int) { s.b.WriteString(strings.Repeat(" ", col)) }

func (s *stylist) noise(col int) {
	switch s.IntN(14) {
	case 0:
		s.b.WriteString("\n")
	case 1:
		s.pad(col)
		fmt.Fprintf(&s.b, "# note %d\n", s.IntN(100))
	case 2:
		s.b.WriteString("# far left\n")
	case 3:
		s.b.WriteString("\n")
		s.pad(col + 2)
		s.b.WriteString("# far right\n")
	}
}

func (s *stylist) end() {
	if s.IntN(8) == 0 {
		s.b.WriteString("   # why")
	}
	s.b.WriteString("\n")
}

func (s *stylist) mapping(n *source.Node, col int, inline bool) {
	for i, f := range n.Fields() {
		if i > 0 || !inline {
			s.noise(col)
			s.pad(col)
		}
		s.b.WriteString(s.str(f.Key, false) + ":")
		s.value(f.Value, col, true)
	}
}

func (s *stylist) value(n *source.Node, col int, inMap bool) {
	switch {
	case n.IsNull():
		s.b.WriteString([]string{"", " null", " ~"}[s.IntN(3)])
		s.end()
	case n.Len() == 0 || s.IntN(8) == 0:
		if text, ok := s.anchored(n); ok {
			s.b.WriteString(" " + text)
			s.end()
			return
		}
		if strings.Contains(n.Str(), "\n") && strings.HasSuffix(n.Str(), "\n") && strings.TrimSpace(n.Str()) != "" && n.Str()[0] > ' ' && !strings.HasSuffix(n.Str(), "\n\n") {
			s.b.WriteString(" |\n")
			for line := range strings.Lines(n.Str()) {
				if line != "\n" {
					s.pad(max(col, 0) + s.step)
				}
				s.b.WriteString(line)
			}
			return
		}
		s.b.WriteString(" " + s.flow(n))
		s.end()
	case n.Kind() == source.Map && inMap:
		s.end()
		s.mapping(n, col+s.step, false)
	case n.Kind() == source.Map:
		gap := 1 + s.IntN(2)
		s.pad(gap)
		s.mapping(n, col+1+gap, true)
	default:
		at := col
		if !inMap || s.indent {
			at += s.step
		}
		s.end()
		for _, item := range n.Items() {
			s.noise(at)
			s.pad(at)
			s.b.WriteString("-")
			s.value(item, at, false)
		}
	}
}

// anchored returns an alias for a text that was there before, or gives it an
// anchor for later ones.
func (s *stylist) anchored(n *source.Node) (string, bool) {
	if n.Kind() != source.String {
		return "", false
	}
	for _, a := range s.anchors {
		if a.text == n.Str() {
			if s.IntN(2) == 0 {
				return "*" + a.name, true
			}
			return "", false
		}
	}
	if s.IntN(12) > 0 {
		return "", false
	}
	name := "n" + strconv.Itoa(len(s.anchors))
	s.anchors = append(s.anchors, anchoredScalar{name, n.Str()})
	return "&" + name + " " + s.str(n.Str(), true), true
}

func (s *stylist) flow(n *source.Node) string {
	switch {
	case n.Kind() == source.Map:
		var parts []string
		for _, f := range n.Fields() {
			parts = append(parts, s.str(f.Key, true)+": "+s.flow(f.Value))
		}
		if s.IntN(3) == 0 {
			return "{ " + strings.Join(parts, ",  ") + " }"
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case n.Kind() == source.List:
		var parts []string
		for _, item := range n.Items() {
			parts = append(parts, s.flow(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case n.Kind() == source.String:
		return s.str(n.Str(), true)
	}
	if n.IsNull() {
		return "null"
	}
	return n.Scalar()
}

// str spells a string: in any quotes that can hold it.
func (s *stylist) str(text string, inFlow bool) string {
	plain := text != "" && !strings.ContainsAny(text, ":#{}[],&*?|<>=!%@`'\"\\\n\r\t ~") && text[0] != '-' && !strings.ContainsAny(text[:1], "0123456789.+") && len(text) > 5
	if !inFlow && plain || plain && s.IntN(2) == 0 {
		return text
	}
	if s.IntN(2) == 0 && !strings.ContainsAny(text, "\n\r\t\\") && isASCII(text) {
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	return string(source.AppendJSON(nil, source.NewString(text)))
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
