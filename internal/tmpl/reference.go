package tmpl

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
)

// reference is a template as text/template has it.
type reference struct {
	template *Template
	trees    map[string]*parse.Tree
	funcs    []string // the functions named, builtin ones included
	// mutates tells that the template calls functions that change their
	// arguments: it gets copies of shared data.
	mutates bool

	idle sync.Pool // of *instance
}

func (t *Template) parseReference() (*reference, *diag.Diagnostic) {
	trees, err := parseTrees(string(t.text.Data), t.dialect)
	if err != nil {
		if d := t.notEnded(err); d != nil {
			return nil, d
		}
		span, message := t.syntaxError(err)
		return nil, t.diagnose(CodeSyntax, span, message, "")
	}
	r := &reference{template: t, trees: trees}
	if d := r.checkFunctions(); d != nil {
		return nil, d
	}
	r.guard()
	return r, nil
}

// parseTrees parses without a function map: making one for all of Sprig costs
// more than the template's own functions, which are checked afterwards.
func parseTrees(text string, dialect *Dialect) (trees map[string]*parse.Tree, err error) {
	defer func() {
		if r := recover(); r != nil {
			trees, err = nil, fmt.Errorf("template: %s:1: parser failed: %v", engineName, r)
		}
	}()
	trees = map[string]*parse.Tree{}
	tree := parse.New(engineName)
	tree.Mode = parse.SkipFuncCheck
	_, err = tree.Parse(text, dialect.left, dialect.right, trees)
	return trees, err
}

// notEnded finds the word that should have ended a statement in a template whose
// text ends too early: where there is no such function, the mesh's injector
// stops there, and the parser here at the very end. It returns nil for none.
func (t *Template) notEnded(err error) *diag.Diagnostic {
	if !strings.HasSuffix(err.Error(), "unexpected EOF") {
		return nil
	}
	for _, u := range release.Uses(t.text, t.dialect.left, t.dialect.right) {
		if u.Kind == release.Function && !t.dialect.has(u.Name) {
			return t.dialect.NoFunction(t.name, u.At)
		}
	}
	return nil
}

// syntaxError splits an error of the parser, "template: inject:LINE: message",
// into the line's span and the message.
func (t *Template) syntaxError(err error) (source.Span, string) {
	message := strings.TrimPrefix(err.Error(), "template: "+engineName+":")
	line, rest, _ := strings.Cut(message, ": ")
	n, convErr := strconv.Atoi(line)
	if convErr != nil {
		return source.Span{Text: t.text}, strings.TrimPrefix(err.Error(), "template: ")
	}
	if what, started, ok := strings.Cut(rest, " started at "+engineName+":"); ok { // something that does not end
		if n, err := strconv.Atoi(started); err == nil {
			return t.lineSpan(n), what
		}
	}
	return t.lineSpan(n), rest
}

// lineSpan returns the bytes of a line (from 1), without the blanks around.
func (t *Template) lineSpan(n int) source.Span {
	data, start := t.text.Data, 0
	for ; n > 1; n-- {
		i := bytes.IndexByte(data[start:], '\n')
		if i < 0 {
			break
		}
		start += i + 1
	}
	line, _ := t.text.LineAt(start)
	trimmed := strings.TrimLeft(string(line), " \t")
	start += len(line) - len(trimmed)
	return source.Span{Text: t.text, Start: start, End: start + len(strings.TrimRight(trimmed, " \t"))}
}

// knownReleases is the span of releases that templates may be of.
const knownReleases = "0.8 to 1.31"

const newerRelease = "the template was probably written for a newer release: ingraft knows the functions and fields of " + knownReleases + "; take the injection configuration of such a release"

// checkFunctions collects the functions that the trees name and reports the
// first one, in the order of the text, that does not exist or is forbidden.
func (r *reference) checkFunctions() *diag.Diagnostic {
	t := r.template
	seen := map[string]bool{}
	var bad *parse.IdentifierNode
	for _, tree := range r.trees {
		walk(tree.Root, func(n parse.Node) {
			id, ok := n.(*parse.IdentifierNode)
			if !ok {
				return
			}
			usable, known := seen[id.Ident]
			if !known {
				usable = t.dialect.has(id.Ident)
				seen[id.Ident] = usable
			}
			if !usable && (bad == nil || id.Pos < bad.Pos) {
				bad = id
			}
		})
	}
	if bad != nil {
		span := source.Span{Text: t.text, Start: int(bad.Pos), End: int(bad.Pos) + len(bad.Ident)}
		return t.dialect.NoFunction(t.name, span)
	}
	for name := range seen {
		r.funcs = append(r.funcs, name)
		r.mutates = r.mutates || mutates(name)
	}
	return nil
}

// NoFunction says of a function that the dialect does not have it, at the place
// where a template names it.
func (d *Dialect) NoFunction(template string, at source.Span) *diag.Diagnostic {
	t := &Template{name: template, text: at.Text}
	name := string(at.Text.Data[at.Start:at.End])
	return t.diagnose(CodeUnknown, at, fmt.Sprintf("function %q is not defined", name), d.fixFor(name))
}

// instance is a text/template with its functions bound to one run at a time.
type instance struct {
	exec *template.Template
	run  run
}

// instance returns an idle instance or a new one; the parse trees are shared.
func (r *reference) instance() *instance {
	if in, ok := r.idle.Get().(*instance); ok {
		return in
	}
	in := &instance{}
	in.run.template = r.template
	funcs := template.FuncMap{}
	for _, name := range r.funcs {
		if fn := r.template.dialect.function(name, &in.run); fn != nil {
			funcs[name] = fn
		}
	}
	funcs[stepFunc], funcs[enterFunc], funcs[leaveFunc] = in.run.step, in.run.enter, in.run.leave
	in.exec = template.New(engineName).Funcs(funcs)
	for name, tree := range r.trees {
		// The only error there is: the tree's name is that of another set.
		template.Must(in.exec.AddParseTree(name, tree))
	}
	return in
}

// Names of the functions that guard puts into the trees. No template can name
// them: checkFunctions comes before guard.
const (
	stepFunc  = "_step"
	enterFunc = "_enter"
	leaveFunc = "_leave"
)

// guard makes every loop and every recursion count its rounds, so that no
// template runs forever. A loop whose body begins with text counts by the
// write of that text.
func (r *reference) guard() {
	for _, tree := range r.trees {
		walk(tree.Root, func(n parse.Node) {
			loop, ok := n.(*parse.RangeNode)
			if !ok || len(loop.List.Nodes) > 0 && loop.List.Nodes[0].Type() == parse.NodeText {
				return
			}
			loop.List.Nodes = append([]parse.Node{r.hook(stepFunc, loop.Pos, tree)}, loop.List.Nodes...)
		})
	}
	for name, tree := range r.trees {
		if tree.Root != nil && r.reaches(name, name, map[string]bool{}) {
			nodes := append([]parse.Node{r.hook(enterFunc, tree.Root.Pos, tree)}, tree.Root.Nodes...)
			tree.Root.Nodes = append(nodes, r.hook(leaveFunc, tree.Root.Pos, tree))
		}
	}
}

func (r *reference) hook(name string, pos parse.Pos, tree *parse.Tree) parse.Node {
	id := parse.NewIdentifier(name).SetPos(pos).SetTree(tree)
	return &parse.ActionNode{NodeType: parse.NodeAction, Pos: pos, Pipe: &parse.PipeNode{
		NodeType: parse.NodePipe, Pos: pos,
		Cmds: []*parse.CommandNode{{NodeType: parse.NodeCommand, Pos: pos, Args: []parse.Node{id}}},
	}}
}

// reaches reports whether the template from invokes the template to, directly
// or through others.
func (r *reference) reaches(from, to string, seen map[string]bool) bool {
	tree := r.trees[from]
	if tree == nil || seen[from] {
		return false
	}
	seen[from] = true
	found := false
	walk(tree.Root, func(n parse.Node) {
		if call, ok := n.(*parse.TemplateNode); ok && !found {
			found = call.Name == to || r.reaches(call.Name, to, seen)
		}
	})
	return found
}

// walk calls f for a node and every node below it, in the order of the text.
func walk(n parse.Node, f func(parse.Node)) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return
		}
		f(n)
		for _, c := range n.Nodes {
			walk(c, f)
		}
	case *parse.ActionNode:
		f(n)
		walk(n.Pipe, f)
	case *parse.IfNode:
		f(n)
		walkBranch(&n.BranchNode, f)
	case *parse.WithNode:
		f(n)
		walkBranch(&n.BranchNode, f)
	case *parse.RangeNode:
		f(n)
		walkBranch(&n.BranchNode, f)
	case *parse.TemplateNode:
		f(n)
		walk(n.Pipe, f)
	case *parse.PipeNode:
		if n == nil {
			return
		}
		f(n)
		for _, d := range n.Decl {
			f(d)
		}
		for _, c := range n.Cmds {
			f(c)
			for _, a := range c.Args {
				walk(a, f)
			}
		}
	case *parse.ChainNode:
		f(n)
		walk(n.Node, f)
	default:
		f(n)
	}
}

func walkBranch(b *parse.BranchNode, f func(parse.Node)) {
	walk(b.Pipe, f)
	walk(b.List, f)
	walk(b.ElseList, f)
}
