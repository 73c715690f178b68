package tmpl

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/Masterminds/sprig/v3"

	"github.com/ingraft/ingraft/internal/source"
)

var sprigFunctions = sync.OnceValue(sprig.GenericFuncMap)

// forbiddenError names a function that templates may not call.
type forbiddenError struct{ name, why string }

func (e *forbiddenError) Error() string {
	return fmt.Sprintf("function %q %s", e.name, e.why)
}

// forbidden tells why a function of Sprig may not be called; "" if it may.
func forbidden(name string) string {
	switch name {
	case "randAlphaNum", "randAlpha", "randAscii", "randNumeric", "randBytes", "randInt", "shuffle", "uuidv4":
		return "is random"
	case "bcrypt", "htpasswd", "encryptAES":
		return "adds random salt"
	case "genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey",
		"genSignedCert", "genSignedCertWithKey", "derivePassword":
		return "makes keys"
	case "getHostByName":
		return "asks DNS"
	}
	return ""
}

// mutates tells Sprig's functions that change a map they are given.
func mutates(name string) bool {
	switch name {
	case "set", "unset", "merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite", "render", "call":
		return true
	}
	return false
}

// repeatable returns what stands in for the functions of Sprig and of
// text/template that read the clock, the environment or the order of a map, or
// whose result has no bound; nil for all others.
func repeatable(name string, r *run) any {
	if why := forbidden(name); why != "" {
		return func(...any) (string, error) { return "", &forbiddenError{name, why} }
	}
	switch name {
	case "append", "push":
		return r.push
	case "now":
		return func() time.Time { return r.env.Now }
	case "ago":
		return func(date any) string { return r.env.Now.Sub(r.timeOf(date)).Round(time.Second).String() }
	case "date":
		return func(layout string, date any) (string, error) { return r.date(layout, date, "Local") }
	case "date_in_zone", "dateInZone":
		return r.date
	case "htmlDate":
		return func(date any) (string, error) { return r.date("2006-01-02", date, "Local") }
	case "htmlDateInZone":
		return func(date any, zone string) (string, error) { return r.date("2006-01-02", date, zone) }
	case "durationRound":
		return func(d any) string {
			if t, ok := d.(time.Time); ok {
				d = int64(r.env.Now.Sub(t))
			}
			return sprigFunctions()[name].(func(any) string)(d)
		}
	case "toDate":
		return func(layout, text string) time.Time {
			t, _ := time.ParseInLocation(layout, text, r.env.Now.Location())
			return t
		}
	case "mustToDate":
		return func(layout, text string) (time.Time, error) {
			return time.ParseInLocation(layout, text, r.env.Now.Location())
		}
	case "expandenv":
		return func(text string) string { return expand(text, r.env.getenv) }
	case "keys":
		return sortedKeys
	case "values":
		return sortedValues
	}
	return bounded(name)
}

// bounded returns stand-ins that refuse to make huge values.
func bounded(name string) any {
	switch name {
	case "print":
		return func(args ...any) (string, error) { return within(fmt.Sprint(args...)) }
	case "printf":
		return func(format string, args ...any) (string, error) { return within(fmt.Sprintf(format, args...)) }
	case "println":
		return func(args ...any) (string, error) { return within(fmt.Sprintln(args...)) }
	case "cat":
		return func(args ...any) (string, error) {
			return within(sprigFunctions()[name].(func(...any) string)(args...))
		}
	case "join":
		return func(sep string, list any) (string, error) {
			return within(sprigFunctions()[name].(func(string, any) string)(sep, list))
		}
	case "replace":
		return func(old, new, text string) (string, error) {
			if n := strings.Count(text, old); n > 0 && len(new) > maxOutput/n {
				return "", errResult
			}
			return within(strings.ReplaceAll(text, old, new))
		}
	case "repeat":
		return func(n int, text string) (string, error) {
			if n < 0 {
				return "", fmt.Errorf("negative count %d", n)
			}
			if len(text) > 0 && n > maxOutput/len(text) {
				return "", errResult
			}
			return strings.Repeat(text, n), nil
		}
	case "nindent":
		return func(n int, text string) (string, error) {
			if n < 0 {
				return "", fmt.Errorf("negative indent %d", n)
			}
			if n > maxOutput/(strings.Count(text, "\n")+1) {
				return "", errResult
			}
			return within(sprigFunctions()[name].(func(int, string) string)(n, text))
		}
	case "until":
		return func(n int) ([]int, error) {
			if max(n, -n) > maxSteps {
				return nil, errResult
			}
			return sprigFunctions()[name].(func(int) []int)(n), nil
		}
	case "untilStep":
		return func(from, to, step int) ([]int, error) {
			if step != 0 && max(to/step-from/step, from/step-to/step) > maxSteps {
				return nil, errResult
			}
			return sprigFunctions()[name].(func(int, int, int) []int)(from, to, step), nil
		}
	case "seq":
		return func(args ...int) (string, error) {
			for _, a := range args {
				if max(a, -a) > maxSteps {
					return "", errResult
				}
			}
			return sprigFunctions()[name].(func(...int) string)(args...), nil
		}
	case "concat":
		return func(lists ...any) (any, error) {
			out := sprigFunctions()[name].(func(...any) any)(lists...)
			if l, ok := out.([]any); ok && len(l) > maxSteps {
				return nil, errResult
			}
			return out, nil
		}
	}
	return nil
}

func within(s string) (string, error) {
	if len(s) > maxOutput {
		return "", errResult
	}
	return s, nil
}

// date formats a date in a zone: a time, or seconds since 1970, or anything
// else for now.
func (r *run) date(layout string, date any, zone string) (string, error) {
	loc, err := r.zone(zone)
	if err != nil {
		return "", err
	}
	return r.timeOf(date).In(loc).Format(layout), nil
}

func (r *run) timeOf(date any) time.Time {
	switch d := date.(type) {
	case time.Time:
		return d
	case *time.Time:
		return *d
	case int64:
		return time.Unix(d, 0)
	case int:
		return time.Unix(int64(d), 0)
	case int32:
		return time.Unix(int64(d), 0)
	}
	return r.env.Now
}

func (r *run) zone(name string) (*time.Location, error) {
	switch {
	case name == "Local":
		return r.env.Now.Location(), nil
	case name == "" || name == "UTC":
		return time.UTC, nil
	case r.env.Zone == nil:
		return nil, fmt.Errorf("time zone %q is not known: only UTC and Local are", name)
	}
	loc, err := r.env.Zone(name)
	if err != nil {
		return time.UTC, nil // as Sprig does
	}
	return loc, nil
}

func sortedKeys(ms ...map[string]any) []string {
	keys := []string{}
	for _, m := range ms {
		start := len(keys)
		for k := range m {
			keys = append(keys, k)
		}
		slices.Sort(keys[start:])
	}
	return keys
}

func sortedValues(m map[string]any) []any {
	values := []any{}
	for _, k := range sortedKeys(m) {
		values = append(values, m[k])
	}
	return values
}

// expand replaces $name and ${name} in a text, as os.Expand does, which this
// package may not import.
func expand(text string, getenv func(string) string) string {
	var out strings.Builder
	for {
		i := strings.IndexByte(text, '$')
		if i < 0 || i+1 == len(text) {
			out.WriteString(text)
			return out.String()
		}
		out.WriteString(text[:i])
		name, length := variableName(text[i+1:])
		switch {
		case name != "":
			out.WriteString(getenv(name))
		case length == 0:
			out.WriteByte('$') // not a name: the dollar stays
		}
		text = text[i+1+length:]
	}
}

// variableName returns the name after a dollar sign and how many bytes spell
// it; bytes without a name are bad syntax, which is dropped.
func variableName(s string) (name string, length int) {
	if s[0] == '{' {
		end := strings.IndexByte(s, '}')
		switch {
		case end < 0:
			return "", 1
		case end == 1:
			return "", 2
		}
		return s[1:end], end + 1
	}
	if isSpecial(s[0]) {
		return s[:1], 1
	}
	for length < len(s) && isNameByte(s[length]) {
		length++
	}
	return s[:length], length
}

func isSpecial(c byte) bool { return strings.IndexByte("*#$@!?-0123456789", c) >= 0 }

func isNameByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func textOf(name, text string) *source.Text { return source.NewText(name, []byte(text)) }

// clone copies what functions of a template can change: the values.
func (d *Data) clone() *Data {
	c := *d
	c.Values, _ = cloneValue(d.Values).(map[string]any)
	return &c
}

func cloneValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return v
		}
		c := make(map[string]any, len(v))
		for k, e := range v {
			c[k] = cloneValue(e)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, e := range v {
			c[i] = cloneValue(e)
		}
		return c
	}
	return v
}
