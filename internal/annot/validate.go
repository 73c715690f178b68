package annot

import (
	"fmt"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// CodeValue is the code of a value that makes the injector refuse the pod.
const CodeValue = "IGF0501"

// Validate judges the annotations of a pod, a Map, by the rules of the
// injector: an error for every value that makes it refuse the pod, in the order
// of the document. It asks only about keys that are Refused. The value of
// proxy.istio.io/config is judged by proxyConfig, which is
// config.CheckProxyConfig.
func Validate(annotations *source.Node, proxyConfig func(*source.Text) diag.List) diag.List {
	var diags diag.List
	for _, f := range annotations.Fields() {
		if kind := f.Value.Kind(); kind != source.String && kind != source.Null {
			diags = append(diags, notString(f))
			continue
		}
		k, ok := Lookup(Annotation, f.Key)
		switch {
		case !ok || !k.Refused:
		case k.Name == ProxyConfig:
			diags = append(diags, judged(f, proxyConfig)...)
		default:
			if wrong := k.Check(f.Value.Str()); wrong != "" {
				d := finding(f, "annotation %s %s", f.Key, wrong)
				d.Fix = k.Form
				diags = append(diags, d)
			}
		}
	}
	return diags
}

// judged returns the findings of proxyConfig about a value.
func judged(f source.Field, proxyConfig func(*source.Text) diag.List) diag.List {
	diags := proxyConfig(embed(f.Value))
	for _, d := range diags {
		d.Message = fmt.Sprintf("annotation %s: %s", f.Key, d.Message)
		if !d.Span.IsValid() {
			d.Span = f.Value.Span()
		}
	}
	return diags
}

// notString says that a value is no string, which is all that Kubernetes
// accepts in annotations.
func notString(f source.Field) *diag.Diagnostic {
	d := finding(f, "annotation %s is not a string but %s %s", f.Key, article(f.Value.Kind()), f.Value.Kind())
	if text := f.Value.Scalar(); text != "" {
		d.Fix = fmt.Sprintf("put it in quotes: %q", text)
	}
	return d
}

func article(kind source.Kind) string {
	if kind == source.Map || kind == source.List { // object, array
		return "an"
	}
	return "a"
}

func finding(f source.Field, format string, args ...any) *diag.Diagnostic {
	return &diag.Diagnostic{Code: CodeValue, Severity: diag.Error, Span: f.Value.Span(), Message: fmt.Sprintf(format, args...)}
}

// embed returns the value of a String node as a text of its own.
func embed(n *source.Node) *source.Text {
	name := ""
	if s := n.Span(); s.IsValid() {
		name = s.Text.Name
	}
	return source.NewText(name, []byte(n.Str()))
}
