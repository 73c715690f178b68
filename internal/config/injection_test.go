package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
)

func TestParseInjection(t *testing.T) {
	const text = `
policy: disabled
defaultTemplates: [mine, sidecar]
Templates:
  other: kept
templates:
  sidecar: |
    spec: {}
  number: 5
  empty:
aliases:
  all: [sidecar, mine]
  none:
injectedAnnotations:
  a: b
  yes: true
neverInjectSelector:
- matchLabels: {app: x}
- matchExpressions:
  - {key: app, operator: In, values: [y, z]}
alwaysInjectSelector: []
template: "{{ Template_Version_Mismatched }}"
`
	inj, diags := ParseInjection(source.NewText("config.yaml", []byte(text)))
	quiet(t, diags)
	if inj == nil {
		t.FailNow()
	}
	templates := map[string]string{}
	for _, tm := range inj.Templates {
		templates[tm.Name] = string(tm.Text.Data)
	}
	got := []any{inj.Policy, inj.DefaultTemplates, templates, inj.Aliases, inj.InjectedAnnotations, len(inj.NeverInject), len(inj.AlwaysInject), inj.Bare}
	want := []any{
		"disabled",
		[]string{"mine", "sidecar"},
		map[string]string{"other": "kept", "sidecar": "spec: {}\n", "number": "5", "empty": ""},
		map[string][]string{"all": {"sidecar", "mine"}, "none": nil},
		map[string]string{"a": "b", "true": "true"},
		2, 0, false,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseInjectionShapes(t *testing.T) {
	for _, test := range []struct {
		name, text string
		bare, old  bool
		want       string
	}{
		{name: "a template that is no YAML", text: "{{- if .Values.x }}\nspec:\n  {{ end }}\n", bare: true},
		{name: "a template that is YAML", text: "metadata:\n  labels: {a: b}\nspec: {}\n", bare: true},
		{name: "a template spelled as a Pod", text: "apiVersion: v1\nkind: Pod\nspec: {}\n", bare: true},
		{name: "a template that is nothing but an action", text: "{{ .Values.x }}", bare: true},
		{name: "a template of two actions", text: "{{ .Values.x }}\n{{ .Values.y }}\n", bare: true},
		{name: "a ConfigMap", text: "apiVersion: v1\nkind: ConfigMap\ndata:\n  config: |\n    templates: {sidecar: x}\n"},
		{name: "a list of ConfigMaps", text: "apiVersion: v1\nkind: ConfigMapList\nitems:\n- data: {mesh: x}\n- data:\n    config: |\n      templates: {sidecar: x}\n"},

		{name: "empty", text: "# nothing\n", want: "error IGF0202: the injection configuration is empty\n"},
		{name: "a scalar", text: "spec", want: "error IGF0201: this is the string \"spec\", not an injection configuration (take the string under key config of ConfigMap istio-sidecar-injector, or that ConfigMap)\n"},
		{name: "a list", text: "- spec: {}", want: "error IGF0201: this is an array, not an injection configuration (take the string under key config of ConfigMap istio-sidecar-injector, or that ConfigMap)\n"},
		{name: "YAML that is broken", text: "spec: [", want: "error IGF0001: this [ is never closed\n"},
		{name: "no text", text: "\x7fELF\x02\x00 {{ }}", want: "error IGF0001: byte 0x7f belongs to no text: this is neither an injection configuration nor a template\n"},
		{name: "no UTF-8", text: "spec:\n  a: \xff {{ .X }}\n", want: "error IGF0001: byte 0xff belongs to no text: this is neither an injection configuration nor a template\n"},
		{name: "a key twice", text: "templates: {sidecar: x, sidecar: x}\n", want: "warning IGF0004: key sidecar is given again in the same object; only the last one counts (remove this one, which has no effect)\n"},
		{name: "broken", text: "templates: {\n", want: "error IGF0001\n"},
		{name: "no templates", text: "policy: enabled\ntemplates: {}\n", want: "error IGF0202: the injection configuration has no templates\n"},
		{name: "old", text: "policy: enabled\ntemplate: x\n", old: true},
		{name: "the template that keeps old releases off", text: "policy: enabled\ntemplate: '{{ Template_Version_And_Istio_Version_Mismatched_Check_Installation }}'\n", want: "error IGF0202: the injection configuration has no templates\n"},
		{name: "values", text: `{"global": {"hub": "x"}}`, want: "error IGF0201: this is the values of an install, not an injection configuration (take the string under key config of ConfigMap istio-sidecar-injector, or that ConfigMap; values go to --valuesFile)\n"},
		{name: "mesh", text: "trustDomain: x", want: "error IGF0201: this is a mesh configuration, not an injection configuration (take the string under key config of ConfigMap istio-sidecar-injector, or that ConfigMap; it goes to --meshConfigFile)\n"},
		{name: "another object", text: "apiVersion: apps/v1\nkind: Deployment\n", want: "error IGF0201: this is a Kubernetes object of kind Deployment, not an injection configuration (take the string under key config of ConfigMap istio-sidecar-injector, or that ConfigMap)\n"},
		{name: "another ConfigMap", text: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio}\n", want: "error IGF0202: ConfigMap \"istio\" has no key \"config\" in data (take ConfigMap istio-sidecar-injector)\n"},
		{name: "a template in a ConfigMap", text: "apiVersion: v1\nkind: ConfigMap\ndata: {config: 'spec: {}'}\n", want: "warning IGF0302: unknown field spec: the control plane ignores it\nerror IGF0202: the injection configuration has no templates\n"},
		{name: "types", text: "templates: []\npolicy: {}\naliases: {a: [{}]}\ninjectedAnnotations: {a: []}\nneverInjectSelector: [{matchLabels: {a: {}}}]\n", want: "error IGF0301: aliases.a[0] must be a string, not an object\nerror IGF0301: injectedAnnotations.a must be a string, not an array\nerror IGF0301: neverInjectSelector[0].matchLabels.a must be a string, not an object\nerror IGF0301: policy must be a string, not an object\nerror IGF0301: templates must be an object, not an array\n"},
		{name: "unknown", text: "templates: {sidecar: x}\ndefaultTemplate: [x]\n", want: "warning IGF0302: unknown field defaultTemplate: the control plane ignores it (did you mean defaultTemplates?)\n"},
		{name: "selectors", text: "templates: {sidecar: x}\nneverInjectSelector:\n- matchExpressions: [{key: a, operator: Is}]\n- matchLabels: {_: x}\n", want: "warning IGF0204: label selector: \"Is\" is none of the operators In, NotIn, Exists and DoesNotExist; the injector passes over this selector\nwarning IGF0204: label selector: \"_\" is not a label key; the injector passes over this selector\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			inj, diags := ParseInjection(source.NewText("config.yaml", []byte(test.text)))
			got := findings(diags)
			if test.name == "broken" && len(diags) == 1 { // the words are those of package source
				got = "error " + diags[0].Code + "\n"
			}
			if got != test.want {
				t.Errorf("got  %swant %s", got, test.want)
			}
			if (inj == nil) != diags.HasErrors() {
				t.Fatalf("a value is there: %v, errors: %v", inj != nil, diags.HasErrors())
			}
			if inj == nil {
				return
			}
			name, shape := DefaultTemplate, release.Overlays
			if test.old {
				name, shape = OldTemplate, release.Spec
			}
			if inj.Bare != test.bare || inj.Shape != shape || len(inj.Templates) != 1 || inj.Templates[0].Name != name {
				t.Errorf("bare %v, templates %v", inj.Bare, inj.Templates)
			}
			if test.bare && string(inj.Templates[0].Text.Data) != test.text {
				t.Errorf("the template is %q", inj.Templates[0].Text.Data)
			}
		})
	}
}

func TestSelectorMatches(t *testing.T) {
	labels := source.NewMap(source.F("app", source.NewString("web")), source.F("empty", source.NewString("")))
	for _, test := range []struct {
		selector string
		want     bool
		invalid  bool
	}{
		{selector: "{}"},
		{selector: "null"},
		{selector: "{matchLabels: {app: web}}", want: true},
		{selector: "{MatchLabels: {app: web, empty: ''}}", want: true},
		{selector: "{matchLabels: {app: web, other: x}}"},
		{selector: "{matchExpressions: [{key: app, operator: In, values: [a, web]}]}", want: true},
		{selector: "{matchExpressions: [{key: app, operator: NotIn, values: [a, web]}]}"},
		{selector: "{matchExpressions: [{key: other, operator: NotIn, values: [a]}]}", want: true},
		{selector: "{matchExpressions: [{key: app, operator: Exists}]}", want: true},
		{selector: "{matchExpressions: [{key: other, operator: Exists}]}"},
		{selector: "{matchExpressions: [{key: app, operator: DoesNotExist}]}"},
		{selector: "{matchExpressions: [{key: example.com/other, operator: DoesNotExist}], matchLabels: {app: web}}", want: true},
		{selector: "{matchExpressions: [{key: app, operator: In}]}", invalid: true},
		{selector: "{matchExpressions: [{key: app, operator: Exists, values: [a]}]}", invalid: true},
		{selector: "{matchExpressions: [{key: app, operator: in, values: [a]}]}", invalid: true},
		{selector: "{matchLabels: {-app: web}}", invalid: true},
		{selector: "{matchLabels: {app: 'no blanks'}}", invalid: true},
		{selector: "{matchLabels: {Example.com/app: web}}", invalid: true},
	} {
		inj, diags := ParseInjection(source.NewText("", []byte("templates: {sidecar: x}\nalwaysInjectSelector: ["+test.selector+"]")))
		if inj == nil || diags.HasErrors() || (len(diags) > 0) != test.invalid {
			t.Errorf("%s: %v", test.selector, diags)
			continue
		}
		got, err := inj.AlwaysInject[0].Matches(labels)
		if got != test.want || (err != nil) != test.invalid {
			t.Errorf("%s: got %v, %v", test.selector, got, err)
		}
	}
}
