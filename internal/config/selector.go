package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// Selector is a Kubernetes label selector of neverInjectSelector or
// alwaysInjectSelector.
type Selector struct {
	// Node is the selector as it was written; null is the empty selector.
	Node         *source.Node
	requirements []requirement
}

// requirement is one condition of a selector on one label.
type requirement struct {
	key, operator string
	values        []string
	at            *source.Node
}

// The operators of matchExpressions; matchLabels is In with one value.
const (
	opIn           = "In"
	opNotIn        = "NotIn"
	opExists       = "Exists"
	opDoesNotExist = "DoesNotExist"
)

// Empty reports whether the selector has no condition. Kubernetes lets such a
// selector match everything; to the injector it matches nothing.
func (s Selector) Empty() bool { return len(s.requirements) == 0 }

// Matches reports whether all conditions hold for the labels of a pod, a Map.
// The error says why the selector is none that Kubernetes accepts; the
// injector passes over such a selector. An empty selector matches nothing.
func (s Selector) Matches(labels *source.Node) (bool, error) {
	for _, r := range s.requirements {
		if err := r.check(); err != nil {
			return false, err
		}
	}
	for _, r := range s.requirements {
		value, has := labels.Field(r.key)
		in := has && slices.Contains(r.values, value.Value.Str())
		holds := false
		switch r.operator {
		case opIn:
			holds = in
		case opNotIn:
			holds = !in
		case opExists:
			holds = has
		case opDoesNotExist:
			holds = !has
		}
		if !holds {
			return false, nil
		}
	}
	return !s.Empty(), nil
}

// check applies the rules of Kubernetes to one condition.
func (r requirement) check() error {
	switch r.operator {
	case opIn, opNotIn:
		if len(r.values) == 0 {
			return fmt.Errorf("label selector: operator %s of key %q needs values", r.operator, r.key)
		}
	case opExists, opDoesNotExist:
		if len(r.values) > 0 {
			return fmt.Errorf("label selector: operator %s of key %q takes no values", r.operator, r.key)
		}
	default:
		return fmt.Errorf("label selector: %q is none of the operators In, NotIn, Exists and DoesNotExist", r.operator)
	}
	if !isLabelKey(r.key) {
		return fmt.Errorf("label selector: %q is not a label key", r.key)
	}
	for _, v := range r.values {
		if v != "" && !isQualifiedName(v) {
			return fmt.Errorf("label selector: %q is not a label value", v)
		}
	}
	return nil
}

// selectors reads an array of label selectors.
func (r *injectionReader) selectors(n *source.Node) []Selector {
	var list []Selector
	for i, item := range r.array(n) {
		r.path = append(r.path, "["+strconv.Itoa(i)+"]")
		s := Selector{Node: item}
		for _, f := range r.object(item) {
			r.path = append(r.path, f.Key)
			switch {
			case strings.EqualFold(f.Key, "matchLabels"):
				for _, l := range r.object(f.Value) {
					r.path = append(r.path, l.Key)
					s.requirements = append(s.requirements, requirement{l.Key, opIn, []string{r.text(l.Value)}, l.Value})
					r.path = r.path[:len(r.path)-1]
				}
			case strings.EqualFold(f.Key, "matchExpressions"):
				for j, e := range r.array(f.Value) {
					r.path = append(r.path, "["+strconv.Itoa(j)+"]")
					s.requirements = append(s.requirements, r.requirement(e))
					r.path = r.path[:len(r.path)-1]
				}
			}
			r.path = r.path[:len(r.path)-1]
		}
		r.path = r.path[:len(r.path)-1]
		for _, q := range s.requirements {
			if err := q.check(); err != nil && !r.diags.HasErrors() {
				r.add(finding(diag.Warning, CodeSelector, q.at.Span(), "%v; the injector passes over this selector", err))
				break
			}
		}
		list = append(list, s)
	}
	return list
}

func (r *injectionReader) requirement(n *source.Node) requirement {
	q := requirement{at: n}
	for _, f := range r.object(n) {
		r.path = append(r.path, f.Key)
		switch {
		case strings.EqualFold(f.Key, "key"):
			q.key = r.text(f.Value)
		case strings.EqualFold(f.Key, "operator"):
			q.operator = r.text(f.Value)
		case strings.EqualFold(f.Key, "values"):
			q.values = r.texts(f.Value)
		}
		r.path = r.path[:len(r.path)-1]
	}
	return q
}

// isLabelKey reports whether key is a label key: a qualified name, which a DNS
// subdomain and a slash may precede.
func isLabelKey(key string) bool {
	prefix, name, slash := strings.Cut(key, "/")
	if !slash {
		return isQualifiedName(key)
	}
	return isQualifiedName(name) && isSubdomain(prefix)
}

// isQualifiedName reports whether s has 1 to 63 letters, digits, '-', '_' and
// '.', a letter or digit at both ends.
func isQualifiedName(s string) bool {
	return len(s) <= 63 && isAlnumBounded(s, func(c byte) bool { return c == '-' || c == '_' || c == '.' || isUpper(c) })
}

// isSubdomain reports whether s is a DNS subdomain (RFC 1123).
func isSubdomain(s string) bool {
	if len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if !isAlnumBounded(label, func(c byte) bool { return c == '-' }) {
			return false
		}
	}
	return true
}

// isAlnumBounded reports whether s is not empty and holds lower case letters,
// digits and what inner admits, the latter at the ends only where it is a letter.
func isAlnumBounded(s string, inner func(byte) bool) bool {
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			continue
		}
		if !inner(c) || (i == 0 || i == len(s)-1) && !isUpper(c) {
			return false
		}
	}
	return s != ""
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
