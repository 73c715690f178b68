package source

import "unicode/utf8"

// AppendJSON appends the value as compact JSON, the keys of each Map in the
// order of its fields. Strings are escaped as by encoding/json, which also
// escapes <, > and & so that the text can stand in HTML.
func AppendJSON(dst []byte, n *Node) []byte {
	if n == nil {
		return append(dst, "null"...)
	}
	switch n.kind {
	case Bool, Number:
		return append(dst, n.str...)
	case String:
		return appendJSONString(dst, n.str)
	case List:
		dst = append(dst, '[')
		for i, item := range n.Items() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendJSON(dst, item)
		}
		return append(dst, ']')
	case Map:
		dst = append(dst, '{')
		for i := range n.Fields() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSONString(dst, n.Fields()[i].Key)
			dst = append(dst, ':')
			dst = AppendJSON(dst, n.Fields()[i].Value)
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}

// jsonPlain marks the bytes that stand for themselves in a JSON string.
var jsonPlain = func() (plain [256]bool) {
	for c := ' '; c < 0x80; c++ {
		plain[c] = c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
	}
	return plain
}()

func appendJSONString(dst []byte, s string) []byte { return appendJSONText(dst, s, true) }

// appendJSONText appends a string; html tells whether to escape for HTML, as
// encoding/json does. If not, control characters are escaped that JSON allows
// and YAML does not.
func appendJSONText(dst []byte, s string, html bool) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if jsonPlain[c] && (html || c != 0x7f) || !html && (c == '<' || c == '>' || c == '&') {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && size == 1:
				dst = append(append(dst, s[from:i]...), `\ufffd`...)
			case r == 0x2028 || r == 0x2029:
				dst = append(append(dst, s[from:i]...), `\u202`...)
				dst = append(dst, digits[r&15])
			case !html && (r < 0xa0 || r == 0xfeff || r == 0xfffe || r == 0xffff):
				dst = append(append(dst, s[from:i]...), '\\', 'u', digits[r>>12], digits[r>>8&15], digits[r>>4&15], digits[r&15])
			default:
				i += size
				continue
			}
			i += size
			from = i
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
		i++
		from = i
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}
