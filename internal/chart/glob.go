package chart

import (
	"errors"
	"strings"
	"unicode/utf8"
)

var errPattern = errors.New("malformed pattern")

// match reports whether a path matches a pattern in the notation of .Files.Glob:
//
//   - any run of characters other than /
//     **       any run of characters
//     ?        one character other than /
//     [abc]    one of the characters; [a-z] a range; [!abc] and [!a-z] all others
//     {a,b}    one of the patterns
//     \c       the character c itself
func match(pattern, name string) (bool, error) {
	alternatives, err := expand(pattern)
	if err != nil {
		return false, err
	}
	for _, p := range alternatives {
		if ok, err := matchOne(p, name); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// maxAlternatives bounds what a pattern of many braces expands to.
const maxAlternatives = 1024

// expand resolves the braces of a pattern.
func expand(pattern string) ([]string, error) {
	open, depth, start := -1, 0, 0
	var parts []string
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '[':
			end := strings.IndexByte(pattern[i:], ']')
			if end < 0 {
				return nil, errPattern
			}
			i += end
		case c == '{':
			if depth++; depth == 1 {
				open, start = i, i+1
			}
		case c == ',' && depth == 1:
			parts = append(parts, pattern[start:i])
			start = i + 1
		case c == '}' && depth > 0:
			if depth--; depth > 0 {
				continue
			}
			var out []string
			for _, part := range append(parts, pattern[start:i]) {
				rest, err := expand(pattern[:open] + part + pattern[i+1:])
				if err != nil {
					return nil, err
				}
				if out = append(out, rest...); len(out) > maxAlternatives {
					return nil, errPattern
				}
			}
			return out, nil
		}
	}
	if depth != 0 {
		return nil, errPattern
	}
	return []string{pattern}, nil
}

// matchOne matches a pattern without braces. On a mismatch it goes back to the
// last star and gives it one character more; a plain star cannot take a slash,
// so the double star before it is the next to grow.
func matchOne(pattern, name string) (bool, error) {
	type retry struct{ pattern, name string }
	var star, double *retry
	for {
		switch {
		case strings.HasPrefix(pattern, "**"):
			pattern = strings.TrimLeft(pattern, "*")
			double, star = &retry{pattern, name}, nil
			continue
		case strings.HasPrefix(pattern, "*"):
			pattern = pattern[1:]
			star = &retry{pattern, name}
			continue
		case pattern == "" && name == "":
			return true, nil
		}
		rest, ok, err := step(pattern, name)
		if err != nil {
			return false, err
		}
		if ok {
			_, size := utf8.DecodeRuneInString(name)
			pattern, name = rest, name[size:]
			continue
		}
		switch {
		case star != nil && star.name != "" && star.name[0] != '/':
			_, size := utf8.DecodeRuneInString(star.name)
			star.name = star.name[size:]
			pattern, name = star.pattern, star.name
		case double != nil && double.name != "":
			_, size := utf8.DecodeRuneInString(double.name)
			double.name = double.name[size:]
			pattern, name, star = double.pattern, double.name, nil
		default:
			return false, nil
		}
	}
}

// step matches the first character of name against the first element of a
// pattern and returns what follows that element.
func step(pattern, name string) (rest string, ok bool, err error) {
	if pattern == "" {
		return "", false, nil
	}
	want, size := utf8.DecodeRuneInString(pattern)
	got, _ := utf8.DecodeRuneInString(name)
	rest = pattern[size:]
	switch want {
	case '?':
		return rest, name != "" && got != '/', nil
	case '[':
		end := strings.IndexByte(rest, ']')
		if end < 1 {
			return "", false, errPattern
		}
		set, negate := strings.CutPrefix(rest[:end], "!")
		return rest[end+1:], name != "" && inSet(set, got) != negate, nil
	case '\\':
		want, size = utf8.DecodeRuneInString(rest)
		if size == 0 {
			return "", false, errPattern
		}
		rest = rest[size:]
	}
	return rest, name != "" && got == want, nil
}

// inSet reports whether a set, a-z or abc, holds the character.
func inSet(set string, r rune) bool {
	chars := []rune(set)
	if len(chars) == 3 && chars[1] == '-' {
		return chars[0] <= r && r <= chars[2]
	}
	return strings.ContainsRune(set, r)
}
