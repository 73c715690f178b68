package manifest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ingraft/ingraft/internal/source"
)

// Webhook is an admission webhook.
type Webhook struct {
	// Configuration is the name of the object that holds it.
	Configuration string `json:"configuration"`
	// Type is mutating or validating.
	Type string `json:"type"`
	Name string `json:"name"`
	// Calls is who is asked: a URL, or namespace/service:port/path.
	Calls string `json:"calls"`
	// Rules tell what is asked about, each as in "create pods".
	Rules []string `json:"rules"`
	// Selects tells which objects, in words.
	Selects       string `json:"selects"`
	FailurePolicy string `json:"failurePolicy"`
}

func webhooks(all []*source.Node) []Webhook {
	list := []Webhook{}
	for _, o := range all {
		kind, ok := strings.CutSuffix(o.Get("kind").Str(), "WebhookConfiguration")
		if !ok {
			continue
		}
		for _, h := range o.Get("webhooks").Items() {
			w := Webhook{
				Configuration: nameOf(o), Type: strings.ToLower(kind), Name: h.Get("name").Str(), Calls: callee(h.Get("clientConfig")),
				FailurePolicy: cmp.Or(h.Get("failurePolicy").Str(), "Fail"),
			}
			for _, r := range h.Get("rules").Items() {
				w.Rules = append(w.Rules, ruleInWords(r))
			}
			w.Selects = selects(h)
			list = append(list, w)
		}
	}
	slices.SortStableFunc(list, func(a, b Webhook) int { return cmp.Compare(a.Configuration, b.Configuration) })
	return list
}

// callee tells whom an API server asks.
func callee(c *source.Node) string {
	if url := c.Get("url").Str(); url != "" {
		return url
	}
	s := c.Get("service")
	return s.Get("namespace").Scalar() + "/" + s.Get("name").Scalar() + ":" + cmp.Or(s.Get("port").Scalar(), "443") + s.Get("path").Str()
}

// ruleInWords writes a rule as operations and what they are done to.
func ruleInWords(r *source.Node) string {
	operations := words(r.Get("operations"))
	if slices.Contains(operations, "*") {
		operations = []string{"every change"}
	}
	what := words(r.Get("resources"))
	for i, resource := range what {
		if group := strings.Join(words(r.Get("apiGroups")), ","); group != "" {
			what[i] = resource + "." + group
		}
	}
	return strings.ToLower(strings.Join(operations, ", ")) + " of " + strings.Join(what, ", ")
}

// words returns the texts of a list.
func words(list *source.Node) []string {
	var out []string
	for _, n := range list.Items() {
		out = append(out, n.Scalar())
	}
	return out
}

// selects tells in words which objects a webhook is asked about.
func selects(h *source.Node) string {
	var parts []string
	for _, s := range [...][2]string{{"namespaceSelector", "namespaces"}, {"objectSelector", "objects"}} {
		if text := selectorInWords(h.Get(s[0])); text != "" {
			parts = append(parts, s[1]+" with "+text)
		}
	}
	for _, c := range h.Get("matchConditions").Items() {
		parts = append(parts, "condition "+c.Get("name").Scalar())
	}
	if len(parts) == 0 {
		return "everything"
	}
	return strings.Join(parts, "; ")
}

// selectorInWords writes a label selector as kubectl does: a=b, c in (d,e), !f.
// It is empty for one that selects all.
func selectorInWords(s *source.Node) string {
	var parts []string
	for _, f := range s.Get("matchLabels").Fields() {
		parts = append(parts, f.Key+"="+f.Value.Scalar())
	}
	slices.Sort(parts)
	for _, e := range s.Get("matchExpressions").Items() {
		key, values := e.Get("key").Scalar(), strings.Join(words(e.Get("values")), ",")
		switch e.Get("operator").Str() {
		case "In":
			parts = append(parts, key+" in ("+values+")")
		case "NotIn":
			parts = append(parts, key+" notin ("+values+")")
		case "Exists":
			parts = append(parts, key)
		case "DoesNotExist":
			parts = append(parts, "!"+key)
		}
	}
	return strings.Join(parts, ", ")
}
