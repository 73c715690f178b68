package manifest

import (
	"strconv"
	"strings"
)

// step is one step of a path: a key, or what is in brackets: the index of an
// item, or a field of it and the value that the field has.
type step struct {
	key   string
	index int    // of isIndex
	value string // of isField: key is the field; of isValue: what the item is
	kind  stepKind
}

type stepKind uint8

const (
	isKey   stepKind = iota
	isIndex          // [0]
	isField          // [name:istiod]
	isValue          // [:istiod]
	isBad            // brackets that hold nothing of these
)

// String spells the step as it stands in a path.
func (s step) String() string {
	switch s.kind {
	case isIndex:
		return "[" + strconv.Itoa(s.index) + "]"
	case isField, isValue:
		return "[" + s.key + ":" + s.value + "]"
	case isBad:
		return "[" + s.key + "]"
	}
	return strings.ReplaceAll(s.key, ".", `\.`)
}

// parsePath splits a path at its dots. A dot behind a backslash belongs to the
// key, as does one within brackets, which begin a step of their own also
// without a dot before them.
func parsePath(path string) []step {
	var steps []step
	var key strings.Builder
	flush := func() {
		if key.Len() > 0 {
			steps = append(steps, step{key: key.String()})
			key.Reset()
		}
	}
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '\\' && i+1 < len(path) && path[i+1] == '.':
			key.WriteByte('.')
			i++
		case c == '.':
			flush()
		case c == '[':
			end := strings.IndexByte(path[i:], ']')
			if end < 0 || !endsStep(path[i+end+1:]) {
				key.WriteByte(c)
				continue
			}
			flush()
			steps = append(steps, bracketed(path[i+1:i+end]))
			i += end
		default:
			key.WriteByte(c)
		}
	}
	flush()
	return steps
}

// endsStep tells that a step ends before the rest of a path.
func endsStep(rest string) bool { return rest == "" || rest[0] == '.' || rest[0] == '[' }

func bracketed(s string) step {
	if n, err := strconv.Atoi(s); err == nil {
		return step{index: n, kind: isIndex}
	}
	s = strings.ReplaceAll(s, `\.`, ".")
	if key, value, ok := strings.Cut(s, ":"); ok {
		kind := isField
		if key == "" {
			kind = isValue
		}
		return step{key: key, value: strings.ReplaceAll(value, `\:`, ":"), kind: kind}
	}
	return step{key: s, kind: isBad}
}

// spell spells a path.
func spell(steps []step) string {
	var b strings.Builder
	for _, s := range steps {
		if b.Len() > 0 && s.kind == isKey {
			b.WriteByte('.')
		}
		b.WriteString(s.String())
	}
	return b.String()
}

// keysOf returns a path as keys and indexes, for those who look up what stands
// at it.
func keysOf(steps []step) []string {
	keys := make([]string, len(steps))
	for i, s := range steps {
		keys[i] = s.key
		if s.kind != isKey {
			keys[i] = "[]"
		}
	}
	return keys
}
