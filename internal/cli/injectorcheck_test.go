package cli_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ingraft/ingraft/internal/certs"
	"github.com/ingraft/ingraft/internal/testkit"
)

// checkedCluster is a cluster with an injector of ingraft that works: what the
// manifest makes, a pod that serves, and an API server that lets it have all
// rights and gives pods a sidecar.
type checkedCluster struct {
	*testkit.API
	hooks testkit.Object
	// denies names what the injector's service account may not.
	denies string
	// refuses is what the API server says to a pod; plain tells that it makes the
	// pod without a sidecar.
	refuses string
	code    int
	plain   bool
	tried   testkit.Object
}

const injectorHooks = hookPath + "ingraft-injector"

func newCheckedCluster(t *testing.T) *checkedCluster {
	t.Helper()
	c := &checkedCluster{API: controlPlane(t)}
	c.Put("/version", testkit.Object{"gitVersion": "v1.33.1"})
	dir := t.TempDir()
	s := serveInjector(t, dir, "--ca-file", "ca.crt", "--dns-name", "ingraft-injector.ingraft-system.svc")
	objects := manifestOf(t)
	c.hooks = find(t, objects, "MutatingWebhookConfiguration").Any().(testkit.Object)
	c.trust(bundleOf(t, filepath.Join(dir, "ca.crt")))
	const in = "/api/v1/namespaces/ingraft-system/"
	c.Put(in+"services/ingraft-injector", find(t, objects, "Service").Any().(testkit.Object))
	pod := find(t, objects, "Deployment").Get("spec", "template").Any().(testkit.Object)
	pod["metadata"].(testkit.Object)["namespace"] = "ingraft-system"
	pod["status"] = testkit.Object{"phase": "Running", "conditions": []any{testkit.Object{"type": "Ready", "status": "True"}}}
	c.Put(in+"pods/ingraft-injector-1", pod)
	c.Forward("ingraft-system", "ingraft-injector-1", s.webhook)
	c.endpoints(true, true)
	for name, labels := range map[string]testkit.Object{"default": {}, "kube-system": {}, "shop": {"istio-injection": "enabled"}} {
		c.Put("/api/v1/namespaces/"+name, testkit.Object{"metadata": testkit.Object{"labels": labels}})
	}
	c.Answer(c.answer)
	return c
}

func (c *checkedCluster) trust(bundle string) {
	for _, h := range c.hooks["webhooks"].([]any) {
		config := h.(testkit.Object)["clientConfig"].(testkit.Object)
		delete(config, "caBundle")
		if bundle != "" {
			config["caBundle"] = bundle
		}
	}
	c.Put(injectorHooks, c.hooks)
}

func (c *checkedCluster) endpoints(ready ...bool) {
	list := []any{}
	for _, r := range ready {
		list = append(list, testkit.Object{"addresses": []any{"10.0.0.1"}, "conditions": testkit.Object{"ready": r}})
	}
	c.Put("/apis/discovery.k8s.io/v1/namespaces/ingraft-system/endpointslices/ingraft-injector-x", testkit.Object{
		"metadata": testkit.Object{"labels": testkit.Object{"kubernetes.io/service-name": "ingraft-injector"}}, "endpoints": list,
	})
}

func (c *checkedCluster) answer(r *http.Request, body testkit.Object) (testkit.Object, int) {
	status := func(code int, message string) (testkit.Object, int) {
		return testkit.Object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code}, code
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/subjectaccessreviews"):
		data, _ := json.Marshal(body["spec"])
		return testkit.Object{"status": testkit.Object{"allowed": c.denies == "" || !strings.Contains(string(data), c.denies)}}, http.StatusCreated
	case r.URL.Query().Get("dryRun") == "All" && c.refuses != "":
		return status(c.code, c.refuses)
	case r.URL.Query().Get("dryRun") == "All":
		c.tried = body
		if !c.plain {
			body["metadata"].(testkit.Object)["annotations"] = testkit.Object{"sidecar.istio.io/status": "{}"}
		}
		return body, http.StatusCreated
	}
	return nil, 0
}

// check runs the command, and returns its lines by check and status.
func (c *checkedCluster) check(t *testing.T, wantCode int, args ...string) string {
	t.Helper()
	code, stdout, stderr := runWith(t, c.API, append([]string{"injector", "check"}, args...)...)
	if code != wantCode {
		t.Errorf("exit code %d, want %d: %s%s", code, wantCode, stdout, stderr)
	}
	return stdout + stderr
}

// wants looks for lines that begin with a status and a check and hold a text.
func wants(t *testing.T, out string, lines ...[3]string) {
	t.Helper()
	for _, l := range lines {
		found := false
		for line := range strings.Lines(out) {
			rest, ok := strings.CutPrefix(line, l[0])
			found = found || ok && strings.HasPrefix(strings.TrimLeft(rest, " "), l[1]+" ") && strings.Contains(line, l[2])
		}
		if !found {
			t.Errorf("no line %q in\n%s", l, out)
		}
	}
}

func TestInjectorCheck(t *testing.T) {
	c := newCheckedCluster(t)
	out := c.check(t, 0)
	wants(t, out,
		[3]string{"ok", "API server", "version v1.33.1"},
		[3]string{"ok", "webhooks", "4 webhooks, revision default, failurePolicy Fail, timeout 10 s"},
		[3]string{"ok", "caBundle", "1 certificate"},
		[3]string{"ok", "service", "ingraft-system/ingraft-injector"},
		[3]string{"ok", "endpoints", "2 of 2 ready"},
		[3]string{"ok", "certificate", "for ingraft-injector.ingraft-system.svc, until "},
		[3]string{"ok", "configuration", "policy enabled, 1 template"},
		[3]string{"ok", "rights", "service account ingraft-system/ingraft-injector"},
		[3]string{"ok", "labels", "1 of 3 ask for injection"},
		[3]string{"ok", "overlap", "no pod is sent to two of them"},
		[3]string{"ok", "dry run", "namespace shop"},
	)
	if strings.Count(out, "\n") != 13 || !strings.HasSuffix(out, "0 errors, 0 warnings\n") {
		t.Errorf("%s", out)
	}
	if spec := c.tried["spec"].(testkit.Object); spec["securityContext"].(testkit.Object)["runAsNonRoot"] != true || c.Get("/api/v1/namespaces/shop/pods/ingraft-check") != nil {
		t.Errorf("sent %v", c.tried)
	}

	var report struct {
		Checks                    []map[string]string
		Errors, Warnings, Unknown int
	}
	code, stdout, _ := runWith(t, c.API, "injector", "check", "-o", "json", "--webhook-config", "ingraft-injector", "-n", "shop")
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != 0 || len(report.Checks) != 11 || report.Errors+report.Warnings+report.Unknown != 0 || report.Checks[10]["check"] != "dry run" {
		t.Errorf("%v, exit code %d: %s", err, code, stdout)
	}
	for _, args := range [][]string{{"-o", "yaml"}, {"--timeout", "0s"}, {"--timeout", "x"}, {"more"}} {
		c.check(t, 64, args...)
	}
	wants(t, c.check(t, 1, "--webhook-config", "gone"), [3]string{"error", "webhooks", "those that inject are ingraft-injector"})
}

// Whatever is broken is found, with its usual cause and the mend.
func TestInjectorCheckFindsWhatIsBroken(t *testing.T) {
	const service = "/api/v1/namespaces/ingraft-system/services/ingraft-injector"
	const pod = "/api/v1/namespaces/ingraft-system/pods/ingraft-injector-1"
	change := func(c *checkedCluster, path string, f func(testkit.Object)) {
		o := c.Get(path)
		f(o)
		c.Put(path, o)
	}
	eachHook := func(c *checkedCluster, f func(h testkit.Object)) {
		for _, h := range c.hooks["webhooks"].([]any) {
			f(h.(testkit.Object))
		}
		c.Put(injectorHooks, c.hooks)
	}
	calling := func(why string) string {
		return `Internal error occurred: failed calling webhook "namespace.injector.ingraft.io": failed to call webhook: Post "https://ingraft-injector.ingraft-system.svc:443/inject?timeout=10s": ` + why
	}
	for name, tc := range map[string]struct {
		do   func(t *testing.T, c *checkedCluster)
		code int
		want [3]string
	}{
		"nothing injects": {func(_ *testing.T, c *checkedCluster) { c.Delete(injectorHooks) }, 1, [3]string{"error", "webhooks", "Install an injector"}},
		"empty caBundle":  {func(_ *testing.T, c *checkedCluster) { c.trust("") }, 1, [3]string{"error", "caBundle", "Usual cause: the manifest was applied again"}},
		"caBundle of another": {
			func(t *testing.T, c *checkedCluster) { c.trust(bundleOf(t, otherAuthority(t))) },
			1,
			[3]string{"error", "certificate", "caBundle of ingraft-injector does not trust it"},
		},
		"caBundle of nonsense": {func(_ *testing.T, c *checkedCluster) { c.trust("bm9uZQ==") }, 1, [3]string{"error", "caBundle", "it holds no certificate in PEM"}},
		"Ignore": {
			func(_ *testing.T, c *checkedCluster) {
				eachHook(c, func(h testkit.Object) { h["failurePolicy"] = "Ignore" })
			},
			0,
			[3]string{"warning", "webhooks", "pods are made without a sidecar, and nobody is told"},
		},
		"side effects": {
			func(_ *testing.T, c *checkedCluster) {
				eachHook(c, func(h testkit.Object) { delete(h, "sideEffects") })
			},
			0,
			[3]string{"warning", "webhooks", "--dry-run=server fails"},
		},
		"rules": {
			func(_ *testing.T, c *checkedCluster) { eachHook(c, func(h testkit.Object) { h["rules"] = []any{} }) },
			1,
			[3]string{"error", "webhooks", "it is not asked about new pods"},
		},
		"no service": {func(_ *testing.T, c *checkedCluster) { c.Delete(service) }, 1, [3]string{"error", "service", "it does not exist"}},
		"another port": {
			func(_ *testing.T, c *checkedCluster) {
				change(c, service, func(o testkit.Object) { o["spec"].(testkit.Object)["ports"].([]any)[0].(testkit.Object)["port"] = 8443 })
			}, 1, [3]string{"error", "service", "it has no port 443, which the webhook configuration names; it has 8443, 15014"},
		},
		"none ready": {
			func(_ *testing.T, c *checkedCluster) {
				c.endpoints(false, false)
				change(c, pod, func(o testkit.Object) {
					o["status"] = testkit.Object{"phase": "Pending", "containerStatuses": []any{testkit.Object{"state": testkit.Object{"waiting": testkit.Object{"reason": "ImagePullBackOff"}}}}}
				})
			}, 1, [3]string{"error", "endpoints", "2 are there, and none is ready (ingraft-injector-1: ImagePullBackOff)"},
		},
		"no pod": {
			func(_ *testing.T, c *checkedCluster) { c.endpoints(); c.Delete(pod) },
			1,
			[3]string{"error", "endpoints", "there is none at all, and no pod that the Service selects"},
		},
		"port that takes no connection": {
			func(_ *testing.T, c *checkedCluster) {
				c.Forward("ingraft-system", "ingraft-injector-1", "127.0.0.1:1")
			},
			1,
			[3]string{"error", "certificate", "port 15017 does not take a TLS connection"},
		},
		"no configuration": {func(_ *testing.T, c *checkedCluster) { c.Delete(configMapPath) }, 1, [3]string{"error", "configuration", "does not exist"}},
		"broken configuration": {
			func(_ *testing.T, c *checkedCluster) { putConfig(c.API, "one", "global: [") },
			1,
			[3]string{"error", "configuration", "it is broken: "},
		},
		"policy": {
			func(_ *testing.T, c *checkedCluster) {
				c.Put(configMapPath, testkit.Object{"data": testkit.Object{"config": "policy: disabled\ntemplates: {sidecar: 'spec: {}'}\n", "values": "{}"}})
			}, 0, [3]string{"warning", "configuration", "policy is disabled"},
		},
		"rights of the injector": {
			func(_ *testing.T, c *checkedCluster) {
				c.denies = `"resource":"mutatingwebhookconfigurations","verb":"patch"`
			},
			1,
			[3]string{"error", "rights", "it may not patch mutatingwebhookconfigurations.admissionregistration.k8s.io/ingraft-injector: caBundle is not kept right"},
		},
		"revision that nobody has": {
			func(_ *testing.T, c *checkedCluster) {
				c.Put("/api/v1/namespaces/lost", testkit.Object{"metadata": testkit.Object{"labels": testkit.Object{"istio.io/rev": "1-20"}}})
			}, 1, [3]string{"error", "labels", "namespace lost"},
		},
		"pods that nobody selects": {
			func(_ *testing.T, c *checkedCluster) {
				c.Put("/api/v1/namespaces/default/pods/p", testkit.Object{"metadata": testkit.Object{"namespace": "default", "labels": testkit.Object{"istio.io/rev": "1-20"}}})
			}, 0, [3]string{"warning", "labels", "1 pod ask by label istio.io/rev for injection, but no webhook selects them: default/p"},
		},
		"two webhooks": {
			func(_ *testing.T, c *checkedCluster) {
				c.Put(hookPath+"istio-sidecar-injector", c.hooks)
			}, 1, [3]string{"error", "overlap", "are sent to istio-sidecar-injector namespace.injector.ingraft.io, too, in namespace shop"},
		},
		"firewall": {
			func(_ *testing.T, c *checkedCluster) { c.refuses, c.code = calling("context deadline exceeded"), 500 },
			1,
			[3]string{"error", "dry run", "Let the API server's machines reach port 15017"},
		},
		"certificate, as the API server sees it": {
			func(_ *testing.T, c *checkedCluster) {
				c.refuses, c.code = calling("x509: certificate signed by unknown authority"), 500
			},
			1,
			[3]string{"error", "dry run", "Usual cause: caBundle is empty or another's"},
		},
		"names, as the API server sees them": {
			func(_ *testing.T, c *checkedCluster) {
				c.refuses, c.code = calling("x509: certificate is valid for localhost, not ingraft-injector.ingraft-system.svc"), 500
			}, 1, [3]string{"error", "dry run", "Give the injector a certificate for ingraft-injector.ingraft-system.svc"},
		},
		"endpoints, as the API server sees them": {
			func(_ *testing.T, c *checkedCluster) {
				c.refuses, c.code = calling(`no endpoints available for service "ingraft-injector"`), 500
			},
			1,
			[3]string{"error", "dry run", "Usual cause: no replica of the injector is ready"},
		},
		"a path that is wrong": {
			func(_ *testing.T, c *checkedCluster) {
				c.refuses, c.code = calling("the server could not find the requested resource"), 500
			},
			1,
			[3]string{"error", "dry run", "Set the path of clientConfig"},
		},
		"what nobody has seen": {
			func(_ *testing.T, c *checkedCluster) { c.refuses, c.code = calling("gremlins"), 500 },
			1,
			[3]string{"error", "dry run", "Usual cause: not known"},
		},
		"plugin off": {func(_ *testing.T, c *checkedCluster) { c.plain = true }, 1, [3]string{"error", "dry run", "the admission plugin MutatingAdmissionWebhook is off"}},
		"configuration says no": {
			func(_ *testing.T, c *checkedCluster) {
				c.plain = true
				c.Put(configMapPath, testkit.Object{"data": testkit.Object{"config": "policy: disabled\ntemplates: {sidecar: 'spec: {}'}\n", "values": "{}"}})
			}, 0, [3]string{"warning", "dry run", "its configuration says so"},
		},
		"Ignore hides it": {
			func(_ *testing.T, c *checkedCluster) {
				c.plain = true
				eachHook(c, func(h testkit.Object) { h["failurePolicy"] = "Ignore" })
			}, 1, [3]string{"error", "dry run", "which failurePolicy Ignore hides"},
		},
		"conditions": {
			func(_ *testing.T, c *checkedCluster) {
				c.plain = true
				eachHook(c, func(h testkit.Object) {
					h["matchConditions"] = []any{testkit.Object{"name": "never", "expression": "false"}}
				})
			}, 0, [3]string{"warning", "dry run", "its matchConditions may keep the API server from asking"},
		},
		"denied": {
			func(_ *testing.T, c *checkedCluster) {
				c.refuses, c.code = `admission webhook "namespace.injector.ingraft.io" denied the request: values lack global.hub`, 400
			},
			1,
			[3]string{"error", "dry run", "the injector denies the pod: values lack global.hub"},
		},
		"denied by another": {
			func(_ *testing.T, c *checkedCluster) {
				c.refuses, c.code = `admission webhook "policy.example.com" denied the request: no pause`, 403
			},
			77,
			[3]string{"unknown", "dry run", "another webhook, policy.example.com, denies the pod of this check: no pause"},
		},
		"another that fails": {
			func(_ *testing.T, c *checkedCluster) {
				c.refuses, c.code = `Internal error occurred: failed calling webhook "policy.example.com": EOF`, 500
			},
			0,
			[3]string{"warning", "dry run", "another webhook, policy.example.com, cannot be called"},
		},
		"another without dry runs": {
			func(_ *testing.T, c *checkedCluster) {
				c.refuses, c.code = `admission webhook "policy.example.com" does not support dry run`, 400
			},
			77,
			[3]string{"unknown", "dry run", "webhook policy.example.com does not support a dry run"},
		},
		"Pod Security": {
			func(_ *testing.T, c *checkedCluster) {
				c.refuses, c.code = `pods "x" is forbidden: violates PodSecurity "restricted:latest": unrestricted capabilities`, 403
			},
			0,
			[3]string{"warning", "dry run", "Pod Security refuses the pod with its sidecar"},
		},
		"quota": {
			func(_ *testing.T, c *checkedCluster) {
				c.refuses, c.code = `pods "x" is forbidden: exceeded quota: q`, 403
			},
			77,
			[3]string{"unknown", "dry run", "Choose another namespace with -n"},
		},
		"no label": {
			func(_ *testing.T, c *checkedCluster) {
				for _, n := range []string{"shop", "default"} { // kube-system is never asked about
					c.Delete("/api/v1/namespaces/" + n)
				}
			}, 0, [3]string{"warning", "dry run", "kubectl label namespace NAME istio.io/rev=default"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCheckedCluster(t)
			tc.do(t, c)
			wants(t, c.check(t, tc.code), tc.want)
		})
	}
}

// What may not be looked at is said, and what can be found out without it is.
func TestInjectorCheckWithoutRights(t *testing.T) {
	for name, tc := range map[string]struct {
		denied func(verb, path string) bool
		want   [][3]string
	}{
		"configurations": {
			func(_, path string) bool { return strings.Contains(path, "mutatingwebhook") },
			[][3]string{{"unknown", "webhooks", "you may not list"}},
		},
		"namespaces": {
			func(verb, path string) bool { return verb == "list" && strings.HasSuffix(path, "/namespaces") },
			[][3]string{{"unknown", "labels", "you may not list"}, {"ok", "dry run", "namespace default"}},
		},
		"services": {
			func(_, path string) bool { return strings.Contains(path, "/services/") },
			[][3]string{{"unknown", "service", "you may not get"}, {"ok", "endpoints", "2 of 2"}},
		},
		"endpoint slices": {
			func(_, path string) bool { return strings.Contains(path, "endpointslices") },
			[][3]string{{"unknown", "endpoints", "you may not list"}, {"ok", "service", "port 443"}},
		},
		"ports": {
			func(_, path string) bool { return strings.HasSuffix(path, "/portforward") },
			[][3]string{{"error", "certificate", "key tls.crt holds no certificate"}},
		},
		"ports and secrets": {
			func(_, path string) bool {
				return strings.HasSuffix(path, "/portforward") || strings.Contains(path, "/secrets/")
			},
			[][3]string{{"unknown", "certificate", "you may not get"}},
		},
		"reviews": {
			func(_, path string) bool { return strings.Contains(path, "subjectaccessreviews") },
			[][3]string{{"unknown", "rights", "you may not create"}},
		},
		"configuration": {
			func(_, path string) bool { return strings.Contains(path, "/configmaps") },
			[][3]string{{"unknown", "configuration", "you may not get"}},
		},
		"pods": {
			func(verb, path string) bool { return verb == "create" && strings.HasSuffix(path, "/pods") },
			[][3]string{{"unknown", "dry run", "Ask for the right to create pods there"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCheckedCluster(t)
			code := 77
			if name == "ports" {
				code = 1
				c.Put("/api/v1/namespaces/ingraft-system/secrets/ingraft-injector", testkit.Object{"data": testkit.Object{}})
			}
			c.Deny(tc.denied)
			wants(t, c.check(t, code), tc.want...)
		})
	}
}

// Certificates at the end of their time are told, also those in the Secret.
func TestInjectorCheckOfCertificates(t *testing.T) {
	c := newCheckedCluster(t)
	secret := "/api/v1/namespaces/ingraft-system/secrets/ingraft-injector"
	c.Deny(func(_, path string) bool { return strings.HasSuffix(path, "/portforward") })
	for _, tc := range []struct {
		made  time.Duration
		names string
		want  [3]string
	}{
		{0, "ingraft-injector.ingraft-system.svc", [3]string{"ok", "certificate", "until "}},
		{-26 * 24 * time.Hour, "ingraft-injector.ingraft-system.svc", [3]string{"warning", "certificate", "and was not renewed yet"}},
		{-40 * 24 * time.Hour, "ingraft-injector.ingraft-system.svc", [3]string{"error", "certificate", "it expired on "}},
		{24 * time.Hour, "ingraft-injector.ingraft-system.svc", [3]string{"error", "certificate", "on only"}},
		{0, "localhost", [3]string{"error", "certificate", "it is not for ingraft-injector.ingraft-system.svc, the name that the API server asks for, but for localhost"}},
		{-400 * 24 * time.Hour, "localhost", [3]string{"error", "caBundle", "have expired"}},
		{-360 * 24 * time.Hour, "localhost", [3]string{"warning", "caBundle", "the last certificate of caBundle expires on"}},
	} {
		state, err := certs.DefaultPolicy.Next(nil, []string{tc.names}, time.Now().Add(tc.made))
		if err != nil {
			t.Fatal(err)
		}
		data, err := state.Encode()
		if err != nil {
			t.Fatal(err)
		}
		c.Put(secret, testkit.Object{"data": testkit.Object{"tls.crt": data["tls.crt"]}})
		c.trust(base64Of(data["ca.crt"]))
		code := map[string]int{"ok": 0, "warning": 0, "error": 1}[tc.want[0]]
		if tc.made < -50*24*time.Hour {
			code = 1 // of the certificate
		}
		wants(t, c.check(t, code), tc.want)
	}
}

// A cluster that does not answer is told within the time that is given.
func TestInjectorCheckOfSilence(t *testing.T) {
	c := newCheckedCluster(t)
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	c.Answer(func(r *http.Request, body testkit.Object) (testkit.Object, int) {
		if strings.HasSuffix(r.URL.Path, "/subjectaccessreviews") {
			select {
			case <-ended:
			case <-r.Context().Done():
			}
		}
		return c.answer(r, body)
	})
	began := time.Now()
	out := c.check(t, 77, "--timeout", "700ms")
	wants(t, out, [3]string{"ok", "certificate", "until"}, [3]string{"unknown", "rights", "the 700ms of --timeout are over"}, [3]string{"unknown", "dry run", "not looked at"})
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
	c.Close()
	wants(t, c.check(t, 1), [3]string{"error", "API server", "cannot be reached"})
}

// The mesh's own webhooks are checked, too, and one outside the cluster.
func TestInjectorCheckOfTheMesh(t *testing.T) {
	c := newCheckedCluster(t)
	hooks := hookObject("rev.namespace.sidecar-injector.istio.io", testkit.Object{
		"service":  testkit.Object{"namespace": "istio-system", "name": "istiod", "path": "/inject"},
		"caBundle": c.hooks["webhooks"].([]any)[0].(testkit.Object)["clientConfig"].(testkit.Object)["caBundle"],
	})
	hooks["webhooks"].([]any)[0].(testkit.Object)["namespaceSelector"] = testkit.Object{"matchLabels": testkit.Object{"istio-injection": "enabled"}}
	c.Delete(injectorHooks)
	c.Put(hookPath+"istio-sidecar-injector", hooks)
	dir := t.TempDir()
	s := serveInjector(t, dir, "--ca-file", "ca.crt", "--dns-name", "istiod.istio-system.svc")
	putService(c.API, "istio-system", "istiod", s.webhook)
	wants(t, c.check(t, 1),
		[3]string{"error", "certificate", "caBundle of istio-sidecar-injector does not trust it"},
		[3]string{"error", "endpoints", "there is none at all"},
		[3]string{"ok", "configuration", "revision default"},
		[3]string{"ok", "rights", "it has the 3 rights that it needs"},
		[3]string{"ok", "dry run", "gets its sidecar from istio-sidecar-injector"},
	)
	hooks["webhooks"].([]any)[0].(testkit.Object)["clientConfig"] = testkit.Object{"url": "https://" + s.webhook + "/inject", "caBundle": bundleOf(t, filepath.Join(dir, "ca.crt"))}
	c.Put(hookPath+"istio-sidecar-injector", hooks)
	wants(t, c.check(t, 0), [3]string{"ok", "certificate", "for 127.0.0.1, until"})
	s.end(0)
	wants(t, c.check(t, 0), [3]string{"warning", "certificate", "it cannot be reached from here"})
}
