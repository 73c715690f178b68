package kube

import (
	"strconv"
	"strings"

	"github.com/ingraft/ingraft/internal/source"
)

// Normalize returns a value as its Go type holds it once it is read from a
// manifest, as far as that matters for what is made of it: fields that are
// null are not there; null in a map or a list is the zero value; numbers and
// booleans are strings where the type is a string. What is zero or empty stays
// as it is, and so do fields that the type does not have.
//
// The result is n itself where nothing changes, and shares with it all that
// does not change. What Check calls an error is left as it is.
func Normalize(n *source.Node, typ Type) *source.Node {
	switch n.Kind() {
	case source.Map:
		switch typ.Kind() {
		case KindStruct:
			return normalizeStruct(n, typ)
		case KindMap:
			return normalizeMap(n, typ.Elem())
		}
	case source.List:
		if typ.Kind() == KindList {
			return normalizeList(n, typ.Elem())
		}
	case source.Bool, source.Number:
		if typ == TypeString {
			return source.NewString(asString(n))
		}
	}
	return n
}

// Sparse returns a value without the fields that encoding/json leaves out of
// its Go type: those that are zero or empty, unless the type tells zero from
// absent or writes it anyway. Laid over something else, they say nothing.
//
// Like Normalize it shares with n all that does not change.
func Sparse(n *source.Node, typ Type) *source.Node {
	switch {
	case n.Kind() == source.Map && typ.Kind() == KindStruct:
		e := edit{base: n, fields: n.Fields()}
		at := 0 // where the field is in what is left
		for _, f := range n.Fields() {
			info := typ.Field(f.Key)
			if info != nil {
				if _, seen := info.seen(f.Value); !seen {
					e.remove(at)
					continue
				}
				f.Value = Sparse(f.Value, info.Type)
				e.set(at, f)
			}
			at++
		}
		return e.node()
	case n.Kind() == source.List && typ.Kind() == KindList:
		items, changed := make([]*source.Node, n.Len()), false
		for i, item := range n.Items() {
			items[i] = Sparse(item, typ.Elem())
			changed = changed || items[i] != item
		}
		if changed {
			return n.WithItems(items...)
		}
	}
	return n
}

func normalizeStruct(n *source.Node, typ Type) *source.Node {
	e := edit{base: n, fields: n.Fields()}
	at := 0 // where the field is in what is left
	for _, f := range n.Fields() {
		info := typ.Field(f.Key)
		switch {
		case info == nil:
			at++
		case f.Value.IsNull():
			e.remove(at)
		default:
			f.Value = Normalize(f.Value, info.Type)
			e.set(at, f)
			at++
		}
	}
	return e.node()
}

func normalizeMap(n *source.Node, elem Type) *source.Node {
	e := edit{base: n, fields: n.Fields()}
	for i, f := range n.Fields() {
		f.Value = normalizeItem(f.Value, elem)
		e.set(i, f)
	}
	return e.node()
}

func normalizeList(n *source.Node, elem Type) *source.Node {
	var items []*source.Node
	for i, item := range n.Items() {
		c := normalizeItem(item, elem)
		if c != item && items == nil {
			items = append(make([]*source.Node, 0, n.Len()), n.Items()...)
		}
		if items != nil {
			items[i] = c
		}
	}
	if items == nil {
		return n
	}
	return n.WithItems(items...)
}

func normalizeItem(n *source.Node, elem Type) *source.Node {
	if n.IsNull() {
		if zero := zeroOf(elem); zero != nil {
			return zero
		}
	}
	return Normalize(n, elem)
}

// asString returns the text that the conversion from YAML (sigs.k8s.io/yaml)
// makes of a number or boolean where the Go type is a string. Whole numbers
// keep their digits; a float is printed anew, in single precision.
func asString(n *source.Node) string {
	if n.Kind() == source.Number && isFloat(n) {
		if f, err := strconv.ParseFloat(n.Scalar(), 64); err == nil {
			return strconv.FormatFloat(f, 'g', -1, 32)
		}
	}
	return n.Scalar()
}

// isFloat tells a number that YAML reads as floating point. 1e6, 1.0 and 0800
// (no octal) are, although their JSON is that of a whole number; an alias does
// not show what its anchor is.
func isFloat(n *source.Node) bool {
	s := n.Scalar()
	if strings.ContainsAny(s, ".eE") {
		return true
	}
	if _, err := strconv.ParseInt(s, 10, 64); err != nil {
		if _, err := strconv.ParseUint(s, 10, 64); err != nil {
			return true
		}
	}
	raw := string(n.Raw())
	raw = strings.TrimLeft(raw[strings.LastIndexAny(raw, " \t\n")+1:], "+-") // without anchor and tag
	switch {
	case raw == "" || raw[0] != '.' && (raw[0] < '0' || raw[0] > '9'):
		return false
	case strings.HasPrefix(raw, "0x") || strings.HasPrefix(raw, "0o") || strings.HasPrefix(raw, "0b"):
		return false
	}
	return strings.ContainsAny(raw, ".eE") || raw[0] == '0' && strings.ContainsAny(raw, "89")
}
