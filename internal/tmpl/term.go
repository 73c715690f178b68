package tmpl

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/ingraft/ingraft/internal/source"
)

// term says how a value comes from the pod, so that it can be had again from
// another pod without running the template.
type term struct {
	op    termOp
	place *place       // termPlace, termJSON
	typ   reflect.Type // of the value: termPlace, termJSON
	input input        // termInput
	fn    *funcRef     // termCall: of strings and parts of the pod, giving a string
	args  []val        // termCall; the items of a termList; the parts of a termConcat
	needs []*need      // termCall: what is read of each argument
	name  string       // the same for equal terms; see key
	path  Read         // termRecorded: where the value is; nil if it was made
	reads []Read       // termRecorded: what else it depends on
}

type termOp uint8

const (
	termRoot     termOp = iota
	termType            // .TypeMeta
	termOwner           // .DeploymentMeta
	termInput           // a string that comes with the pod
	termPlace           // a node of the pod
	termJSON            // structToJSON of a node of the pod
	termCall            // a function
	termConcat          // strings one after the other
	termList            // a list made by the template
	termRecorded        // see record.go
)

// input numbers the strings that come with a pod.
type input uint8

const (
	inputKind input = iota
	inputAPIVersion
	inputOwnerName
	inputOwnerNamespace
	inputNamespace
)

var rootTerm = &term{op: termRoot}

// place is a node of the pod, by its path.
type place struct {
	id     int
	parent *place // nil for the pod itself
	key    string
	index  int // of an item, where key is ""
}

// key returns a string that is the same for equal terms only.
func (t *term) key() string {
	if t.name == "" {
		var b strings.Builder
		b.WriteString(strconv.Itoa(int(t.op)))
		switch t.op {
		case termInput:
			b.WriteString(":" + strconv.Itoa(int(t.input)))
		case termPlace, termJSON:
			b.WriteString(":" + strconv.Itoa(t.place.id))
		default:
			if t.fn != nil {
				b.WriteString(":" + t.fn.name)
			}
			b.WriteByte('(')
			for _, a := range t.args {
				b.WriteString(a.key() + ",")
			}
			b.WriteByte(')')
		}
		t.name = b.String()
	}
	return t.name
}

func (v val) key() string {
	if v.t != nil {
		return v.t.key()
	}
	return fmt.Sprintf("%q", fmt.Sprintf("%T %#v", anyOf(v.v), anyOf(v.v)))
}

// isText tells the terms whose value is a string.
func (t *term) isText() bool {
	switch t.op {
	case termInput, termJSON, termCall, termConcat:
		return true
	}
	return t.op == termPlace && t.typ == stringType
}

// cursor looks at one pod.
type cursor struct {
	in     *Input
	nodes  []*source.Node // by place, where known
	known  []uint32       // the round in which a node was looked up
	round  uint32
	texts  []string // of the expressions of a plan
	buffer []byte
}

func (c *cursor) reset(in *Input) {
	c.in = in
	c.round++
	if c.round == 0 { // after four billion rounds, what is known might be taken for new
		clear(c.known)
		c.round = 1
	}
}

// release gives a cursor back, without what it holds of the pod.
func (c *cursor) release() {
	c.in = nil
	clear(c.nodes)
	clear(c.texts)
	cursors.Put(c)
}

// at returns the node at a place, nil where there is none.
func (c *cursor) at(p *place) *source.Node {
	if p.parent == nil {
		return c.in.Pod
	}
	if p.id < len(c.known) && c.known[p.id] == c.round {
		return c.nodes[p.id]
	}
	n := c.at(p.parent)
	if p.key != "" {
		f, _ := n.Field(p.key)
		n = f.Value
	} else if items := n.Items(); p.index < len(items) {
		n = items[p.index]
	} else {
		n = nil
	}
	for p.id >= len(c.known) {
		c.known = append(c.known, 0)
		c.nodes = append(c.nodes, nil)
	}
	c.known[p.id], c.nodes[p.id] = c.round, n
	return n
}

// text returns the value of a term that is a string. It reports false where
// the pod is not what the term expects.
func (c *cursor) text(t *term) (string, bool) {
	switch t.op {
	case termInput:
		return c.input(t.input), true
	case termPlace:
		n := c.at(t.place)
		return n.Str(), t.typ == stringType && (n.IsNull() || n.Kind() == source.String)
	case termJSON:
		out, ok := appendTyped(c.buffer[:0], t.typ, c.at(t.place))
		c.buffer = out
		return string(out), ok
	case termConcat:
		var b []byte
		for _, a := range t.args {
			s, ok := c.argument(a)
			if !ok {
				return "", false
			}
			b = append(b, s...)
		}
		return string(b), true
	case termCall:
		return c.call(t)
	}
	return "", false
}

func (c *cursor) input(i input) string {
	d := c.in.Data
	switch i {
	case inputKind:
		return d.TypeMeta.Kind
	case inputAPIVersion:
		return d.TypeMeta.APIVersion
	case inputOwnerName:
		return d.DeploymentMeta.Name
	case inputOwnerNamespace:
		return d.DeploymentMeta.Namespace
	}
	if ns := c.in.Pod.Get("metadata", "namespace").Str(); ns != "" {
		return ns
	}
	return c.in.Namespace
}

func (c *cursor) argument(v val) (string, bool) {
	if v.t == nil {
		return v.v.String(), true
	}
	return c.text(v.t)
}

// call calls a function of strings.
func (c *cursor) call(t *term) (s string, ok bool) {
	switch f := t.fn.fn.(type) {
	case func(string) string:
		if a, ok := c.argument(t.args[0]); ok {
			return f(a), true
		}
		return "", false
	case func(string, string) string:
		a, ok1 := c.argument(t.args[0])
		b, ok2 := c.argument(t.args[1])
		if !ok1 || !ok2 {
			return "", false
		}
		return f(a, b), true
	case func(int, string) string:
		if b, ok := c.argument(t.args[1]); ok && t.args[0].t == nil {
			return f(int(t.args[0].v.Int()), b), true
		}
		return "", false
	}
	v, ok := c.apply(t.fn, t.args, t.needs)
	if !ok || v.Kind() != reflect.String {
		return "", false
	}
	return v.String(), true
}

// apply calls a function whose arguments are constants, strings, and parts of
// the pod of which needs are read.
func (c *cursor) apply(fn *funcRef, args []val, needs []*need) (v reflect.Value, ok bool) {
	defer func() {
		if recover() != nil { // it gives up, or panics as text/template lets functions do
			v, ok = reflect.Value{}, false
		}
	}()
	in := make([]val, len(args))
	for i, a := range args {
		switch {
		case a.t == nil:
			in[i] = a
		case a.t.isText():
			s, ok := c.text(a.t)
			if !ok {
				return v, false
			}
			in[i].v = reflect.ValueOf(s)
		default:
			in[i].v = reflect.New(a.t.typ).Elem()
			if decode(in[i].v, c.at(a.t.place), needs[i]) != nil {
				return v, false
			}
		}
	}
	fixed := fn.value.Type().NumIn()
	if fn.value.Type().IsVariadic() {
		fixed--
	}
	return invoke(fn, in, fixed), true
}
