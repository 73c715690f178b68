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
//
// Null is read as the empty string, and a number or boolean as it is spelled:
// whether Kubernetes takes it for a string depends on how it gets there.
func Validate(annotations *source.Node, proxyConfig func(*source.Text) diag.List) diag.List {
	var diags diag.List
	for _, f := range annotations.Fields() {
		if kind := f.Value.Kind(); kind == source.Map || kind == source.List {
			diags = append(diags, finding(f, "annotation %s must be a string, and is an %s", f.Key, kind))
			continue
		}
		k, ok := Lookup(Annotation, f.Key)
		switch {
		case !ok || !k.Refused:
		case k.Name == ProxyConfig:
			diags = append(diags, judged(f, proxyConfig)...)
		default:
			if wrong := k.Check(f.Value.Scalar()); wrong != "" {
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
	text := source.NewText(f.Key, []byte(f.Value.Scalar()))
	if f.Value.Kind() == source.String {
		text = f.Value.Embed(f.Key)
	}
	diags := proxyConfig(text)
	for _, d := range diags {
		d.Message = fmt.Sprintf("annotation %s: %s", f.Key, d.Message)
		if !d.Span.IsValid() {
			d.Span = f.Value.Span()
		}
	}
	return diags
}

func finding(f source.Field, format string, args ...any) *diag.Diagnostic {
	return &diag.Diagnostic{Code: CodeValue, Severity: diag.Error, Span: f.Value.Span(), Message: fmt.Sprintf(format, args...)}
}
