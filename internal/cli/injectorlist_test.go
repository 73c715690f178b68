package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/testkit"
)

// The tables are those of istioctl, of the mesh's injectors and ingraft's.
func TestInjectorList(t *testing.T) {
	api := controlPlane(t)
	hooks := find(t, manifestOf(t), "MutatingWebhookConfiguration").Any().(testkit.Object)
	api.Put(hookPath+"ingraft-injector", hooks)
	canary := find(t, manifestOf(t, "--revision", "canary"), "MutatingWebhookConfiguration").Any().(testkit.Object)
	api.Put(hookPath+"ingraft-injector-canary", canary)
	idle := hookObject("rev.namespace.sidecar-injector.istio.io", testkit.Object{"service": testkit.Object{"namespace": "mesh", "name": "istiod"}})
	idle["metadata"] = testkit.Object{"labels": testkit.Object{"istio.io/rev": "idle"}}
	idle["webhooks"].([]any)[0].(testkit.Object)["namespaceSelector"] = testkit.Object{"matchLabels": testkit.Object{"istio.io/deactivated": "never-match"}}
	api.Put(hookPath+"istio-sidecar-injector-idle", idle)
	api.Put(hookPath+"other", testkit.Object{"webhooks": []any{testkit.Object{"name": "other.example.com"}}})
	api.Put("/api/v1/namespaces/istio-system/configmaps/istio-sidecar-injector", testkit.Object{
		"metadata": testkit.Object{"labels": testkit.Object{"istio.io/rev": "default"}},
		"data":     testkit.Object{"values": `{"global":{"hub":"docker.io/istio","tag":"1.31.0","proxy":{"image":"proxyv2"}}}`},
	})
	for name, labels := range map[string]testkit.Object{
		"shop": {"istio-injection": "enabled"}, "canary": {"istio.io/rev": "canary"}, "empty": {"istio-injection": "enabled"}, "plain": {},
		"lost": {"istio.io/rev": "1-20"}, "bare": {}, "ambient": {"istio.io/dataplane-mode": "ambient"}, "kube-system": {}, "mesh": {}, "ingraft-system": {}, "istio-system": {},
	} {
		api.Put("/api/v1/namespaces/"+name, testkit.Object{"metadata": testkit.Object{"labels": labels}})
	}
	pod := func(path string, labels, annotations testkit.Object) {
		namespace, name, _ := strings.Cut(path, "/")
		api.Put("/api/v1/namespaces/"+namespace+"/pods/"+name, testkit.Object{
			"metadata": testkit.Object{"namespace": namespace, "labels": labels, "annotations": annotations},
			"spec":     testkit.Object{"containers": []any{testkit.Object{"name": "app"}}, "initContainers": []any{testkit.Object{"name": "istio-proxy", "image": "mirror/proxyv2:1.30.0"}}},
		})
	}
	by := func(revision string) testkit.Object {
		return testkit.Object{"istio.io/rev": revision, "sidecar.istio.io/status": "{}"}
	}
	pod("shop/a", nil, by("default"))
	pod("shop/b", nil, testkit.Object{"sidecar.istio.io/status": `{"revision":"canary"}`})
	pod("shop/c", nil, nil)
	pod("shop/d", testkit.Object{"sidecar.istio.io/inject": "false"}, nil)
	pod("shop/e", nil, testkit.Object{"sidecar.istio.io/inject": "False"})
	pod("canary/a", nil, by("canary"))
	pod("plain/a", nil, nil)
	pod("plain/asks", testkit.Object{"sidecar.istio.io/inject": "true"}, testkit.Object{"sidecar.istio.io/status": "{}"})
	pod("ambient/a", nil, nil)
	pod("kube-system/a", nil, nil)

	const injectors = `
NAMESPACES          INJECTOR-HOOK               ISTIO-REVISION SIDECAR-IMAGE
empty               ingraft-injector            default        docker.io/istio/proxyv2:1.31.0
shop                ingraft-injector            default        docker.io/istio/proxyv2:1.31.0
canary              ingraft-injector-canary     canary         mirror/proxyv2:1.30.0
DOES NOT AUTOINJECT istio-sidecar-injector-idle idle           
`
	want := `NAMESPACE ISTIO-REVISION POD-REVISIONS
canary    canary         canary: 1
empty     default        <no pods>
lost      MISSING/1-20   <no pods>
plain                    <non-Istio>: 1
plain                    default: 1
shop      default        <non-Istio>: 3 (injection disabled: 2) NEEDS RESTART: 1
shop      default        canary: 1 NEEDS RESTART: 1
shop      default        default: 1
` + injectors
	for _, args := range [][]string{{"injector", "list"}, {"experimental", "injector", "list"}, {"x", "injector", "list", "-o", "table"}} {
		code, stdout, stderr := runWith(t, api, args...)
		if diff := cmp.Diff(want, stdout); diff != "" || code != 0 || stderr != "" {
			t.Errorf("%v: exit code %d, %s\n%s", args, code, stderr, diff)
		}
	}

	var list struct {
		Namespaces []struct {
			Namespace, Revision string
			Pods                []struct {
				Revision                               string
				Count, InjectionDisabled, NeedsRestart int
			}
		}
		Injectors []struct {
			InjectorHook, Revision, SidecarImage string
			Namespaces                           []string
		}
	}
	code, stdout, _ := runWith(t, api, "injector", "list", "-n", "shop", "-o", "json")
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || code != 0 || len(list.Namespaces) != 1 || len(list.Injectors) != 3 {
		t.Fatalf("%v, exit code %d: %s", err, code, stdout)
	}
	if p := list.Namespaces[0].Pods[0]; p.Revision != "<non-Istio>" || p.Count != 3 || p.InjectionDisabled != 2 || p.NeedsRestart != 1 {
		t.Errorf("%+v", p)
	}
	code, yaml, _ := runWith(t, api, "injector", "list", "-n", "shop", "-o", "yaml")
	doc, err := source.Parse(source.NewText("list", []byte(yaml)))
	if err != nil || code != 0 || canonicalJSON(t, source.AppendJSON(nil, doc.Root)) != canonicalJSON(t, []byte(stdout)) {
		t.Errorf("%v, exit code %d: %s", err, code, yaml)
	}
	if code, _, stderr := runWith(t, api, "injector", "list", "-o", "wide"); code != 64 || !strings.Contains(stderr, `--output "wide" is not table, json or yaml`) {
		t.Errorf("exit code %d, %s", code, stderr)
	}

	// Without ConfigMaps the pods tell the image; without pods there is nothing.
	api.Deny(func(_, path string) bool { return strings.Contains(path, "/configmaps") })
	if code, stdout, _ = runWith(t, api, "injector", "list"); code != 0 || !strings.Contains(stdout, "shop                ingraft-injector            default        mirror/proxyv2:1.30.0\n") {
		t.Errorf("exit code %d, %s", code, stdout)
	}
	api.Deny(func(_, path string) bool { return strings.HasSuffix(path, "/pods") })
	if code, stdout, stderr := runWith(t, api, "injector", "list"); code != 1 || stdout != "" || !strings.Contains(stderr, "Error: listing pods: you may not list") {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
	empty := testkit.NewAPI(t)
	if code, stdout, _ = runWith(t, empty, "x", "injector", "list"); code != 0 || stdout != "No Istio injected namespaces present.\n\nNo Istio injection hooks present.\n" {
		t.Errorf("exit code %d, %s", code, stdout)
	}
}

func canonicalJSON(t *testing.T, data []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
