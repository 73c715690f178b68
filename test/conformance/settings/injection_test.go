package settings

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"istio.io/istio/pkg/kube/inject"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/source"
)

// injection makes an injection configuration that has templates.
func (g generator) injection() any {
	object := map[string]any{}
	object[pick(g, "templates", "templates", "templates", "Templates")] = map[string]any{"sidecar": g.str(), pick(g, "a", "b"): g.str()}
	for range g.IntN(5) {
		switch key := pick(g, "policy", "defaultTemplates", "aliases", "injectedAnnotations", "neverInjectSelector", "alwaysInjectSelector", "ALWAYSINJECTSELECTOR", "template", "other"); key {
		case "policy", "template":
			object[key] = g.str()
		case "defaultTemplates":
			object[key] = g.strings()
		case "aliases":
			object[key] = map[string]any{"a": g.strings(), "b": g.strings()}
		case "injectedAnnotations":
			object[key] = map[string]any{"a": g.str(), "b": g.str()}
		case "other":
			object[key] = g.anything()
		default:
			// Two spellings of one key: encoding/json mixes the items of the
			// one into those of the other, which is nothing to imitate.
			delete(object, "alwaysInjectSelector")
			delete(object, "ALWAYSINJECTSELECTOR")
			object[key] = []any{g.selector(), g.selector()}
		}
		if g.oneIn(g.odd) {
			object["policy"] = g.anything()
		}
	}
	return object
}

func (g generator) str() any {
	if g.oneIn(g.odd) {
		return g.anything()
	}
	return pick[any](g, "", "a", "enabled", "spec: {}\n", "{{ .Values }}", nil)
}

func (g generator) strings() any {
	if g.oneIn(g.odd) {
		return g.anything()
	}
	list := []any{}
	for range g.IntN(3) {
		list = append(list, g.str())
	}
	return list
}

func (g generator) selector() any {
	selector := map[string]any{}
	key := func() string { return pick(g, "app", "app", "example.com/app", "x", "-", "Example.com/a", "a/b/c") }
	value := func() any {
		return pick[any](g, "a", "a", "b", "", "no blanks", 5, 1.5, true, nil)
	}
	if g.oneIn(2) {
		selector[pick(g, "matchLabels", "matchLabels", "MatchLabels")] = map[string]any{key(): value()}
	}
	if g.oneIn(2) {
		e := map[string]any{"key": key(), "operator": pick[any](g, "In", "NotIn", "Exists", "DoesNotExist", "In", "NotIn", "in", nil)}
		if g.oneIn(2) {
			e["values"] = []any{value(), value()}
		}
		selector["matchExpressions"] = []any{e}
	}
	if g.oneIn(g.odd) {
		return g.anything()
	}
	return selector
}

func TestInjection(t *testing.T) {
	pods := []labels.Set{{}, {"app": "a"}, {"app": "b", "x": ""}, {"example.com/app": "5", "x": "true"}}
	sound := 0
	each(t, func(t *testing.T, r *rand.Rand) {
		g := generator{r, 20}
		doc := g.text(t, g.injection())
		want, err := inject.UnmarshalConfig([]byte(doc))
		got, diags := config.ParseInjection(text(doc))
		if (got == nil) != (err != nil) {
			t.Fatalf("%s\nmesh: %s\ningraft: %v", doc, verdict(err), diags)
		}
		if got == nil {
			return
		}
		sound++
		templates := inject.RawTemplates{}
		for _, tm := range got.Templates {
			templates[tm.Name] = string(tm.Text.Data)
		}
		if diff := cmp.Diff(
			[]any{string(want.Policy), want.DefaultTemplates, want.RawTemplates, want.Aliases, want.InjectedAnnotations},
			[]any{got.Policy, got.DefaultTemplates, templates, got.Aliases, got.InjectedAnnotations}, cmpopts.EquateEmpty(),
		); diff != "" {
			t.Fatalf("%s\n(-mesh +ingraft):\n%s", doc, diff)
		}
		for _, pod := range pods {
			sameMatches(t, doc, want.NeverInjectSelector, got.NeverInject, pod)
			sameMatches(t, doc, want.AlwaysInjectSelector, got.AlwaysInject, pod)
		}
	})
	enough(t, sound)
}

func sameMatches(t *testing.T, doc string, want []metav1.LabelSelector, got []config.Selector, pod labels.Set) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%s\n%d selectors, ingraft has %d", doc, len(want), len(got))
	}
	node, err := source.Value(map[string]string(pod))
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		selector, err := metav1.LabelSelectorAsSelector(&want[i])
		matches := err == nil && !selector.Empty() && selector.Matches(pod)
		ours, oursErr := got[i].Matches(node)
		if ours != matches || (oursErr != nil) != (err != nil) {
			t.Fatalf("%s\nselector %d on %v: mesh: %v, %v; ingraft: %v, %v", doc, i, pod, matches, err, ours, oursErr)
		}
	}
}
