package inject

import (
	"bytes"
	"slices"
	"strings"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/tmpl"
)

// outline reads the keys of a template's own text, without rendering it, so
// that those of every branch are seen. It goes by lines and their indentation:
// what actions leave of the text need not be YAML. What it does not understand
// it passes over.
type outline struct {
	text  []byte // of a survey
	pos   int    // of the next line
	stack []outlineMap
	keys  []outlineKey
	// other tells that the text is of another object than a pod.
	other bool
}

// outlineMap is a map of the text whose keys stand in one column.
type outlineMap struct {
	column int
	of     outlineType // of the map
	value  outlineType // of the key that was read last
}

// outlineType is what a value should be.
type outlineType struct {
	typ kube.Type
	// part tells the values that are not typed by Kubernetes alone.
	part outlinePart
}

type outlinePart uint8

const (
	partPlain       outlinePart = iota
	partPod                     // the pod itself
	partSpec                    // what releases until 1.8 append
	partAnnotations             // names of annotations
	partLabels                  // names of labels
)

// outlineKey is a key that its map should not have, or one to look at: the name
// of an annotation or label, restartPolicy of a container, podRedirectAnnot.
type outlineKey struct {
	name       string
	of         outlineType
	start, end int
}

// outlineOf lists what is to be judged of a template's text. It reports false
// for the text of another object than a pod: templates of gateways lie beside
// those of pods.
func outlineOf(text []byte, shape release.Shape) (keys []outlineKey, ofPod bool) {
	root := outlineType{typ: kube.TypePod, part: partPod}
	if shape == release.Spec {
		root = outlineType{typ: kube.TypePodSpec, part: partSpec}
	}
	o := &outline{text: text}
	o.begin(root)
	for o.pos < len(o.text) && !o.other {
		start := o.pos
		o.line(start, o.lineEnd(), root)
	}
	return o.keys, !o.other
}

func (o *outline) begin(root outlineType) { o.stack = []outlineMap{{column: -1, value: root}} }

// lineEnd moves on to the next line, and returns where this one ends.
func (o *outline) lineEnd() int {
	end := len(o.text)
	if i := bytes.IndexByte(o.text[o.pos:], '\n'); i >= 0 {
		end = o.pos + i
	}
	o.pos = end + 1
	return end
}

func (o *outline) line(start, end int, root outlineType) {
	at := start
	for at < end && o.text[at] == ' ' {
		at++
	}
	shift := at // what is silent in front leaves no trace
	for at < end && (o.text[at] == ' ' || o.text[at] == tmpl.Silent) {
		at++
	}
	shift = at - shift
	switch rest := string(bytes.TrimRight(o.text[at:end], " \t\r")); {
	case rest == "" || rest[0] == '#' || rest[0] == tmpl.Hole:
		return
	case rest == "---" && at == start+shift:
		o.begin(root)
		return
	}
	start += shift
	for o.text[at] == '-' && at+1 < end && o.text[at+1] == ' ' { // items
		o.leave(at - start)
		item := o.top().value.item()
		dash := at - start
		for at++; at < end && o.text[at] == ' '; {
			at++
		}
		if at == end {
			return
		}
		o.stack = append(o.stack, outlineMap{column: at - start, of: item, value: item})
		if o.scalar(at, end, dash) {
			return
		}
	}
	keyEnd, colon := o.key(at, end)
	if colon < 0 {
		if c := o.text[at]; c == '{' || c == '[' {
			o.flow(at, o.top().value)
		}
		return
	}
	column := at - start
	o.leave(column)
	if o.top().column < column {
		o.stack = append(o.stack, outlineMap{column: column, of: o.top().value})
	}
	m := o.top()
	name := string(o.text[at:keyEnd])
	m.value = outlineType{}
	if bytes.IndexByte(o.text[at:keyEnd], tmpl.Hole) < 0 {
		if quoted := name[0] == '"' || name[0] == '\''; quoted {
			name, at, keyEnd = name[1:len(name)-1], at+1, keyEnd-1
		}
		m.value = o.see(name, m.of, at, keyEnd)
	}
	value := colon + 1
	for value < end && o.text[value] == ' ' {
		value++
	}
	if m.of.part == partPod && name == "kind" && string(bytes.TrimSpace(o.text[value:end])) != "Pod" {
		o.other = true
	}
	if value < end && !o.scalar(value, end, column) && (o.text[value] == '{' || o.text[value] == '[') {
		o.flow(value, m.value)
	}
}

func (o *outline) top() *outlineMap { return &o.stack[len(o.stack)-1] }

// leave drops the maps that end before a line that begins in a column.
func (o *outline) leave(column int) {
	for o.top().column > column {
		o.stack = o.stack[:len(o.stack)-1]
	}
}

// key returns where the key of a line ends and its colon, -1 where it has none.
func (o *outline) key(at, end int) (keyEnd, colon int) {
	if q := o.text[at]; q == '"' || q == '\'' {
		i := bytes.IndexByte(o.text[at+1:end], q)
		if i < 0 {
			return 0, -1
		}
		keyEnd = at + 1 + i + 1
		if keyEnd < end && o.text[keyEnd] == ':' {
			return keyEnd, keyEnd
		}
		return 0, -1
	}
	for i := at; i < end; i++ {
		switch c := o.text[i]; {
		case c == ':' && i > at && (i+1 == end || o.text[i+1] == ' ' || o.text[i+1] == '\r'):
			return i, i
		case c == '{' || c == '[' || c == '"' || c == ',' || c == '#' || c == ' ' || c == '<':
			return 0, -1
		}
	}
	return 0, -1
}

// scalar passes over the lines of a text that goes on below its first one: a
// block of a key or item in a column, or what stands in quotes.
func (o *outline) scalar(at, end, column int) bool {
	switch c := o.text[at]; c {
	case '|', '>':
		for o.pos < len(o.text) {
			next := o.pos
			nextEnd := o.lineEnd()
			indent := next
			for indent < nextEnd && o.text[indent] == ' ' {
				indent++
			}
			if indent < nextEnd && indent-next <= column && o.text[indent] > ' ' {
				o.pos = next
				break
			}
		}
		return true
	case '"', '\'':
		if _, colon := o.key(at, end); colon >= 0 {
			return false
		}
		for from := at + 1; ; {
			if bytes.IndexByte(o.text[from:end], c) >= 0 || o.pos >= len(o.text) {
				return true
			}
			from = o.pos
			end = o.lineEnd()
		}
	}
	return false
}

// flow reads a value in braces or brackets.
func (o *outline) flow(start int, of outlineType) {
	depth := 0
	var quote byte
	for i := start; i < len(o.text); i++ {
		switch c := o.text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				o.parse(start, i+1, of)
				for o.pos <= i {
					o.lineEnd()
				}
				return
			}
		}
	}
}

// parse reads a value that is written as JSON is, if it can.
func (o *outline) parse(start, end int, of outlineType) {
	text := bytes.ReplaceAll(o.text[start:end], []byte{tmpl.Hole}, []byte("_"))
	text = bytes.ReplaceAll(text, []byte{tmpl.Silent}, []byte(" "))
	doc, err := source.Parse(source.NewText("", text))
	if err == nil {
		o.node(doc.Root, start, of)
	}
}

func (o *outline) node(n *source.Node, start int, of outlineType) {
	for _, item := range n.Items() {
		o.node(item, start, of.item())
	}
	for _, f := range n.Fields() {
		if bytes.IndexByte(o.text[start+f.KeySpan.Start:start+f.KeySpan.End], tmpl.Hole) >= 0 {
			continue
		}
		o.node(f.Value, start, o.see(f.Key, of, start+f.KeySpan.Start, start+f.KeySpan.End))
	}
}

// see notes a key of a map that is to be judged, and returns what its value
// should be.
func (o *outline) see(name string, of outlineType, start, end int) outlineType {
	key := outlineKey{name, of, start, end}
	switch of.part {
	case partAnnotations, partLabels:
		o.keys = append(o.keys, key)
		return outlineType{}
	case partSpec:
		if strings.EqualFold(name, redirectAnnotations) {
			o.keys = append(o.keys, key)
			return outlineType{part: partAnnotations}
		}
		if !slices.ContainsFunc(specKeys, func(k string) bool { return strings.EqualFold(k, name) }) {
			o.keys = append(o.keys, key)
			return outlineType{}
		}
	}
	switch of.typ.Kind() {
	case kube.KindMap:
		return outlineType{typ: of.typ.Elem()}
	case kube.KindStruct:
	default:
		return outlineType{}
	}
	f := of.typ.Field(name)
	if f == nil {
		if !hasFieldBut(of.typ, name) && of.part != partSpec {
			o.keys = append(o.keys, key)
		}
		return outlineType{}
	}
	if of.typ.Name() == "Container" && name == "restartPolicy" {
		o.keys = append(o.keys, key)
	}
	value := outlineType{typ: f.Type}
	if of.typ.Name() == "ObjectMeta" {
		switch name {
		case "annotations":
			value.part = partAnnotations
		case "labels":
			value.part = partLabels
		}
	}
	return value
}

func (t outlineType) item() outlineType {
	if t.typ.Kind() == kube.KindList {
		return outlineType{typ: t.typ.Elem()}
	}
	return outlineType{}
}

// kind returns the kind of name that a part has.
func (p outlinePart) kind() annot.Kind {
	if p == partLabels {
		return annot.Label
	}
	return annot.Annotation
}
