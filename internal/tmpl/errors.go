package tmpl

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"text/template/parse"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

const valuesFix = "the pod is not at fault: set it there, or give the values that belong to this injection configuration, with --valuesFile"

// renderError makes a diagnostic of an error of text/template.
func (r *reference) renderError(err error, data *Data, env Env) *diag.Diagnostic {
	t := r.template
	node, pos, message := r.locate(err)
	span := t.spanOf(node, pos)
	var forbidden *forbiddenError
	var limit limitError
	switch {
	case errors.As(err, &forbidden):
		return t.diagnose(CodeForbidden, span, forbidden.Error(), "templates must render the same every time: take the value from .Values or from an annotation of the pod")
	case errors.As(err, &limit):
		return t.diagnose(CodeLimit, span, limit.Error(), "")
	}
	if missing := t.missingValues(pos, data, env, r); len(missing) > 0 {
		return t.diagnose(CodeValues, span, message+"; "+env.notSet(missing), valuesFix)
	}
	if field, ok := strings.CutPrefix(message, "can't evaluate field "); ok {
		field, typ, _ := strings.Cut(field, " in type ")
		fix := newerRelease
		if field == "EstimatedConcurrency" {
			fix = "the template was written for release 1.10 to 1.17: later injectors have no such field"
		}
		of := describeType(typ)
		if near := t.nearField(field, of); near != "" {
			fix = "did you mean " + near + "?"
		}
		return t.diagnose(CodeUnknown, span, fmt.Sprintf("there is no field %s in %s", field, of), fix)
	}
	if inputs := r.inputs(pos, data); inputs != "" {
		message += "; here " + inputs
	}
	return t.diagnose(CodeRender, span, message, "")
}

// nearField returns the name of the field that was probably meant by one that
// a value of a type does not have; "" for none.
func (t *Template) nearField(field, of string) string {
	s := t.dialect.Survey(t.text)
	if s == nil {
		return ""
	}
	for _, f := range s.Fields {
		if f.Name == field && f.Of == of {
			return f.Near
		}
	}
	return ""
}

// locate splits an error of text/template, `template: inject:LINE:COL:
// executing "NAME" at <NODE>: MESSAGE`, into the node, its offset in the text
// and the message. The column counts bytes from 0.
func (r *reference) locate(err error) (node parse.Node, pos int, message string) {
	full := err.Error()
	rest, ok := strings.CutPrefix(full, "template: "+engineName+":")
	if !ok {
		return nil, -1, strings.TrimPrefix(full, "template: ")
	}
	line, rest, _ := strings.Cut(rest, ":")
	col, rest, _ := strings.Cut(rest, ":")
	l, err1 := strconv.Atoi(line)
	c, err2 := strconv.Atoi(col)
	if err1 != nil || err2 != nil {
		return nil, -1, strings.TrimPrefix(full, "template: ")
	}
	pos = c
	for ; l > 1; l-- {
		i := bytes.IndexByte(r.template.text.Data[pos-c:], '\n')
		if i < 0 {
			break
		}
		pos += i + 1
	}
	rest = strings.TrimPrefix(rest, " executing ")
	if quoted, err := strconv.QuotedPrefix(rest); err == nil {
		rest = rest[len(quoted):]
	}
	rest = strings.TrimPrefix(rest, " at <")
	for _, n := range r.nodesAt(pos) {
		if m, ok := strings.CutPrefix(rest, n.String()+">: "); ok {
			return n, pos, m
		}
	}
	_, message, _ = strings.Cut(rest, ">: ")
	return nil, pos, message
}

// nodesAt returns the nodes that have a position.
func (r *reference) nodesAt(pos int) []parse.Node {
	var nodes []parse.Node
	for _, tree := range r.trees {
		walk(tree.Root, func(n parse.Node) {
			if int(n.Position()) == pos {
				nodes = append(nodes, n)
			}
		})
	}
	return nodes
}

// spanOf returns the bytes of a node that is reported at pos. The parser keeps
// no ends, and gives chains of fields the position of their second field.
func (t *Template) spanOf(n parse.Node, pos int) source.Span {
	if pos < 0 || pos > len(t.text.Data) {
		return source.Span{Text: t.text}
	}
	data := string(t.text.Data)
	if n != nil {
		s := n.String()
		for start := pos; start >= 0 && start >= pos-len(s); start-- {
			if strings.HasPrefix(data[start:], s) {
				return source.Span{Text: t.text, Start: start, End: start + len(s)}
			}
		}
	}
	end := pos + strings.IndexFunc(data[pos:]+"\n", func(r rune) bool { return strings.ContainsRune(" \t\r\n|)}", r) })
	return source.Span{Text: t.text, Start: pos, End: max(end, min(pos+1, len(data)))}
}

// notSet says that values are missing.
func (e *Env) notSet(paths []string) string {
	s := "values: " + strings.Join(paths, " and ") + " is not set"
	if e.ValuesName != "" {
		s += " in " + e.ValuesName
	}
	return s
}

// lacking returns the reads of .Values that find nothing.
func lacking(reads []Read, data *Data) []string {
	var paths []string
	for _, r := range reads {
		if len(r) > 1 && r[0] == "Values" && !hasValue(data.Values, r[1:]) {
			paths = append(paths, strings.Join(r[1:], "."))
		}
	}
	return paths
}

// missingValues names the paths of .Values that what failed at pos read and the
// values do not have.
func (t *Template) missingValues(pos int, data *Data, env Env, ref *reference) []string {
	missing := ref.namedValues(pos, data)
	again := *t
	again.program = parseProgram(string(t.text.Data), t.dialect)
	var rec Recorder
	if _, ok := rec.render(&again, data, env); !ok {
		missing = append(missing, lacking(rec.asked, data)...)
	}
	sort.Strings(missing)
	return slices.Compact(missing)
}

// namedValues names the paths of .Values that stand in the innermost pipeline
// around pos and that the values do not have.
func (r *reference) namedValues(pos int, data *Data) []string {
	pipe := r.statement(pos)
	var missing []string
	walk(pipe, func(n parse.Node) {
		if f, ok := n.(*parse.FieldNode); ok {
			missing = append(missing, lacking([]Read{f.Ident}, data)...)
		}
	})
	return missing
}

// statement returns the innermost statement around an offset, nil for none.
func (r *reference) statement(pos int) (pipe *parse.PipeNode) {
	for _, tree := range r.trees {
		walk(tree.Root, func(n parse.Node) {
			if p := pipeOf(n); p != nil && int(p.Pos) <= pos && (pipe == nil || p.Pos > pipe.Pos) {
				pipe = p
			}
		})
	}
	return pipe
}

func pipeOf(n parse.Node) *parse.PipeNode {
	switch n := n.(type) {
	case *parse.ActionNode:
		return n.Pipe
	case *parse.IfNode:
		return n.Pipe
	case *parse.WithNode:
		return n.Pipe
	case *parse.RangeNode:
		return n.Pipe
	case *parse.TemplateNode:
		return n.Pipe
	}
	return nil
}

func hasValue(v any, path []string) bool {
	for _, key := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return false
		}
		v = m[key]
	}
	return v != nil
}
