package tmpl

import (
	"bytes"
	"strings"
	"text/template/parse"

	"github.com/ingraft/ingraft/internal/diag"
)

// noValue is what text/template writes where there is nothing to write.
const noValue = "<no value>"

// Unset looks for the cause of a line of output that holds "<no value>": the
// action, between the same words of the template, that writes a path of .Values
// which is not set. It returns nil where there is none.
func (t *Template) Unset(line []byte, data *Data) *diag.Diagnostic {
	before, _, found := bytes.Cut(line, []byte(noValue))
	if !found {
		return nil
	}
	r, bad := t.reference()
	if bad != nil {
		return nil
	}
	for _, tree := range r.trees {
		walk(tree.Root, func(n parse.Node) {
			list, ok := n.(*parse.ListNode)
			if !ok || bad != nil {
				return
			}
			for i, n := range list.Nodes {
				action, ok := n.(*parse.ActionNode)
				if !ok || i == 0 || !follows(list.Nodes[i-1], before) {
					continue
				}
				if missing := r.missingValues(int(action.Position()), data); len(missing) > 0 {
					bad = t.diagnose(CodeValues, t.spanOf(action.Pipe, int(action.Position())),
						"values: "+strings.Join(missing, " and ")+" is not set, and the template writes it", valuesFix)
					return
				}
			}
		})
	}
	return bad
}

// follows reports whether a node is the text that ends the beginning of a line.
func follows(n parse.Node, before []byte) bool {
	text, ok := n.(*parse.TextNode)
	if !ok {
		return false
	}
	tail := text.Text[bytes.LastIndexByte(text.Text, '\n')+1:]
	return len(bytes.TrimSpace(tail)) > 0 && bytes.HasSuffix(before, tail)
}
