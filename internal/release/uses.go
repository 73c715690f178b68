package release

import (
	"strings"

	"github.com/ingraft/ingraft/internal/source"
)

// Use is one place where a template uses a function or a field of its data.
type Use struct {
	Kind Kind
	Name string
	// Path is a field with those that are taken of it: Values.global.hub.
	Path string
	// Compared tells that it stands right behind a comparison: gt .X 0.
	Compared bool
	// At is the place in the template's text.
	At source.Span
}

// Delimiters returns what encloses the actions of a template: [[ and ]] until
// release 1.1, {{ and }} since. Where a text has both, those count that enclose
// more of what looks like an action, as a shell has a [[ too; else the first.
func Delimiters(text []byte) (left, right string) {
	s := string(text)
	square, curly := strings.Index(s, "[["), strings.Index(s, "{{")
	inSquare := square >= 0 && (curly < 0 || square < curly)
	if square >= 0 && curly >= 0 {
		if a, b := actions(s, "[["), actions(s, "{{"); a != b {
			inSquare = a > b
		}
	}
	if inSquare {
		return "[[", "]]"
	}
	return "{{", "}}"
}

// actions counts what looks like the beginning of an action: a field, a keyword
// or one of the mesh's functions behind the delimiter.
func actions(s, left string) int {
	n := 0
	for _, rest := range strings.Split(s, left)[1:] {
		if trimmed, ok := strings.CutPrefix(rest, "-"); ok && trimmed != strings.TrimLeft(trimmed, " \t\r\n") {
			rest = trimmed
		}
		rest = strings.TrimLeft(rest, " \t\r\n")
		word := rest[:wordEnd(rest, 0)]
		_, known := Lookup(Function, word)
		if known || isKeyword(word) || rest != "" && rest[0] == '.' && isLetter(rest, 1) {
			n++
		}
	}
	return n
}

// Uses lists the functions that a template names and the fields that it takes
// of its data, in the order of the text. It reads words, not grammar: a field
// of something else that is called like one of the data's is taken for that
// only where a dollar sign or nothing stands before its dot.
func Uses(text *source.Text, left, right string) []Use {
	var uses []Use
	s := string(text.Data)
	for pos := 0; ; {
		i := strings.Index(s[pos:], left)
		if i < 0 {
			return uses
		}
		pos += i + len(left)
		pos = scanAction(text, s, pos, right, &uses)
	}
}

// scanAction reads an action from behind its left delimiter, and returns where
// its right one ends.
func scanAction(text *source.Text, s string, pos int, right string, uses *[]Use) int {
	if rest := strings.TrimLeft(strings.TrimPrefix(s[pos:], "-"), " \t\r\n"); strings.HasPrefix(rest, "/*") {
		if i := strings.Index(s[pos:], "*/"); i >= 0 {
			pos += i + 2
		}
	}
	for pos < len(s) {
		switch c := s[pos]; {
		case strings.HasPrefix(s[pos:], right):
			return pos + len(right)
		case c == '"' || c == '`' || c == '\'':
			pos = quoteEnd(s, pos)
		case c == '.' && isLetter(s, pos+1):
			start := pos
			rooted := start == 0 || !isWordByte(s[start-1]) && s[start-1] != ')'
			rooted = rooted || s[start-1] == '$'
			end := wordEnd(s, pos+1)
			for pos = end; pos < len(s) && s[pos] == '.' && isLetter(s, pos+1); { // the rest of the chain
				pos = wordEnd(s, pos+1)
			}
			if rooted {
				at := source.Span{Text: text, Start: start + 1, End: end}
				*uses = append(*uses, Use{Kind: Field, Name: s[start+1 : end], Path: s[start+1 : pos], Compared: isCompared(s[:start]), At: at})
			}
		case c == '$':
			if pos = wordEnd(s, pos+1); pos < len(s) && s[pos-1] != '$' {
				for s[pos] == '.' && isLetter(s, pos+1) { // fields of a variable
					if pos = wordEnd(s, pos+1); pos == len(s) {
						break
					}
				}
			}
		case isLetter(s, pos):
			end := wordEnd(s, pos)
			if word := s[pos:end]; !isKeyword(word) {
				*uses = append(*uses, Use{Kind: Function, Name: word, At: source.Span{Text: text, Start: pos, End: end}})
			}
			pos = end
		default:
			pos++
		}
	}
	return pos
}

func quoteEnd(s string, pos int) int {
	quote := s[pos]
	for pos++; pos < len(s) && s[pos] != quote; pos++ {
		if s[pos] == '\\' && quote != '`' {
			pos++
		}
	}
	return min(pos+1, len(s))
}

func isWordByte(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isLetter(s string, pos int) bool {
	return pos < len(s) && isWordByte(s[pos]) && s[pos] != '$' && (s[pos] < '0' || s[pos] > '9')
}

func wordEnd(s string, pos int) int {
	for pos < len(s) && isWordByte(s[pos]) && s[pos] != '$' {
		pos++
	}
	return pos
}

func isKeyword(word string) bool {
	switch word {
	case "if", "else", "end", "range", "with", "define", "template", "block", "break", "continue", "nil", "true", "false":
		return true
	}
	return false
}

// Span tells which releases have what is used. A field that is not in the
// table is in every release: it is one of an inner dot.
func (u Use) Span() Span {
	if u.Kind == Function {
		return FunctionSpan(u.Name)
	}
	var span Span
	for _, f := range u.Features() {
		span = span.And(f.Span)
	}
	return span
}

// Features lists what of the table a use needs: the function or field itself,
// and what is taken of the field.
func (u Use) Features() []Feature {
	var list []Feature
	if f, ok := Lookup(u.Kind, u.Name); ok {
		list = append(list, f)
	}
	if u.Kind != Field {
		return list
	}
	for i := len(u.Name); i < len(u.Path); {
		if next := strings.IndexByte(u.Path[i+1:], '.'); next >= 0 {
			i += 1 + next
		} else {
			i = len(u.Path)
		}
		if f, ok := Lookup(Field, u.Path[:i]); ok {
			list = append(list, f)
		}
	}
	if u.Compared && u.Path == "ProxyConfig.Concurrency" {
		list = append(list, plainConcurrency)
	}
	return list
}

// isCompared reports whether the last word of a text is a function that
// compares numbers.
func isCompared(before string) bool {
	before = strings.TrimRight(before, " \t\r\n")
	for _, word := range [...]string{"gt", "ge", "lt", "le", "eq", "ne"} {
		if rest, ok := strings.CutSuffix(before, word); ok && (rest == "" || !isWordByte(rest[len(rest)-1]) && rest[len(rest)-1] != '.') {
			return true
		}
	}
	return false
}
