package cli

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// checkObject tells what is wrong with an object, and with a workload outside
// of its pod template, which the engine looks at.
func checkObject(doc *source.Document, object kube.Object, w kube.Workload, isWorkload bool) diag.List {
	var list diag.List
	typ := kube.TypeOf(object.Ref)
	if isWorkload {
		list = append(list, inject.CheckWorkload(w)...)
	} else {
		typ = kube.TypeAny
		list = append(list, inject.CheckObject(object.Ref, object.Node)...)
	}
	if typ != kube.TypeAny {
		list = append(list, kube.Check(w.Outer(), typ)...)
	} else {
		list = append(list, checkParts(object)...)
	}
	if doc.Format == source.YAML {
		t := traps{template: w.Template, ref: object.Ref}
		t.value(object.Node, typ, "")
		list = append(list, t.found...)
	}
	return list
}

// partType returns the type of a part of an object whose type as a whole is
// not known: metadata, and what holds text only.
func partType(ref kube.Ref, key string) kube.Type {
	metadata := kube.TypePod.Field("metadata").Type
	switch {
	case key == "metadata":
		return metadata
	case key == "data" && ref.Kind == "ConfigMap", (key == "data" || key == "stringData") && ref.Kind == "Secret":
		return metadata.Field("labels").Type
	}
	return kube.TypeAny
}

// checkParts finds values of the wrong type in an object that is passed
// through. It is written as it is, whatever the API server will say to it.
func checkParts(object kube.Object) diag.List {
	var list diag.List
	for _, f := range object.Node.Fields() {
		typ := partType(object.Ref, f.Key)
		if typ == kube.TypeAny {
			continue
		}
		for _, d := range (kube.Checker{At: kube.Path{f.Key}}).Check(f.Value, typ) {
			d.Severity = min(d.Severity, diag.Warning)
			list = append(list, d)
		}
	}
	return list
}

// traps finds the texts of which YAML, as Kubernetes reads it, makes something
// else than most people would.
type traps struct {
	template *source.Node
	ref      kube.Ref
	found    diag.List
}

func (t *traps) add(code string, at source.Span, message, fix string) {
	t.found = append(t.found, &diag.Diagnostic{Code: code, Severity: diag.Warning, Span: at, Message: message, Fix: fix})
}

// value looks at a value of the given type, which stands under key.
func (t *traps) value(n *source.Node, typ kube.Type, key string) {
	if n == t.template && n != nil {
		typ = kube.TypePod
	}
	raw := n.Raw()
	if len(raw) == 0 || raw[0] == '*' {
		return // what an alias stands for is told where it is
	}
	if raw[0] == '!' && !bytes.HasPrefix(raw, []byte("!!")) && !bytes.HasPrefix(raw, []byte("!<tag:yaml.org,")) {
		tag, _, _ := bytes.Cut(raw, []byte(" "))
		tag, _, _ = bytes.Cut(tag, []byte("\n"))
		at := n.Span()
		at.End = at.Start + len(tag)
		t.add(diag.CodeTag, at, "tag "+string(tag)+" means nothing to Kubernetes: the value is read without it", "remove the tag")
	}
	switch n.Kind() {
	case source.Map:
		for _, f := range n.Fields() {
			t.key(f)
			below := kube.TypeAny
			switch info := typ.Field(f.Key); {
			case info != nil:
				below = info.Type
			case typ.Kind() == kube.KindMap:
				below = typ.Elem()
			case typ == kube.TypeAny && key == "":
				below = partType(t.ref, f.Key)
			}
			t.value(f.Value, below, f.Key)
		}
	case source.List:
		for _, item := range n.Items() {
			below := kube.TypeAny
			if typ.Kind() == kube.KindList {
				below = typ.Elem()
			}
			t.value(item, below, key+"[]")
		}
	case source.Bool:
		if word := string(raw); typ != kube.TypeBool && typ != kube.TypeString && !strings.EqualFold(word, n.Scalar()) && isWord(word) {
			t.add(diag.CodeWord, n.Span(), word+" is the boolean "+n.Scalar()+" to Kubernetes, which reads YAML 1.1",
				"write "+n.Scalar()+", or if it is meant as text, "+strconv.Quote(word))
		}
	case source.Number:
		if typ != kube.TypeString {
			t.number(n, string(raw), key)
		}
	}
}

// key looks at a key that is not spelled as it is read.
func (t *traps) key(f source.Field) {
	if !f.KeySpan.IsValid() || f.KeySpan.End-f.KeySpan.Start == len(f.Key) {
		return
	}
	raw := string(f.KeySpan.Text.Data[f.KeySpan.Start:f.KeySpan.End])
	if raw == f.Key || strings.ContainsAny(raw[:1], "\"'&*!?|>") {
		return
	}
	t.add(diag.CodeWord, f.KeySpan, "key "+raw+" is read as "+strconv.Quote(f.Key)+": Kubernetes reads YAML 1.1",
		"quote it: "+strconv.Quote(raw))
}

// isWord tells a scalar without quotes, tag or anchor.
func isWord(raw string) bool { return !strings.ContainsAny(raw, "\"'&!|> \n") }

// number looks at a number. Octal numbers are what modes of files are written
// in, and no trap there.
func (t *traps) number(n *source.Node, raw, key string) {
	value := n.Scalar()
	if raw == value || !isWord(raw) {
		return
	}
	digits := strings.TrimLeft(raw, "+-")
	switch {
	case isOctal(digits) && key != "mode" && key != "defaultMode":
		t.add(diag.CodeNumber, n.Span(), raw+" is an octal number: Kubernetes reads "+value, "write "+value+", or if it is meant as text, "+strconv.Quote(raw))
	case strings.Contains(raw, "_"):
		t.add(diag.CodeNumber, n.Span(), raw+" is the number "+value+" to Kubernetes", "write "+value+", or if it is meant as text, "+strconv.Quote(raw))
	case losesDigits(digits):
		t.add(diag.CodeNumber, n.Span(), raw+" has more digits than a number can hold: Kubernetes reads "+value, "quote it: "+strconv.Quote(raw))
	}
}

// isOctal tells an octal number in the notation of YAML 1.1: a zero before
// other digits. One that has an 8 or a 9 in it is decimal.
func isOctal(digits string) bool {
	if len(digits) < 2 || digits[0] != '0' {
		return false
	}
	return strings.Trim(digits, "01234567_") == ""
}

// losesDigits tells a decimal number with more digits than those that survive
// in a floating-point number.
func losesDigits(digits string) bool {
	const survive = 17
	if strings.ContainsAny(digits, "xXoObB") {
		return false
	}
	mantissa, _, _ := strings.Cut(strings.ToLower(digits), "e")
	mantissa = strings.ReplaceAll(mantissa, ".", "")
	return len(strings.Trim(mantissa, "0")) > survive
}
