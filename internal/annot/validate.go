package annot

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

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
				d.Fix, d.Span = k.Form, k.Place(f.Value)
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

// Place returns where in a value that Check finds fault with the fault is: the
// part between two commas, the byte at which it stops being JSON, or else the
// value as a whole.
func (k *Key) Place(n *source.Node) source.Span {
	value := n.Str()
	var syntax *json.SyntaxError
	if k.Name == SidecarUserVolume || k.Name == SidecarUserVolumeMount || k.Name == SidecarStatsHistogramBuckets {
		if err := json.Unmarshal([]byte(value), new(any)); errors.As(err, &syntax) && value != "" {
			at := min(max(int(syntax.Offset)-1, 0), len(value)-1)
			return source.Span{Text: n.Embed(k.Name), Start: at, End: at + 1}
		}
		return n.Span()
	}
	at := 0
	for part := range strings.SplitSeq(value, ",") {
		if len(part) < len(value) && part != "" && k.Check(part) != "" {
			return source.Span{Text: n.Embed(k.Name), Start: at, End: at + len(part)}
		}
		at += len(part) + 1
	}
	return n.Span()
}
