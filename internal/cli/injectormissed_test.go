package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ingraft/ingraft/internal/cli"
	"github.com/ingraft/ingraft/internal/testkit"
)

// run runs a command with the cluster of a fake API server.
func runWith(t *testing.T, api *testkit.API, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = cli.Main(context.Background(), cli.Env{
		Args: append([]string{"ingraft", "--kubeconfig", api.Kubeconfig(t)}, args...), Dir: t.TempDir(),
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		LookupEnv: func(string) (string, bool) { return "", false }, Now: time.Now,
	})
	return code, out.String(), errs.String()
}

// I-62: pods that were made while the webhook was down, or before the namespace
// was labelled, are found, with what to restart; those that the rules leave out
// are not.
func TestI62MissedPods(t *testing.T) {
	api := controlPlane(t)
	api.Put(configMapPath, testkit.Object{"data": testkit.Object{
		"config": "policy: enabled\nneverInjectSelector: [{matchLabels: {batch: 'yes'}}]\ntemplates: {sidecar: 'spec: {}'}\n", "values": "{}",
	}})
	const admission = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/"
	hooks := find(t, manifestOf(t), "MutatingWebhookConfiguration").Any().(testkit.Object)
	delete(hooks, "kind") // the API server leaves it out in lists
	delete(hooks, "apiVersion")
	api.Put(admission+"ingraft-injector", hooks)
	api.Put(admission+"other", testkit.Object{"webhooks": []any{testkit.Object{"name": "other.example.com", "rules": hooks["webhooks"].([]any)[0].(testkit.Object)["rules"]}}})
	for name, label := range map[string]string{"shop": "enabled", "free": "disabled", "kube-system": "enabled"} {
		api.Put("/api/v1/namespaces/"+name, testkit.Object{"metadata": testkit.Object{"labels": testkit.Object{"istio-injection": label}}})
	}
	api.Put("/api/v1/namespaces/plain", testkit.Object{})
	pod := func(path string, labels, annotations testkit.Object, owner string, spec, status testkit.Object) {
		namespace := strings.Split(path, "/")[0]
		metadata := testkit.Object{"namespace": namespace, "labels": labels, "annotations": annotations}
		if owner != "" {
			kind, name, _ := strings.Cut(owner, "/")
			metadata["generateName"] = name + "-"
			metadata["ownerReferences"] = []any{testkit.Object{"apiVersion": "apps/v1", "kind": kind, "name": name, "controller": true}}
		}
		if spec == nil {
			spec = testkit.Object{"containers": []any{testkit.Object{"name": "app"}}}
		}
		api.Put("/api/v1/namespaces/"+strings.Replace(path, "/", "/pods/", 1), testkit.Object{"metadata": metadata, "spec": spec, "status": status})
	}
	o := func(pairs ...string) testkit.Object {
		m := testkit.Object{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	pod("shop/web", o("pod-template-hash", "5d"), nil, "ReplicaSet/web-5d", nil, nil)
	pod("shop/db-0", nil, nil, "StatefulSet/db", nil, nil)
	pod("shop/bare", nil, nil, "", nil, nil)
	pod("shop/custom-1", nil, nil, "Widget/custom", nil, nil)
	pod("plain/asks", o("sidecar.istio.io/inject", "true"), nil, "DaemonSet/asks", nil, nil)
	// These are as they should be:
	pod("shop/injected", nil, o("sidecar.istio.io/status", "{}"), "ReplicaSet/a", nil, nil)
	pod("shop/native", nil, nil, "ReplicaSet/a", testkit.Object{"containers": []any{}, "initContainers": []any{testkit.Object{"name": "istio-proxy"}}}, nil)
	pod("shop/out", o("sidecar.istio.io/inject", "false"), nil, "ReplicaSet/a", nil, nil)
	pod("shop/annotated", nil, o("sidecar.istio.io/inject", "false"), "ReplicaSet/a", nil, nil)
	pod("shop/host", nil, nil, "ReplicaSet/a", testkit.Object{"hostNetwork": true}, nil)
	pod("shop/batch", o("batch", "yes"), nil, "ReplicaSet/a", nil, nil)
	pod("shop/done", nil, nil, "Job/a", nil, o("phase", "Succeeded"))
	pod("free/web", nil, nil, "ReplicaSet/a", nil, nil)
	pod("plain/web", nil, o("sidecar.istio.io/inject", "true"), "ReplicaSet/a", nil, nil)
	pod("kube-system/dns", nil, nil, "ReplicaSet/a", nil, nil)

	code, stdout, stderr := runWith(t, api, "injector", "missed", "-A")
	want := `NAMESPACE  POD       WEBHOOK                        RESTART
plain      asks      object.injector.ingraft.io     kubectl -n plain rollout restart daemonset/asks
shop       bare      namespace.injector.ingraft.io  make the pod anew: nothing else does
shop       custom-1  namespace.injector.ingraft.io  kubectl -n shop delete pod custom-1
shop       db-0      namespace.injector.ingraft.io  kubectl -n shop rollout restart statefulset/db
shop       web       namespace.injector.ingraft.io  kubectl -n shop rollout restart deployment/web
`
	if diff := cmp.Diff(want, stdout); diff != "" || code != 0 || stderr != "" {
		t.Errorf("exit code %d, %s\n%s", code, stderr, diff)
	}

	code, stdout, _ = runWith(t, api, "injector", "missed", "-n", "plain", "-o", "json")
	var list []map[string]string
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || code != 0 || len(list) != 1 {
		t.Fatalf("%v, exit code %d: %s", err, code, stdout)
	}
	if list[0]["owner"] != "DaemonSet/asks" || list[0]["revision"] != "default" || list[0]["reason"] != `label sidecar.istio.io/inject: "true"` {
		t.Errorf("%v", list[0])
	}
	code, stdout, stderr = runWith(t, api, "injector", "missed", "-n", "free")
	if code != 0 || stdout != "" || stderr != "no pod lacks a sidecar that one of 4 injection webhooks would give it\n" {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}

	// Without the configuration the labels still tell.
	api.Delete(configMapPath)
	code, stdout, stderr = runWith(t, api, "injector", "missed", "-n", "shop")
	if code != 0 || !strings.Contains(stdout, "db-0") || !strings.HasPrefix(stderr, `warning: policy and selectors of revision "default" are not known`) {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
	api.Deny(func(_, path string) bool { return strings.HasSuffix(path, "/pods") })
	if code, _, stderr = runWith(t, api, "injector", "missed", "-n", "shop"); code != 1 || !strings.Contains(stderr, "Error: listing pods of namespace shop: you may not list") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	api.Deny(nil)
	api.Delete(admission + "ingraft-injector")
	if code, _, stderr = runWith(t, api, "injector", "missed", "-A"); code != 1 || !strings.Contains(stderr, "none of the 1 webhooks of the cluster is one") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if code, _, _ = runWith(t, api, "injector", "missed", "-o", "yaml"); code != 64 {
		t.Errorf("exit code %d", code)
	}
}
