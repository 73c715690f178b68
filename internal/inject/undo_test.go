package inject_test

import (
	"strings"
	"testing"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/testkit/portion"
)

// The undo record means nothing to the engine: it stays, and the rest of the
// result is as without it.
func TestUndoRecordIsIgnored(t *testing.T) {
	for name, c := range loadCases(t) {
		if !portion.Takes(name, 6) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			r := c.request(t)
			if r.Pod.Get("metadata", "annotations").Len() == 0 {
				r.Pod = r.Pod.WithAt(source.NewString("1"), "metadata", "annotations", "other")
			}
			e := c.engine(t, inject.Options{})
			want := e.Run(r)
			with := *r
			with.Pod = r.Pod.WithAt(source.NewString("14xyz."), "metadata", "annotations", annot.UndoRecord)
			got := e.Run(&with)
			if got.Pod.Get("metadata", "annotations", annot.UndoRecord).Str() != "14xyz." {
				t.Error("the record is gone")
			}
			rest := got.Pod.WithAt(got.Pod.Get("metadata", "annotations").Without(annot.UndoRecord), "metadata", "annotations")
			if !rest.Equal(want.Pod) {
				t.Errorf("the record matters:\n%s", diffOf(want.Pod, rest, nil))
			}
			if a, b := len(want.Diagnostics), len(got.Diagnostics); a != b {
				t.Errorf("%d findings with the record, %d without", b, a)
			}
		})
	}
}

// Without a record, what injection left in the pod tells the original, as far
// as it goes; the guesses are listed.
func TestUndo(t *testing.T) {
	for _, test := range []struct {
		name string
		pod  string
	}{
		{name: "plain", pod: "metadata: {labels: {app: x}}\nspec:\n  containers: [{name: app, image: i}]\n"},
		{name: "nothing in metadata", pod: "spec:\n  containers: [{name: app, image: i}]\n"},
		{name: "probes", pod: `
spec:
  containers:
  - name: app
    image: i
    ports: [{name: web, containerPort: 8080}]
    livenessProbe: {httpGet: {path: /live, port: 8080, scheme: HTTPS}, periodSeconds: 3}
    readinessProbe: {tcpSocket: {port: 9000}}
    startupProbe: {grpc: {port: 9001, service: s}}
    lifecycle: {preStop: {httpGet: {path: /bye, port: 8080}}}
`},
		{name: "metrics", pod: "metadata: {annotations: {prometheus.io/scrape: \"true\", prometheus.io/port: \"9090\", prometheus.io/path: /m}}\nspec:\n  containers: [{name: app, image: i}]\n"},
		{name: "own sidecar", pod: "spec:\n  containers: [{name: istio-proxy, image: auto, args: [x]}, {name: app, image: i}]\n"},
		{name: "own init containers and volumes", pod: "spec:\n  initContainers: [{name: migrate, image: m}]\n  containers: [{name: app, image: i, volumeMounts: [{name: data, mountPath: /d}]}]\n  volumes: [{name: data, emptyDir: {}}]\n"},
		{name: "own group", pod: "spec:\n  securityContext: {fsGroup: 7}\n  containers: [{name: app, image: i}]\n"},
		{name: "own labels of the mesh", pod: "metadata: {labels: {service.istio.io/canonical-name: mine, app: x}}\nspec:\n  containers: [{name: app, image: i}]\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			pod := parse(t, test.pod)
			e := defaultEngine(t, nil, nil, inject.Options{})
			for _, native := range []bool{false, true} {
				res := e.Run(&inject.Request{Pod: pod, Owner: kube.Ref{Kind: "Deployment", APIVersion: "apps/v1", Name: "x"}, NativeSidecars: native})
				if res.Diagnostics.HasErrors() || res.Pod == pod {
					t.Fatal("nothing was injected", res.Diagnostics)
				}
				was, guesses := inject.Undo(res.Pod)
				if test.name == "own sidecar" {
					// It comes back where injection looks for it first.
					if got := was.Get("spec", "containers"); got.Len() != 2 || was.Get("spec", "initContainers").Len() > 0 {
						t.Errorf("containers: %s", source.AppendYAML(nil, was))
					}
					continue
				}
				if !was.Equal(pod) {
					t.Errorf("native %v: the pod was\n%s", native, diffOf(pod, was, nil))
				}
				if len(guesses) == 0 {
					t.Error("nothing was guessed, although nothing tells whose the labels are")
				}
				if at := inject.LeftProbe(was); at != "" {
					t.Errorf("%s still asks the sidecar", at)
				}
			}
		})
	}
	pod := parse(t, "metadata: {labels: {security.istio.io/tlsMode: istio}}\nspec:\n  containers: [{name: istio-proxy, image: i}]\n")
	if was, guesses := inject.Undo(pod); was != pod || guesses != nil {
		t.Error("a pod without status was taken for an injected one")
	}
	garbage := parse(t, "metadata: {annotations: {sidecar.istio.io/status: garbage}}\nspec:\n  containers: [{name: app, image: i}]\n")
	_, guesses := inject.Undo(garbage)
	if len(guesses) != 1 || !strings.Contains(guesses[0].Message, "cannot be read") {
		t.Errorf("guesses: %v", guesses)
	}
}
