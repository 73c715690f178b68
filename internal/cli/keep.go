package cli

import (
	"errors"
	"strings"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/undo"
)

// marked stands for a record until it can be written: what it has to say is
// known only once the document is edited.
var marked = source.NewString("ingraft-undo-record")

// recordOf returns the node that holds the record of a pod template, nil for
// none.
func recordOf(template *source.Node) *source.Node {
	if n := template.Get("metadata", "annotations", annot.UndoRecord); n.Kind() == source.String {
		return n
	}
	return nil
}

// withoutRecord removes the record from a pod template.
func withoutRecord(template *source.Node) *source.Node {
	annotations := template.Get("metadata", "annotations")
	rest := annotations.Without(annot.UndoRecord)
	switch {
	case rest == annotations:
	case rest.Len() == 0:
		return template.With("metadata", template.Get("metadata").Without("annotations"))
	default:
		return template.WithAt(rest, "metadata", "annotations")
	}
	return template
}

// keep writes injected pod templates into a document: its bytes stay, and get
// what injection adds. Unless record is false, each template gets an annotation
// with what uninject needs. reference is that of injector.
func keep(doc *source.Document, replaced []replacement, record, reference bool) ([]byte, *diag.Diagnostic) {
	for i := range replaced {
		r := &replaced[i]
		r.node = kube.Settle(kube.At(doc.Root, r.path), withoutRecord(r.node), kube.TypePod)
		if record {
			r.node = r.node.WithAt(marked, "metadata", "annotations", annot.UndoRecord)
		}
	}
	root := replaceAll(doc.Root, replaced)
	if !reference {
		if data := keepSimply(doc, root, replaced, record); data != nil {
			return data, nil
		}
	}
	after, err := source.Edit(doc, root)
	if err != nil {
		return rewrite(doc, replaceAll(doc.Root, unmarked(replaced))), notExact(doc, err)
	}
	if !record {
		return after.Text.Data, nil
	}
	parts := make([]undo.Edited, len(replaced))
	for i, r := range replaced {
		part := kube.At(after.Root, r.path)
		parts[i] = undo.Edited{Before: kube.At(doc.Root, r.path), After: part, Mark: recordOf(part), Handles: handles(part)}
	}
	data, err := undo.Seal(doc, after, parts)
	if err == nil {
		return data, nil
	}
	data, bad := keep(doc, unmarked(replaced), false, reference)
	if bad == nil {
		bad = notExact(doc, err)
	}
	return data, bad
}

// handles returns the probes and hooks of an injected pod that ask the agent, by
// which the records of many of them are short.
func handles(pod *source.Node) []undo.Handle {
	sent := inject.SentToAgent(pod)
	list := make([]undo.Handle, len(sent))
	for i, s := range sent {
		list[i] = undo.Handle{Node: s.Action, Text: s.Path}
	}
	return list
}

// keepSimply is keep where all that injection does is to add lines and to
// replace scalars; nil where it is not.
func keepSimply(doc *source.Document, root *source.Node, replaced []replacement, record bool) []byte {
	draft := source.NewDraft(doc, root)
	if draft == nil {
		return nil
	}
	if !record {
		return draft.Data
	}
	parts := make([]undo.Edited, len(replaced))
	for i, r := range replaced {
		parts[i] = undo.Edited{Before: kube.At(doc.Root, r.path), After: r.node, Mark: marked}
	}
	return undo.SealDraft(doc, draft, parts, marked.Str())
}

func unmarked(replaced []replacement) []replacement {
	for i := range replaced {
		replaced[i].node = withoutRecord(replaced[i].node)
	}
	return replaced
}

// notExact says that a document has no record.
func notExact(doc *source.Document, err error) *diag.Diagnostic {
	message := "the document gets no undo record: " + err.Error()
	if errors.Is(err, undo.ErrNotExact) {
		message = "the document gets no undo record: what injection changes is spread over all of it, and the record would have to hold it whole"
	}
	return &diag.Diagnostic{
		Code: diag.CodeNoRecord, Severity: diag.Warning, Span: firstByte(doc.Root),
		Message: message, Fix: "keep the original; uninject can only guess it",
	}
}

// before returns a document as it was before earlier injections, as far as the
// records of the given pod templates tell, and what they do not tell. It is
// the document itself where there are no records.
func before(doc *source.Document, paths []kube.Path) (*source.Document, diag.List) {
	var parts []undo.Part
	var findings diag.List
	for _, path := range paths {
		template := kube.At(doc.Root, path)
		mark := recordOf(template)
		if mark == nil {
			continue
		}
		record, err := undo.Parse(mark.Str())
		if err != nil {
			findings = append(findings, staleRecord(mark, "cannot be read: "+err.Error()))
			continue
		}
		parts = append(parts, undo.Part{Node: template, Mark: mark, Record: record, Handles: handles(template)})
	}
	if len(parts) == 0 {
		return doc, findings
	}
	restored, err := undo.Restore(doc, parts)
	if err != nil {
		return doc, append(findings, staleRecord(parts[0].Mark, "does not fit the document any more: "+err.Error()))
	}
	for _, c := range restored.Changed {
		findings = append(findings, staleNode(c))
	}
	if restored.Missing > 0 {
		for _, p := range parts {
			if at := inject.LeftProbe(kube.At(restored.Document.Root, pathTo(doc, paths, p.Node))); at != "" {
				findings = append(findings, staleRecord(p.Mark, "lacks "+at+", which still asks the sidecar"))
			}
		}
	}
	return restored.Document, findings
}

// pathTo returns the path of a part.
func pathTo(doc *source.Document, paths []kube.Path, part *source.Node) kube.Path {
	for _, p := range paths {
		if kube.At(doc.Root, p) == part {
			return p
		}
	}
	return nil
}

func staleRecord(mark *source.Node, why string) *diag.Diagnostic {
	return &diag.Diagnostic{
		Code: diag.CodeStaleRecord, Severity: diag.Warning, Span: mark.Span(),
		Message: "annotation " + annot.UndoRecord + " " + why,
	}
}

func staleNode(c undo.Change) *diag.Diagnostic {
	return &diag.Diagnostic{
		Code: diag.CodeStaleRecord, Severity: diag.Warning, Span: c.Node.Span(),
		Message: c.Path + " was changed after injection, which had changed it before: that change is lost, and it is " + asItWas(c.Was),
	}
}

func asItWas(text string) string {
	if text == "" {
		return "without a value, as it was"
	}
	return "as it was: " + excerpt(text)
}

// excerpt returns the beginning of a text, on one line.
func excerpt(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 60 {
		return string(r[:57]) + "..."
	}
	return s
}
