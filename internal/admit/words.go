package admit

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// NamespaceSelector returns the selector as kubectl prints it.
func (h *Hook) NamespaceSelector() string { return h.namespaces.words() }

// ObjectSelector returns the selector as kubectl prints it.
func (h *Hook) ObjectSelector() string { return h.objects.words() }

func (s selector) words() string {
	if s.Empty() {
		return "<none>"
	}
	return s.String()
}

// Rules says what the webhook is asked about, one line a rule: CREATE of pods
// (v1).
func (h *Hook) Rules() []string {
	var lines []string
	for _, r := range h.Node.Get("rules").Items() {
		var versions []string
		for _, g := range texts(r.Get("apiGroups").Items()) {
			for _, v := range texts(r.Get("apiVersions").Items()) {
				versions = append(versions, strings.TrimPrefix(g+"/"+v, "/"))
			}
		}
		line := strings.Join(texts(r.Get("operations").Items()), ", ") + " of " +
			strings.Join(texts(r.Get("resources").Items()), ", ") + " (" + strings.Join(versions, ", ") + ")"
		if scope := r.Get("scope").Str(); scope != "" && scope != "*" {
			line += ", scope " + scope
		}
		lines = append(lines, line)
	}
	return lines
}

// Conditions returns the matchConditions, each as name: expression.
func (h *Hook) Conditions() []string {
	var lines []string
	for _, c := range h.conditions {
		lines = append(lines, c.Get("name").Str()+": "+strings.Join(strings.Fields(c.Get("expression").Str()), " "))
	}
	return lines
}

// checkFields finds what an API server refuses in the fields that a Hook has.
func checkFields(n *source.Node, v1 bool) *diag.Diagnostic {
	bad := func(at *source.Node, message, fix string) *diag.Diagnostic {
		return &diag.Diagnostic{Severity: diag.Error, Span: at.Span(), Message: message, Fix: fix}
	}
	if n.Kind() != source.Map {
		return bad(n, "an item of webhooks is no mapping", "write the fields of a webhook: name, clientConfig, rules")
	}
	if n.Get("name").Str() == "" {
		return bad(n, "a webhook has no name", "write name")
	}
	of := " of webhook " + strconv.Quote(n.Get("name").Str())
	effects := []string{"None", "NoneOnDryRun"}
	if !v1 {
		effects = append(effects, "Some", "Unknown")
	}
	for _, f := range []struct {
		key   string
		words []string
	}{
		{"failurePolicy", []string{"Fail", "Ignore"}},
		{"reinvocationPolicy", []string{"Never", "IfNeeded"}},
		{"sideEffects", effects},
	} {
		if v := n.Get(f.key); !v.IsNull() && !slices.Contains(f.words, v.Str()) {
			return bad(v, f.key+of+" is none that an API server takes", "write "+strings.Join(f.words, " or "))
		}
	}
	if v := n.Get("timeoutSeconds"); !v.IsNull() {
		if t, ok := v.Int(); !ok || t < 1 || t > 30 {
			return bad(v, "timeoutSeconds"+of+" is not a number from 1 to 30", "write such a number")
		}
	}
	for _, key := range []string{"rules", "matchConditions", "admissionReviewVersions"} {
		if v := n.Get(key); !v.IsNull() && v.Kind() != source.List {
			return bad(v, key+of+" is no list", "write a list")
		}
	}
	if c := n.Get("clientConfig"); !c.Get("url").IsNull() && !c.Get("service").IsNull() {
		return bad(c, "clientConfig"+of+" has both url and service", "keep one of them")
	}
	if p := n.Get("clientConfig", "service", "port"); !p.IsNull() {
		if i, ok := p.Int(); !ok || i < 1 || i > 65535 {
			return bad(p, "the port of the service"+of+" is not a number from 1 to 65535", "write such a number")
		}
	}
	return nil
}
