package admit_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingraft/ingraft/internal/admit"
	"github.com/ingraft/ingraft/internal/source"
)

var update = flag.Bool("update", false, "write docs/precedence.md")

// docs/precedence.md is printed from the lists of rules.
func TestPrecedenceDocIsFresh(t *testing.T) {
	const path = "../../docs/precedence.md"
	var b bytes.Buffer
	b.WriteString("# Who is injected\n\nThe first rule that decides ends the decision. At admission the API server goes through\n" +
		"the rules of every webhook before it asks ingraft; the command line begins below them.\nThis table is printed from the rules themselves\n" +
		"(`go test ./internal/admit -run TestPrecedenceDocIsFresh -update`).\n\n")
	b.WriteString("| | rule | what it does | asked |\n|---|---|---|---|\n")
	for i, s := range admit.Precedence() {
		fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", i+1, s.Name, s.Effect, s.Asked)
	}
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, b.Bytes()) {
		t.Errorf("%s is not what the rules say (%v); write it with -update", path, err)
	}
}

func parse(t testing.TB, text string) *source.Node {
	t.Helper()
	doc, err := source.Parse(source.NewText("test", []byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root
}

func hook(t testing.TB, version, fields string) admit.Hook {
	t.Helper()
	hooks, bad := admit.ParseHooks(parse(t, `{apiVersion: admissionregistration.k8s.io/`+version+`, kind: MutatingWebhookConfiguration,
		metadata: {name: c, labels: {istio.io/rev: canary}}, webhooks: [{name: h, `+fields+`}]}`))
	if len(bad) > 0 || len(hooks) != 1 {
		t.Fatalf("%d webhooks, %v", len(hooks), bad)
	}
	return hooks[0]
}

const pods = `rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]`

func TestDefaultsOfVersions(t *testing.T) {
	old, now := hook(t, "v1beta1", pods), hook(t, "v1", pods)
	if old.Fails || !now.Fails || old.Timeout != 30 || now.Timeout != 10 {
		t.Errorf("v1beta1: %v, %d s; v1: %v, %d s", old.Fails, old.Timeout, now.Fails, now.Timeout)
	}
	if diff := cmp.Diff([]string{"v1beta1"}, old.ReviewVersions); diff != "" || now.ReviewVersions != nil {
		t.Error(diff, now.ReviewVersions)
	}
	h := hook(t, "v1", pods+`, failurePolicy: Ignore, timeoutSeconds: 3, reinvocationPolicy: IfNeeded, admissionReviewVersions: [v1, v1beta1],
		clientConfig: {service: {namespace: ns, name: svc, path: /inject}, caBundle: QQ==}`)
	if h.Fails || h.Timeout != 3 || !h.Reinvoked || len(h.ReviewVersions) != 2 || h.Service != "ns/svc" || h.Path != "/inject" || h.Port != 443 || h.CABundle != "QQ==" || h.Revision != "canary" {
		t.Errorf("%+v", h)
	}
	if h := hook(t, "v1", pods+`, clientConfig: {url: "https://x/inject"}`); h.URL != "https://x/inject" || h.Service != "" {
		t.Errorf("%+v", h)
	}
}

func TestAsk(t *testing.T) {
	for _, tc := range []struct {
		name, fields   string
		pod, namespace string
		want           admit.Verdict
		rules          int
		evidence       string // of the last rule
	}{
		{"no selectors", pods, "{}", "", admit.Asked, 4, "no matchConditions"},
		{"stars", `rules: [{operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"], scope: Namespaced}]`, "{}", "", admit.Asked, 4, ""},
		{"no rules", "rules: []", "{}", "", admit.NotAsked, 1, "no rule lists CREATE of v1 pods"},
		{"deployments", `rules: [{operations: [CREATE], apiGroups: [apps], apiVersions: [v1], resources: [deployments]}]`, "{}", "", admit.NotAsked, 1, ""},
		{"updates", `rules: [{operations: [UPDATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]`, "{}", "", admit.NotAsked, 1, ""},
		{"of the cluster", `rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods], scope: Cluster}]`, "{}", "", admit.NotAsked, 1, ""},
		{"empty selectors", pods + ", namespaceSelector: {}, objectSelector: {}", "{}", "", admit.Asked, 4, ""},
		{"namespace matches", pods + ", namespaceSelector: {matchLabels: {istio-injection: enabled}}", "{}", "metadata: {labels: {istio-injection: enabled}}", admit.Asked, 4, ""},
		{"namespace does not", pods + ", namespaceSelector: {matchLabels: {istio-injection: enabled}}", "{}", "metadata: {labels: {istio-injection: abc}}", admit.NotAsked, 2, `namespaceSelector wants "istio-injection=enabled", but label istio-injection is "abc"`},
		{"namespace is not known", pods + ", namespaceSelector: {matchLabels: {a: b}}", "{}", "", admit.Perhaps, 4, ""},
		{"name of the namespace", pods + ", namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system]}]}", "{}", "metadata: {name: kube-system}", admit.NotAsked, 2, ""},
		{"pod opts out", pods + ", objectSelector: {matchExpressions: [{key: sidecar.istio.io/inject, operator: NotIn, values: ['false']}]}", "metadata: {labels: {sidecar.istio.io/inject: 'false'}}", "", admit.NotAsked, 3, `objectSelector wants "sidecar.istio.io/inject notin (false)", but label sidecar.istio.io/inject is "false"`},
		{"annotation cannot opt in", pods + ", objectSelector: {matchLabels: {sidecar.istio.io/inject: 'true'}}", "metadata: {annotations: {sidecar.istio.io/inject: 'true'}}", "", admit.NotAsked, 3, `objectSelector wants "sidecar.istio.io/inject=true", but label sidecar.istio.io/inject is not there`},
		{"conditions", pods + ", matchConditions: [{name: not-me, expression: 'true'}]", "{}", "", admit.Perhaps, 4, `expressions are not evaluated: "not-me"`},
	} {
		h := hook(t, "v1", tc.fields)
		var namespace *source.Node
		if tc.namespace != "" {
			namespace = parse(t, tc.namespace)
		}
		a := h.Ask(parse(t, tc.pod), namespace)
		last := a.Rules[len(a.Rules)-1]
		if a.Verdict != tc.want || len(a.Rules) != tc.rules || tc.evidence != "" && last.Evidence != tc.evidence {
			t.Errorf("%s: %s, %+v", tc.name, a.Verdict, a.Rules)
		}
		if last.Decided != (a.Verdict == admit.NotAsked) {
			t.Errorf("%s: the last rule decided: %v", tc.name, last.Decided)
		}
	}
}

func TestFindings(t *testing.T) {
	for _, tc := range []struct{ text, message string }{
		{
			`{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: c}, webhooks: [{name: h, objectSelector: {matchExpressions: [{key: a, operator: Is}]}}]}`,
			`objectSelector of webhook "h" is none that an API server takes`,
		},
		{`{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, webhooks: [{name: h, namespaceSelector: [a]}]}`, "namespaceSelector of webhook"},
		{`{apiVersion: admissionregistration.k8s.io/v1alpha1, kind: MutatingWebhookConfiguration, webhooks: [{name: h}]}`, `version "v1alpha1" are not known`},
	} {
		hooks, bad := admit.ParseHooks(parse(t, tc.text))
		if len(hooks) != 0 || len(bad) != 1 || !strings.Contains(bad[0].Message, tc.message) || !bad[0].Span.IsValid() {
			t.Errorf("%s: %d webhooks, %v", tc.text, len(hooks), bad)
		}
	}
	if hooks, bad := admit.ParseHooks(parse(t, "{apiVersion: v1, kind: Pod}"), parse(t, "[]")); len(hooks)+len(bad) != 0 {
		t.Errorf("%v, %v", hooks, bad)
	}
}

// Configurations are called by name, their webhooks as they stand.
func TestOrder(t *testing.T) {
	c := func(name, hooks string) *source.Node {
		return parse(t, `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: `+name+`}, webhooks: `+hooks+`}`)
	}
	hooks, _ := admit.ParseHooks(c("b", "[{name: one}, {name: w}]"), c("a", "[{name: z}, {name: x}]"))
	var got []string
	for _, h := range hooks {
		got = append(got, h.Configuration+"/"+h.Name)
	}
	if diff := cmp.Diff([]string{"a/z", "a/x", "b/one", "b/w"}, got); diff != "" {
		t.Error(diff)
	}
}

// What the installs of all releases ask about, by the labels of namespace and
// pod (shared facts, section 10).
func TestDefaultInstalls(t *testing.T) {
	dir := ""
	for _, up := range []string{"../../../shared/legacy", "../../../../shared/legacy"} {
		if _, err := os.Stat(up); err == nil {
			dir = up
		}
	}
	if dir == "" {
		t.Skip("the releases' webhook configurations are not there")
	}
	files, err := filepath.Glob(dir + "/*/webhook.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no webhook configurations", err)
	}
	for _, file := range files {
		tag := filepath.Base(filepath.Dir(file))
		t.Run(tag, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			hooks, bad := admit.ParseHooks(parse(t, string(data)))
			if len(hooks) == 0 || len(bad) > 0 {
				t.Fatalf("%d webhooks, %v", len(hooks), bad)
			}
			for _, h := range hooks {
				if !h.Fails || h.Path != "/inject" {
					t.Errorf("%s: %+v", h.Name, h)
				}
			}
			// Since 1.10 pods are asked about by their labels, too.
			labelled := strings.Contains(string(data), "objectSelector")
			byObject := len(hooks) > 1
			byRevision := len(hooks) > 2
			for _, tc := range []struct {
				namespace, pod string
				want           bool
			}{
				{"{istio-injection: enabled}", "{}", true},
				{"{istio-injection: disabled}", "{}", false},
				{"{istio-injection: abc}", "{sidecar.istio.io/inject: 'true'}", false},
				{"{}", "{}", false},
				{"{}", "{sidecar.istio.io/inject: 'true'}", byObject},
				{"{istio-injection: enabled}", "{sidecar.istio.io/inject: 'false'}", !labelled},
				{"{istio.io/rev: default}", "{}", byRevision},
				{"{}", "{istio.io/rev: default}", byRevision},
				{"{istio-injection: enabled, istio.io/rev: canary}", "{}", true},
			} {
				asked := 0
				for _, h := range hooks {
					if h.Ask(parse(t, "metadata: {labels: "+tc.pod+"}"), parse(t, "metadata: {name: shop, labels: "+tc.namespace+"}")).Verdict == admit.Asked {
						asked++
					}
				}
				if asked > 1 || (asked == 1) != tc.want {
					t.Errorf("namespace %s, pod %s: %d webhooks are asked", tc.namespace, tc.pod, asked)
				}
			}
		})
	}
}
