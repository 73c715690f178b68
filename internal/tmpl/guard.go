package tmpl

import (
	"slices"
	"strings"

	"github.com/ingraft/ingraft/internal/source"
)

// guard is a question about a pod, the answer to which decides what a template
// does.
type guard struct {
	op    guardOp
	place *place
	term  *term
	other val      // guardEqual
	fn    *funcRef // guardCall
	args  []val
	env   string // guardEnv
	name  string // the same for equal guards
}

type guardOp uint8

const (
	guardPresent guardOp = iota // is there a node at the place, be it null?
	guardValue                  // is there one that is not null?
	guardLen                    // how many fields or items has it?
	guardFilled                 // has it any?
	guardKeys                   // which keys has it?
	guardNode                   // what is it, in full?
	guardTruth                  // is the string not empty?
	guardText                   // what is the string?
	guardEqual                  // are the strings the same?
	guardCall                   // what does a function of strings say, true or false?
	guardEnv                    // what is in a variable of the environment?
)

// outcome is an answer: a number, 1 for yes, or a string.
type outcome struct {
	n int
	s string
}

func (g *guard) key() string {
	if g.name == "" {
		parts := []string{string(rune('a' + g.op)), g.env}
		if g.place != nil {
			parts = append(parts, (&term{op: termPlace, place: g.place}).key())
		}
		if g.term != nil {
			parts = append(parts, g.term.key())
		}
		if g.op == guardEqual {
			parts = append(parts, g.other.key())
		}
		if g.fn != nil {
			parts = append(parts, g.fn.name)
		}
		for _, a := range g.args {
			parts = append(parts, a.key())
		}
		g.name = strings.Join(parts, "|")
	}
	return g.name
}

func yes(b bool) outcome {
	if b {
		return outcome{n: 1}
	}
	return outcome{}
}

// ask answers a guard for a pod; false where it has no answer.
func (c *cursor) ask(g *guard) (outcome, bool) {
	switch g.op {
	case guardPresent:
		return yes(c.at(g.place) != nil), true
	case guardValue:
		return yes(!c.at(g.place).IsNull()), true
	case guardLen:
		return outcome{n: c.at(g.place).Len()}, true
	case guardFilled:
		return yes(c.at(g.place).Len() > 0), true
	case guardKeys:
		return outcome{s: keysOf(c.at(g.place))}, true
	case guardNode:
		if n := c.at(g.place); n != nil {
			return outcome{s: string(source.AppendJSON(nil, n))}, true
		}
		return outcome{}, true
	case guardTruth:
		s, ok := c.text(g.term)
		return yes(s != ""), ok
	case guardText:
		s, ok := c.text(g.term)
		return outcome{s: s}, ok
	case guardEqual:
		s, ok1 := c.text(g.term)
		o, ok2 := c.argument(g.other)
		return yes(s == o), ok1 && ok2
	case guardCall:
		v, ok := c.apply(g.fn, g.args, nil)
		return yes(ok && v.Bool()), ok
	case guardEnv:
		return outcome{s: c.in.Env.getenv(g.env)}, true
	}
	return outcome{}, false
}

func keysOf(n *source.Node) string {
	keys := make([]string, 0, n.Len())
	for _, f := range n.Fields() {
		keys = append(keys, f.Key)
	}
	slices.Sort(keys)
	return strings.Join(keys, "\x00")
}
