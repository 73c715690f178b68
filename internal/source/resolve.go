package source

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const tagPrefix = "tag:yaml.org,2002:"

// plainText reports, by its first character, that a plain scalar is a string.
// False means that it takes a closer look.
func plainText(s string) bool {
	return s != "" && !hints[s[0]]
}

// hints marks the first characters of plain scalars that may be something else
// than a string.
var hints = func() (h [256]bool) {
	for _, c := range "+-.0123456789yYnNtTfFoO~" {
		h[c] = true
	}
	return h
}()

// resolve sets kind and value of a node that is the plain scalar s, by the
// rules of YAML 1.1 as Kubernetes' decoder has them.
func resolve(n *Node, s string) {
	n.kind, n.str = String, s
	if s == "" {
		n.kind = Null
		return
	}
	if !hints[s[0]] {
		return
	}
	switch c := s[0]; {
	case c == '.':
		resolveDot(n, s)
	case c == '+' || c == '-' || '0' <= c && c <= '9':
		if !resolveWord(n, s) {
			resolveNumber(n, s)
		}
	default:
		resolveWord(n, s)
	}
}

// resolveWord handles the words that mean null, a boolean, or no number.
func resolveWord(n *Node, s string) bool {
	switch s {
	case "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON":
		n.kind, n.str = Bool, "true"
	case "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF":
		n.kind, n.str = Bool, "false"
	case "~", "null", "Null", "NULL":
		n.kind, n.str = Null, ""
	case ".nan", ".NaN", ".NAN":
		n.kind, n.str, n.flags = Number, ".nan", n.flags|float|endless
	case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF":
		n.kind, n.str, n.flags = Number, ".inf", n.flags|float|endless
	case "-.inf", "-.Inf", "-.INF":
		n.kind, n.str, n.flags = Number, "-.inf", n.flags|float|endless
	default:
		return false
	}
	return true
}

func resolveDot(n *Node, s string) {
	if resolveWord(n, s) || len(s) < 2 || s[1] < '0' || s[1] > '9' {
		return
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		setFloat(n, f)
	}
}

// resolveNumber handles what begins with a digit or a sign.
func resolveNumber(n *Node, s string) {
	if c := s[len(s)-1]; c > '9' && c != '_' && (c|0x20 < 'a' || c|0x20 > 'f') {
		return // 100m, 1Gi: no number ends like that
	}
	if rest := skipSign(s); rest == "" || rest[0] > '9' && rest[0] != '_' {
		return // --verbose, -x
	}
	// The usual case: decimal digits.
	i := 0
	if s[0] == '-' {
		i = 1
	}
	if i < len(s) && (s[i] != '0' || len(s) == 1) && len(s) <= 18 {
		for i < len(s) && '0' <= s[i] && s[i] <= '9' {
			i++
		}
		if i == len(s) && s != "-" {
			n.kind = Number
			return
		}
	}
	text := s
	if strings.IndexByte(s, '_') >= 0 {
		text = strings.ReplaceAll(s, "_", "")
	}
	if v, err := strconv.ParseInt(text, 0, 64); err == nil {
		n.kind, n.str = Number, strconv.FormatInt(v, 10)
		return
	}
	if v, err := strconv.ParseUint(text, 0, 64); err == nil {
		n.kind, n.str = Number, strconv.FormatUint(v, 10)
		return
	}
	if isDecimalFloat(text) {
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			setFloat(n, f)
		}
	}
}

// isDecimalFloat reports whether s is digits with an optional sign, point and
// exponent.
func isDecimalFloat(s string) bool {
	s = skipSign(s)
	whole := leadingDigits(s)
	rest := s[whole:]
	if strings.HasPrefix(rest, ".") {
		part := leadingDigits(rest[1:])
		if whole == 0 && part == 0 {
			return false
		}
		rest = rest[1+part:]
	} else if whole == 0 {
		return false
	}
	if rest == "" {
		return true
	}
	if rest[0]|0x20 != 'e' {
		return false
	}
	rest = skipSign(rest[1:])
	return rest != "" && leadingDigits(rest) == len(rest)
}

func skipSign(s string) string {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		return s[1:]
	}
	return s
}

func leadingDigits(s string) int {
	i := 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return i
}

// setFloat makes the node a Number in the spelling of encoding/json.
func setFloat(n *Node, f float64) {
	n.kind, n.flags = Number, n.flags|float
	n.str = string(appendFloat(nil, f))
}

// appendFloat appends a number as encoding/json spells it.
func appendFloat(b []byte, f float64) []byte {
	abs, format := math.Abs(f), byte('f')
	if abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	from := len(b)
	b = strconv.AppendFloat(b, f, format, -1, 64)
	if n := len(b); format == 'e' && n-from >= 4 && b[n-4] == 'e' && b[n-3] == '-' && b[n-2] == '0' {
		b[n-2] = b[n-1] // e-09 to e-9
		b = b[:n-1]
	}
	return b
}

// floatKey returns what becomes of a float that is a key.
func floatKey(json string) string {
	switch json {
	case ".nan", ".inf", "-.inf":
		return json
	}
	f, err := strconv.ParseFloat(json, 64)
	if err != nil {
		return json
	}
	switch s := strconv.FormatFloat(f, 'g', -1, 32); s {
	case "+Inf":
		return ".inf"
	case "-Inf":
		return "-.inf"
	default:
		return s
	}
}

// resolveTagged sets kind and value of a node that has a tag.
func (p *parser) resolveTagged(n *Node, pr props, sc scalar) {
	n.kind, n.str = String, sc.value
	name, ok := strings.CutPrefix(pr.tag, tagPrefix)
	if !ok {
		return // a tag that the decoder does not know: text
	}
	switch name {
	case "str":
		return
	case "binary":
		data, err := base64.StdEncoding.DecodeString(sc.value)
		if err != nil {
			p.fail(sc.start, sc.end, "the value of !!binary is not base64")
		}
		n.str = validUTF8(data)
		return
	case "timestamp":
		if !isTimestamp(sc.value) {
			p.failTag(name, sc)
		}
		return
	case "bool", "int", "float", "null":
	default:
		return
	}
	resolve(n, sc.value)
	// The scalar has only the types that its text allows.
	switch {
	case name == "bool" && n.kind == Bool:
	case name == "null" && n.kind == Null:
	case name == "int" && n.kind == Number && n.flags&float == 0:
	case name == "float" && n.kind == Number && n.flags&float != 0:
	case name == "float" && n.kind == Number:
		v, err := strconv.ParseInt(n.str, 10, 64)
		if err != nil {
			p.failTag(name, sc)
		}
		setFloat(n, float64(v))
	default:
		p.failTag(name, sc)
	}
}

func (p *parser) failTag(name string, sc scalar) {
	p.fail(sc.start, sc.end, "this value is not what its tag !!"+name+" says")
}

// validUTF8 returns bytes as a JSON string holds them: U+FFFD for each byte
// that is not UTF-8.
func validUTF8(data []byte) string {
	if utf8.Valid(data) {
		return string(data)
	}
	var b []byte
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		b = utf8.AppendRune(b, r)
		data = data[size:]
	}
	return string(b)
}

// isTimestamp reports whether s is a time in one of the notations that the
// decoder knows.
func isTimestamp(s string) bool {
	if leadingDigits(s) != 4 || len(s) == 4 || s[4] != '-' {
		return false
	}
	for _, layout := range [...]string{
		"2006-1-2T15:4:5.999999999Z07:00",
		"2006-1-2t15:4:5.999999999Z07:00",
		"2006-1-2 15:4:5.999999999",
		"2006-1-2",
	} {
		if _, err := time.Parse(layout, s); err == nil {
			return true
		}
	}
	return false
}
