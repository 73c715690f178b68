package kube

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// Checker finds the values that the Go types of k8s.io/api cannot hold.
type Checker struct {
	// Strict takes numbers and booleans where a string is wanted for errors, as
	// encoding/json and the API server do. Else they are warnings where the
	// conversion from YAML makes strings of them.
	Strict bool
	// At leads to the checked node from the object that messages speak of.
	At Path
	// Object names that object in the findings; may be empty.
	Object string
}

// Check reports what is wrong with a value of the given type when it is read
// from a manifest: an Error wherever decoding it into the Go type through
// sigs.k8s.io/yaml would fail, and a Warning where that succeeds but the API
// server will refuse the value or read another meaning. Fields that the type
// does not have are no findings, unless they differ from one that it has only
// in upper and lower case.
func Check(n *source.Node, typ Type) diag.List { return Checker{}.Check(n, typ) }

// Check is Check with the settings of c.
func (c Checker) Check(n *source.Node, typ Type) diag.List {
	w := checking{Checker: c}
	w.value(n, typ, !c.Strict)
	return w.found
}

// checking is one run of a Checker.
type checking struct {
	Checker
	found diag.List
	path  []step
}

// step is a key, or the index of an item where key is "".
type step struct {
	key   string
	index int
}

func (c *checking) in(key string, index int) { c.path = append(c.path, step{key, index}) }
func (c *checking) out()                     { c.path = c.path[:len(c.path)-1] }

// where writes the path of the value that is being looked at.
func (c *checking) where() string {
	p := append(Path(nil), c.At...)
	for _, s := range c.path {
		if s.key == "" {
			s.key = strconv.Itoa(s.index)
		}
		p = append(p, s.key)
	}
	if len(p) == 0 {
		return "the object"
	}
	return p.String()
}

func (c *checking) add(severity diag.Severity, code string, span source.Span, fix, format string, args ...any) {
	c.found = append(c.found, &diag.Diagnostic{
		Code: code, Severity: severity, Span: span, Object: c.Object,
		Message: c.where() + " " + fmt.Sprintf(format, args...), Fix: fix,
	})
}

// mismatch reports a value of another kind than wanted.
func (c *checking) mismatch(n *source.Node, want, fix string) {
	c.add(diag.Error, CodeWrongType, n.Span(), fix, "must be %s, not %s", want, spelt(n))
}

// spelt names a value in a message.
func spelt(n *source.Node) string {
	text := n.Scalar()
	if len(text) > 40 {
		text = strings.ToValidUTF8(text[:40], "") + "..."
	}
	switch n.Kind() {
	case source.Bool, source.Number:
		return "the " + n.Kind().String() + " " + text
	case source.String:
		return "the string " + strconv.Quote(text)
	}
	return n.Kind().Noun()
}

// value checks a value. loose tells that the conversion from YAML makes
// strings of numbers and booleans here.
func (c *checking) value(n *source.Node, typ Type, loose bool) {
	if n.IsNull() || typ == TypeAny {
		return
	}
	switch typ.Kind() {
	case KindStruct:
		if n.Kind() != source.Map {
			c.mismatch(n, "an object", fixShape(n))
			return
		}
		c.fields(n, typ, loose)
	case KindMap:
		if n.Kind() != source.Map {
			c.mismatch(n, "an object", fixShape(n))
			return
		}
		for _, f := range n.Fields() {
			c.in(f.Key, -1)
			c.value(f.Value, typ.Elem(), loose)
			c.out()
		}
	case KindList:
		if n.Kind() != source.List {
			fix := "write it as a list: a dash before each item"
			if n.Kind() == source.String {
				fix = fmt.Sprintf("write it as a list: [%s]", strconv.Quote(n.Str()))
			}
			c.mismatch(n, "a list", fix)
			return
		}
		for i, item := range n.Items() {
			c.in("", i)
			c.value(item, typ.Elem(), loose)
			c.out()
		}
	default:
		c.scalar(n, typ, loose)
	}
}

func fixShape(n *source.Node) string {
	if n.Kind() == source.List && n.Len() == 1 && n.Items()[0].Kind() == source.Map {
		return "write it without the dash"
	}
	return "write its fields as key: value"
}

func (c *checking) fields(n *source.Node, typ Type, loose bool) {
	for _, f := range n.Fields() {
		info := typ.Field(f.Key)
		if info == nil {
			c.unknown(f, typ)
			continue
		}
		c.in(f.Key, -1)
		// The conversion from YAML does not see the type of what stands in an
		// embedded struct.
		c.value(f.Value, info.Type, loose && info.flags&inlined == 0)
		c.out()
	}
}

// unknown reports a key that is a field but for upper and lower case. Some
// decoders take it for that field, the API server does not.
func (c *checking) unknown(f source.Field, typ Type) {
	infos := typ.Fields()
	for i := range infos {
		if strings.EqualFold(infos[i].Name, f.Key) {
			c.in(f.Key, -1)
			c.add(diag.Warning, CodeFieldCase, f.KeySpan, "write "+infos[i].Name,
				"is no field: the API server tells upper from lower case, and ignores or refuses it")
			c.out()
			return
		}
	}
}

func (c *checking) scalar(n *source.Node, typ Type, loose bool) {
	kind := n.Kind()
	switch typ {
	case TypeString:
		switch {
		case kind == source.String:
		case loose && (kind == source.Number || kind == source.Bool):
			quoted := strconv.Quote(asString(n))
			fix := "quote it: " + quoted
			if raw := string(n.Raw()); raw != asString(n) && isPlainWord(raw) {
				fix = "quote it: " + strconv.Quote(raw) + ", or if it is meant as it is read, " + quoted
			}
			c.add(diag.Warning, CodeUnquoted, n.Span(), fix,
				"must be a string, not %s: it is read as %s here, but the API server refuses it", spelt(n), quoted)
		case kind == source.Number || kind == source.Bool:
			c.mismatch(n, "a string", "quote it: "+strconv.Quote(asString(n)))
		default:
			c.mismatch(n, "a string", "")
		}
	case TypeBool:
		if kind != source.Bool {
			fix := "write true or false"
			if s := n.Str(); s == "true" || s == "false" {
				fix = "write " + s + " without quotes"
			}
			c.mismatch(n, "true or false", fix)
		}
	case TypeInt32, TypeInt64:
		bits := 32
		if typ == TypeInt64 {
			bits = 64
		}
		c.integer(n, bits)
	case TypeQuantity:
		if !isQuantity(n) {
			c.mismatch(n, "a quantity", "write a number with a unit, such as 500m, 0.5, 128Mi or 1Gi")
		}
	case TypeIntOrString:
		if kind != source.String && !isInteger(n, 32) {
			c.mismatch(n, "a whole number or a string", "")
		}
	case TypeTime:
		if _, err := time.Parse(time.RFC3339, n.Str()); err != nil || kind != source.String {
			c.mismatch(n, "a time", "write it as in 2026-01-31T12:00:00Z")
		}
	}
}

func (c *checking) integer(n *source.Node, bits int) {
	switch {
	case isInteger(n, bits):
	case n.Kind() == source.Number && isInteger(n, 64):
		c.mismatch(n, "a number of 32 bits", "write a number between -2147483648 and 2147483647")
	case n.Kind() == source.String && isInteger(source.NewNumber(n.Str()), bits):
		c.mismatch(n, "a whole number", "write "+n.Str()+" without quotes")
	default:
		c.mismatch(n, "a whole number", "write a whole number")
	}
}

func isInteger(n *source.Node, bits int) bool {
	if n.Kind() != source.Number {
		return false
	}
	_, err := strconv.ParseInt(n.Scalar(), 10, bits)
	return err == nil
}

// isQuantity judges as Quantity.UnmarshalJSON does, which looks at the JSON of
// a string between its quotes: what JSON escapes is no part of a quantity.
func isQuantity(n *source.Node) bool {
	if n.Kind() != source.String && n.Kind() != source.Number {
		return false
	}
	s := n.Scalar()
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == '\u2028' || r == '\u2029' }) {
		return false
	}
	_, err := resource.ParseQuantity(strings.TrimSpace(s))
	return err == nil
}

// isPlainWord tells the text of a scalar without quotes, anchor, alias or tag.
func isPlainWord(raw string) bool { return raw != "" && !strings.ContainsAny(raw, "\"'&*! \n") }
