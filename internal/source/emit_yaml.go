package source

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// AppendYAML appends the value as block YAML with sorted keys, byte for byte
// as sigs.k8s.io/yaml marshals it, save where that loses the value: a key <<
// is quoted, and control characters are escaped.
func AppendYAML(dst []byte, n *Node) []byte {
	var room [64]*Field
	e := emitter{dst: dst, lineStart: len(dst), indent: -1, whitespace: true, indention: true, fields: room[:0]}
	e.node(n, false, false)
	e.indent = -1
	e.newLine()
	return e.dst
}

// emitter writes YAML by the rules of libyaml.
type emitter struct {
	dst       []byte
	lineStart int // where the last line of dst begins
	indent    int
	// whitespace tells that the last byte written separates tokens, and
	// indention that only indentation and indicators are on the line so far.
	whitespace, indention bool

	fields []*Field // room for sorting
}

const (
	indentStep = 2
	bestWidth  = 80 // columns after which a scalar is folded at the next space
	maxSimple  = 128
)

func (e *emitter) column() int { return len(e.dst) - e.lineStart }

func (e *emitter) lineBreak() {
	e.dst = append(e.dst, '\n')
	e.lineStart = len(e.dst)
}

const spaces = "                                                                "

// newLine begins a line, unless one has just begun, and indents it.
func (e *emitter) newLine() {
	indent := max(e.indent, 0)
	if col := e.column(); !e.indention || col > indent || col == indent && !e.whitespace {
		e.lineBreak()
	}
	for pad := indent - e.column(); pad > 0; {
		k := min(pad, len(spaces))
		e.dst = append(e.dst, spaces[:k]...)
		pad -= k
	}
	e.whitespace, e.indention = true, true
}

// indicator writes - ? or : and the like.
func (e *emitter) indicator(c byte, blank, indention bool) {
	if blank && !e.whitespace {
		e.dst = append(e.dst, ' ')
	}
	e.dst = append(e.dst, c)
	e.whitespace = false
	e.indention = e.indention && indention
}

// node writes a value; inMap tells that it is the key or value of a mapping,
// key that it is a key on one line with its value.
func (e *emitter) node(n *Node, inMap, key bool) {
	if n == nil {
		e.text("null")
		return
	}
	switch n.kind {
	case Null:
		e.text("null")
	case Bool:
		e.text(n.str)
	case Number:
		e.number(n.str)
	case String:
		e.str(n.str, key)
	case List:
		e.list(n, inMap)
	case Map:
		e.mapping(n)
	}
}

// text writes a word that needs no quotes.
func (e *emitter) text(s string) {
	if !e.whitespace {
		e.dst = append(e.dst, ' ')
	}
	e.dst = append(e.dst, s...)
	e.whitespace, e.indention = false, false
}

func (e *emitter) number(s string) {
	if !isSmallInteger(s) {
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			s = strconv.FormatInt(i, 10) // -0 is 0
		} else if _, err := strconv.ParseUint(s, 10, 64); err == nil {
			// as it is
		} else if f, err := strconv.ParseFloat(s, 64); err == nil {
			s = strconv.FormatFloat(f, 'g', -1, 64)
		}
	}
	e.text(s)
}

func isSmallInteger(s string) bool {
	return len(s) <= 18 && s != "" && leadingDigits(s) == len(s) && (s[0] != '0' || len(s) == 1)
}

func (e *emitter) empty(brackets string) {
	if !e.whitespace {
		e.dst = append(e.dst, ' ')
	}
	e.dst = append(e.dst, brackets...)
	e.whitespace, e.indention = false, false
}

func (e *emitter) list(n *Node, inMap bool) {
	if len(n.Items()) == 0 {
		e.empty("[]")
		return
	}
	outer := e.indent
	if e.indent < 0 {
		e.indent = 0
	} else if !inMap || e.indention {
		e.indent += indentStep
	}
	for _, item := range n.Items() {
		e.newLine()
		e.indicator('-', true, true)
		e.node(item, false, false)
	}
	e.indent = outer
}

func (e *emitter) mapping(n *Node) {
	if len(n.Fields()) == 0 {
		e.empty("{}")
		return
	}
	outer := e.indent
	if e.indent < 0 {
		e.indent = 0
	} else {
		e.indent += indentStep
	}
	base := len(e.fields)
	e.sort(n.Fields())
	for i := base; i < base+len(n.Fields()); i++ {
		f := e.fields[i]
		e.newLine()
		if len(f.Key) <= maxSimple && !hasBreak(f.Key) {
			e.str(f.Key, true)
			e.indicator(':', false, false)
		} else {
			e.indicator('?', true, true)
			e.str(f.Key, false)
			e.newLine()
			e.indicator(':', true, true)
		}
		e.node(f.Value, true, false)
	}
	e.fields = e.fields[:base]
	e.indent = outer
}

// hasBreak reports whether s has a line break of YAML.
func hasBreak(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' && (c == '\n' || c == '\r') || c >= 0xc2 && textBreak(s, i) > 0 {
			return true
		}
	}
	return false
}

// textBreak returns the length of the line break at offset i; \r\n counts as
// two.
func textBreak(s string, i int) int {
	switch s[i] {
	case '\n', '\r':
		return 1
	case 0xc2:
		if i+1 < len(s) && s[i+1] == 0x85 {
			return 2
		}
	case 0xe2:
		if i+2 < len(s) && s[i+1] == 0x80 && s[i+2]&^1 == 0xa8 {
			return 3
		}
	}
	return 0
}

// sort pushes the fields in the order of their keys.
func (e *emitter) sort(fields []Field) {
	base := len(e.fields)
	for i := range fields {
		e.fields = append(e.fields, &fields[i])
	}
	part := e.fields[base:]
	if len(part) > 24 {
		slices.SortFunc(part, func(a, b *Field) int {
			switch {
			case keyLess(a.Key, b.Key):
				return -1
			case keyLess(b.Key, a.Key):
				return 1
			}
			return 0
		})
		return
	}
	for i := 1; i < len(part); i++ {
		for j := i; j > 0 && keyLess(part[j].Key, part[j-1].Key); j-- {
			part[j], part[j-1] = part[j-1], part[j]
		}
	}
}

// keyLess is the order of keys: letters after all else, and digits by the
// number that they spell.
func keyLess(a, b string) bool {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	if i == len(a) || i == len(b) {
		return len(a) < len(b)
	}
	for i > 0 && !utf8.RuneStart(a[i]) {
		i--
	}
	ar, an := utf8.DecodeRuneInString(a[i:])
	br, bn := utf8.DecodeRuneInString(b[i:])
	aLetter, bLetter := isLetter(ar), isLetter(br)
	if aLetter && bLetter {
		return ar < br
	}
	if aLetter || bLetter {
		return bLetter
	}
	var av, bv int64
	if (ar == '0' || br == '0') && afterNumber(a[:i]) {
		av, bv = 1, 1
	}
	aDigits, bDigits := 0, 0
	for rest, size := a[i:], an; ar >= 0 && unicode.IsDigit(ar); aDigits++ {
		av = av*10 + int64(ar-'0')
		rest = rest[size:]
		ar, size = nextRune(rest)
	}
	for rest, size := b[i:], bn; br >= 0 && unicode.IsDigit(br); bDigits++ {
		bv = bv*10 + int64(br-'0')
		rest = rest[size:]
		br, size = nextRune(rest)
	}
	if av != bv {
		return av < bv
	}
	if aDigits != bDigits {
		return aDigits < bDigits
	}
	ar, _ = utf8.DecodeRuneInString(a[i:])
	br, _ = utf8.DecodeRuneInString(b[i:])
	return ar < br
}

// nextRune decodes a rune; -1 at the end.
func nextRune(s string) (rune, int) {
	if s == "" {
		return -1, 0
	}
	return utf8.DecodeRuneInString(s)
}

func isLetter(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	return unicode.IsLetter(r)
}

// afterNumber reports whether s ends in digits that are not all zero.
func afterNumber(s string) bool {
	for s != "" {
		r, size := utf8.DecodeLastRuneInString(s)
		if !unicode.IsDigit(r) {
			return false
		}
		if r != '0' {
			return true
		}
		s = s[:len(s)-size]
	}
	return false
}

// str writes a string in the notation that it needs.
func (e *emitter) str(s string, key bool) {
	if simpleText(s) && plainString(s) {
		e.text(s)
		return
	}
	if key && s == mergeKey {
		e.text(`"<<"`) // libyaml writes a merge key
		return
	}
	if !utf8.ValidString(s) {
		s = validUTF8([]byte(s))
	}
	t := analyze(s)
	st := plain
	switch {
	case strings.IndexByte(s, '\n') >= 0:
		st = literal
	case !plainString(s):
		st = double
	}
	if st == plain && !t.plain {
		st = single
	}
	if st == single && !t.single || st == literal && (!t.block || key) {
		st = double
	}
	outer := e.indent
	if e.indent < 0 {
		e.indent = indentStep
	} else {
		e.indent += indentStep
	}
	switch st {
	case plain:
		e.plain(s, !key)
	case single:
		e.single(s, !key)
	case double:
		e.double(s, !key)
	default:
		e.literal(s)
	}
	e.indent = outer
}

// simpleBytes are those of most strings: they never call for quotes, save by
// what they spell.
var simpleBytes = func() (simple [256]bool) {
	for _, c := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+=()$;~^" {
		simple[c] = true
	}
	return simple
}()

// simpleText reports whether s holds simple bytes only and begins with none
// that means something to YAML.
func simpleText(s string) bool {
	for i := 0; i < len(s); i++ {
		if !simpleBytes[s[i]] {
			return false
		}
	}
	return s != "" && (s[0] != '-' || len(s) > 1 && s[1] != '-') && s[0] != '.'
}

// plainString reports whether s without quotes is read as a string, also by
// those who read times and base 60.
func plainString(s string) bool {
	if plainText(s) {
		return true
	}
	var n Node
	resolve(&n, s)
	return n.kind == String && !isTimestamp(s) && !isBase60(s)
}

// isBase60 reports whether s is a number in base 60: 1:30.
func isBase60(s string) bool {
	if strings.IndexByte(s, ':') < 0 {
		return false
	}
	s = skipSign(s)
	if s == "" || s[0] < '0' || s[0] > '9' {
		return false
	}
	i := 1
	for i < len(s) && (s[i] == '_' || '0' <= s[i] && s[i] <= '9') {
		i++
	}
	groups := 0
	for i < len(s) && s[i] == ':' {
		n := leadingDigits(s[i+1:])
		if n == 0 || n > 2 || n == 2 && s[i+1] > '5' {
			return false
		}
		i += 1 + n
		groups++
	}
	if groups == 0 {
		return false
	}
	if i < len(s) && s[i] == '.' {
		for i++; i < len(s) && (s[i] == '_' || '0' <= s[i] && s[i] <= '9'); i++ {
		}
	}
	return i == len(s)
}

// traits tells which notations a string allows.
type traits struct{ plain, single, block bool }

func analyze(s string) traits {
	if s == "" {
		return traits{plain: true, single: true}
	}
	t := traits{true, true, true}
	if strings.HasPrefix(s, "---") || strings.HasPrefix(s, "...") {
		t.plain = false
	}
	afterBlank, lastSpace, lastBreak := true, false, false
	for i := 0; i < len(s); {
		c := s[i]
		size := runeLen(c)
		next := i + size
		beforeBlank := next >= len(s) || s[next] == ' ' || s[next] == '\t'
		switch c {
		case '#':
			if afterBlank {
				t.plain = false
			}
		case ',', '[', ']', '{', '}', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`':
			if i == 0 {
				t.plain = false
			}
		case '?', '-':
			if i == 0 && beforeBlank {
				t.plain = false
			}
		case ':':
			if beforeBlank {
				t.plain = false
			}
		}
		if !printable(s, i) {
			return traits{}
		}
		isBreak := textBreak(s, i) > 0
		switch {
		case c == ' ':
			if i == 0 {
				t.plain = false
			}
			if next == len(s) {
				t.plain, t.block = false, false
			}
			if lastBreak {
				t.plain, t.single = false, false
			}
		case isBreak:
			t.plain = false
			if lastSpace {
				return traits{}
			}
		}
		lastSpace, lastBreak = c == ' ', isBreak
		afterBlank = c == ' ' || c == '\t' || isBreak
		i = next
	}
	return t
}

// runeLen returns the length of the character that c begins.
func runeLen(c byte) int {
	switch {
	case c < 0x80:
		return 1
	case c < 0xe0:
		return 2
	case c < 0xf0:
		return 3
	}
	return 4
}

// printable reports whether the character at offset i may stand unescaped.
func printable(s string, i int) bool {
	switch c := s[i]; {
	case c < 0x7f:
		return c >= ' ' || c == '\n'
	case c == 0xc2:
		return s[i+1] >= 0xa0
	case c > 0xc2 && c < 0xed, c == 0xee:
		return true
	case c == 0xed:
		return s[i+1] < 0xa0
	case c == 0xef:
		return s[i:i+3] != bom && (s[i+1] != 0xbf || s[i+2] < 0xbe)
	}
	return false
}

// folds reports whether a scalar goes on on the next line instead of with the
// space at offset i.
func (e *emitter) folds(s string, i int, afterSpace bool) bool {
	if afterSpace || e.column() <= bestWidth {
		return false
	}
	return utf8.RuneCount(e.dst[e.lineStart:]) > bestWidth
}

func (e *emitter) plain(s string, breaks bool) {
	if !e.whitespace {
		e.dst = append(e.dst, ' ')
	}
	space := false
	for i := 0; i < len(s); i++ {
		if s[i] == ' ' {
			if breaks && s[i+1] != ' ' && e.folds(s, i, space) {
				e.newLine()
			} else {
				e.dst = append(e.dst, ' ')
			}
			space = true
			continue
		}
		e.dst = append(e.dst, s[i])
		e.indention, space = false, false
	}
	e.whitespace, e.indention = false, false
}

func (e *emitter) single(s string, breaks bool) {
	e.indicator('\'', true, false)
	space, broken := false, false
	for i := 0; i < len(s); {
		if s[i] == ' ' {
			if breaks && i > 0 && i < len(s)-1 && s[i+1] != ' ' && e.folds(s, i, space) {
				e.newLine()
			} else {
				e.dst = append(e.dst, ' ')
			}
			i++
			space = true
			continue
		}
		if n := textBreak(s, i); n > 0 {
			e.dst = append(e.dst, s[i:i+n]...)
			e.lineStart = len(e.dst)
			i += n
			e.indention, broken = true, true
			continue
		}
		if broken {
			e.newLine()
		}
		if s[i] == '\'' {
			e.dst = append(e.dst, '\'')
		}
		n := runeLen(s[i])
		e.dst = append(e.dst, s[i:i+n]...)
		i += n
		e.indention, space, broken = false, false, false
	}
	e.indicator('\'', false, false)
	e.whitespace, e.indention = false, false
}

func (e *emitter) double(s string, breaks bool) {
	e.indicator('"', true, false)
	// With a byte order mark at the beginning, libyaml escapes everything.
	all := strings.HasPrefix(s, bom)
	space := false
	for i := 0; i < len(s); {
		c := s[i]
		if all || !printable(s, i) || textBreak(s, i) > 0 || c == '"' || c == '\\' {
			r, size := utf8.DecodeRuneInString(s[i:])
			e.dst = appendEscape(e.dst, r)
			i += size
			space = false
			continue
		}
		if c == ' ' {
			if breaks && i > 0 && i < len(s)-1 && e.folds(s, i, space) {
				e.newLine()
				if s[i+1] == ' ' {
					e.dst = append(e.dst, '\\')
				}
			} else {
				e.dst = append(e.dst, ' ')
			}
			i++
			space = true
			continue
		}
		n := runeLen(c)
		e.dst = append(e.dst, s[i:i+n]...)
		i += n
		space = false
	}
	e.indicator('"', false, false)
	e.whitespace, e.indention = false, false
}

// appendEscape appends the escape of a character in double quotes.
func appendEscape(dst []byte, r rune) []byte {
	const digits = "0123456789ABCDEF"
	dst = append(dst, '\\')
	switch r {
	case 0:
		return append(dst, '0')
	case '\a':
		return append(dst, 'a')
	case '\b':
		return append(dst, 'b')
	case '\t':
		return append(dst, 't')
	case '\n':
		return append(dst, 'n')
	case '\v':
		return append(dst, 'v')
	case '\f':
		return append(dst, 'f')
	case '\r':
		return append(dst, 'r')
	case 0x1b:
		return append(dst, 'e')
	case '"', '\\':
		return append(dst, byte(r))
	case 0x85:
		return append(dst, 'N')
	case 0xa0:
		return append(dst, '_')
	case 0x2028:
		return append(dst, 'L')
	case 0x2029:
		return append(dst, 'P')
	}
	width := 8
	switch {
	case r <= 0xff:
		dst, width = append(dst, 'x'), 2
	case r <= 0xffff:
		dst, width = append(dst, 'u'), 4
	default:
		dst = append(dst, 'U')
	}
	for k := (width - 1) * 4; k >= 0; k -= 4 {
		dst = append(dst, digits[r>>k&15])
	}
	return dst
}

func (e *emitter) literal(s string) {
	e.indicator('|', true, false)
	e.dst = appendBlockHints(e.dst, s)
	e.lineBreak()
	e.indention, e.whitespace = true, true
	broken := true
	for i := 0; i < len(s); {
		if n := textBreak(s, i); n > 0 {
			e.dst = append(e.dst, s[i:i+n]...)
			e.lineStart = len(e.dst)
			i += n
			e.indention, broken = true, true
			continue
		}
		if broken {
			e.newLine()
		}
		end := i + 1
		for end < len(s) && s[end] != '\n' && (s[end] < 0x80 || textBreak(s, end) == 0) {
			end++
		}
		e.dst = append(e.dst, s[i:end]...)
		i = end
		e.indention, broken = false, false
	}
}

// appendBlockHints appends the indentation and chomping indicators that a
// block scalar needs.
func appendBlockHints(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, '-')
	}
	if s[0] == ' ' || textBreak(s, 0) > 0 {
		dst = append(dst, '0'+indentStep)
	}
	last := lastRune(s, len(s))
	if textBreak(s, last) == 0 {
		return append(dst, '-')
	}
	if last == 0 || textBreak(s, lastRune(s, last)) > 0 {
		return append(dst, '+')
	}
	return dst
}

// lastRune returns where the last character of s[:end] begins.
func lastRune(s string, end int) int {
	_, size := utf8.DecodeLastRuneInString(s[:end])
	return end - size
}
