package webhook_test

import (
	"strings"
	"testing"

	"github.com/ingraft/ingraft/internal/webhook"
)

// The tests below answer public reports of injectors, by the number that they
// have in the project's collection.

// I-63: a malformed annotation never crashes the injector: the pod is injected
// into with a warning, or denied with the annotation's name.
func TestI63MalformedAnnotations(t *testing.T) {
	h := newHook(t, defaultEngine(t))
	for _, name := range []string{
		"sidecar.istio.io/status", "proxy.istio.io/overrides", "proxy.istio.io/config", "sidecar.istio.io/userVolume", "sidecar.istio.io/userVolumeMount",
		"inject.istio.io/templates", "sidecar.istio.io/proxyCPU", "traffic.sidecar.istio.io/includeInboundPorts", "status.sidecar.istio.io/port",
		"prometheus.istio.io/merge-metrics", "sidecar.istio.io/interceptionMode", "readiness.status.sidecar.istio.io/periodSeconds", "prometheus.io/port",
	} {
		for _, value := range []string{"garbage", "", "{", "[]", "null", "{{", "a: [", "-1", "99999999999999999999", `\u0000`, `\"`, `\n- x`, strings.Repeat("[", 5000)} {
			pod := `{"metadata":{"name":"web","annotations":{"` + name + `":"` + value + `"}},"spec":{"containers":[{"name":"web","image":"nginx"}]}}`
			_, a := post(t, h, "/inject", reviewOf("v1", "u", "shop", pod))
			switch {
			case a.Response.Status.Code == 500:
				t.Errorf("%s: %.40s: it panicked", name, value)
			case *a.Response.Allowed && a.Response.Patch == nil:
				t.Errorf("%s: %.40s: allowed, but not injected", name, value)
			case len(a.Response.Status.Message) > 4096:
				t.Errorf("%s: the message has %d bytes", name, len(a.Response.Status.Message))
			case !*a.Response.Allowed && !strings.Contains(a.Response.Status.Message, name):
				t.Errorf("%s: %.40s: denied without its name: %s", name, value, a.Response.Status.Message)
			}
		}
	}
}

// I-64: a pod without annotations and labels, or without metadata, gets a patch
// that makes them.
func TestI64MapsThatAreNotThere(t *testing.T) {
	h := newHook(t, defaultEngine(t))
	for _, metadata := range []string{
		``, `"metadata":{},`, `"metadata":null,`, `"metadata":{"annotations":null,"labels":null},`, `"metadata":{"annotations":{},"labels":{}},`,
	} {
		pod := `{"kind":"Pod",` + metadata + `"spec":{"containers":[{"name":"web","image":"nginx"}],"volumes":null}}`
		_, a := post(t, h, "/inject", reviewOf("v1", "u", "shop", pod))
		after := parse(t, a.patched(t, pod))
		if after.Get("metadata", "annotations", "sidecar.istio.io/status").Str() == "" || after.Get("metadata", "labels", "security.istio.io/tlsMode").Str() != "istio" {
			t.Errorf("%s: %+v", metadata, a.Response)
		}
	}
}

// I-68: injections can be counted by result, reason and namespace, and their
// time is known.
func TestI68Numbers(t *testing.T) {
	h := newHook(t, defaultEngine(t))
	post(t, h, "/inject", reviewOf("v1", "u", "shop", plainPod))
	post(t, h, "/inject", reviewOf("v1", "u", "cart", strings.Replace(plainPod, `"spec":{`, `"spec":{"hostNetwork":true,`, 1)))
	post(t, h, "/inject", reviewOf("v1", "u", "shop", badCPU))
	numbers := h.numbers(t)
	for _, want := range []string{
		`ingraft_admissions_total{verdict="inject",reason="policy",namespace="shop"} 1`,
		`ingraft_admissions_total{verdict="skip",reason="host-network",namespace="cart"} 1`,
		`ingraft_admissions_total{verdict="deny",reason="IGF0501",namespace="shop"} 1`,
		`ingraft_admission_errors_total{kind="IGF0501"} 1`,
		`ingraft_admission_duration_seconds_count 3`, `ingraft_patch_bytes_count 1`,
	} {
		if !strings.Contains(numbers, want+"\n") {
			t.Errorf("the numbers lack %s:\n%s", want, numbers)
		}
	}
}

// I-69: what another injector has put into the pod stays, and a native sidecar
// that lost its restart policy is told.
func TestI69OtherWebhooks(t *testing.T) {
	h := newHook(t, defaultEngine(t))
	pod := `{"metadata":{"name":"web","annotations":{"other.example.com/injected":"true"}},"spec":{
		"initContainers":[{"name":"other-init","image":"other:1","restartPolicy":"Always"},{"name":"setup","image":"setup:1"}],
		"containers":[{"name":"web","image":"nginx"},{"name":"other-agent","image":"other:1"}],"volumes":[{"name":"other","emptyDir":{}}]}}`
	_, a := post(t, h, "/inject", reviewOf("v1", "u", "shop", pod))
	after := parse(t, a.patched(t, pod))
	for _, list := range []string{"initContainers", "containers", "volumes"} {
		before := parse(t, pod).Get("spec", list).Items()
		for _, was := range before {
			found := false
			for _, is := range after.Get("spec", list).Items() {
				found = found || is.Equal(was)
			}
			if !found {
				t.Errorf("%s: %s is gone, or another", list, was.Get("name").Str())
			}
		}
	}

	lost := `{"metadata":{"name":"web","annotations":{"sidecar.istio.io/status":"{\"initContainers\":[\"istio-init\",\"istio-proxy\"],\"containers\":[]}"}},"spec":{
		"initContainers":[{"name":"istio-init","image":"proxyv2:1"},{"name":"istio-proxy","image":"proxyv2:1","args":["proxy","sidecar"]}],"containers":[{"name":"web","image":"nginx"}]}}`
	_, a = post(t, h, "/inject", reviewOf("v1", "u", "shop", lost))
	if !strings.Contains(strings.Join(a.Response.Warnings, "\n"), "[IGF0634]") {
		t.Errorf("warnings %q", a.Response.Warnings)
	}
}

// A pod of the size that etcd takes at most, and more, is answered.
func TestLargePods(t *testing.T) {
	h := newHook(t, defaultEngine(t), cached(32<<20), func(o *webhook.Options, _ *webhook.Installation) { o.Log = quiet })
	for _, size := range []int{1 << 20, 5 << 20} {
		pod := strings.Replace(plainPod, `"labels":{`, `"annotations":{"example.com/large":"`+strings.Repeat("x", size)+`"},"labels":{`, 1)
		_, a := post(t, h, "/inject", reviewOf("v1", "u", "shop", pod))
		if a.Response.Patch == nil || len(*a.Response.Patch) > 32<<10 {
			t.Errorf("%d bytes: no patch, or one that repeats them", size)
		}
	}
}
