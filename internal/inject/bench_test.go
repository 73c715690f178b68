package inject_test

import (
	"testing"

	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

const benchPod = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: cart, namespace: shop}
spec:
  replicas: 2
  template:
    metadata:
      labels: {app: cart, version: v1}
    spec:
      containers:
      - name: cart
        image: registry.example.com/shop/cart:1.2.3
        ports: [{containerPort: 8080, name: http}]
        env: [{name: LOG, value: info}]
        readinessProbe: {httpGet: {path: /ready, port: http}}
        resources: {requests: {cpu: 100m, memory: 64Mi}}
`

func BenchmarkRun(b *testing.B) {
	e := defaultEngine(b, nil, nil, inject.Options{})
	w, _ := kube.WorkloadOf(parse(b, benchPod), nil)
	r := &inject.Request{Pod: w.Template, Owner: w.Ref, NamespaceName: "shop"}
	b.ReportAllocs()
	for b.Loop() {
		if res := e.Run(r); res.Pod == r.Pod {
			b.Fatal(res.Diagnostics)
		}
	}
}

func BenchmarkPatch(b *testing.B) {
	e := defaultEngine(b, nil, nil, inject.Options{})
	w, _ := kube.WorkloadOf(parse(b, benchPod), nil)
	res := e.Run(&inject.Request{Pod: w.Template, Owner: w.Ref, NamespaceName: "shop"})
	b.ReportAllocs()
	for b.Loop() {
		res.JSONPatch()
	}
}

func BenchmarkDecide(b *testing.B) {
	e := defaultEngine(b, nil, nil, inject.Options{})
	w, _ := kube.WorkloadOf(parse(b, benchPod), nil)
	r := &inject.Request{Pod: w.Template, Owner: w.Ref, NamespaceName: "shop"}
	b.ReportAllocs()
	for b.Loop() {
		e.Decide(r)
	}
}

// BenchmarkRunWithoutRendering has a template that is text only: what remains
// is reading it, merging it, and the steps.
func BenchmarkRunWithoutRendering(b *testing.B) {
	w, _ := kube.WorkloadOf(parse(b, benchPod), nil)
	r := &inject.Request{Pod: w.Template, Owner: w.Ref, NamespaceName: "shop"}
	pod := defaultEngine(b, nil, nil, inject.Options{}).Run(r).Pod
	spec := pod.Get("spec")
	overlay := source.NewMap(
		source.F("metadata", source.NewMap(source.F("labels", pod.Get("metadata", "labels")))),
		source.F("spec", source.NewMap(
			source.F("initContainers", spec.Get("initContainers")),
			source.F("containers", source.NewList(spec.Get("containers").Items()[1])),
			source.F("volumes", spec.Get("volumes")),
		)),
	)
	config := source.NewMap(
		source.F("policy", source.NewString("enabled")),
		source.F("templates", source.NewMap(source.F("sidecar", source.NewString(string(source.AppendYAML(nil, overlay)))))),
	)
	e := compile(b, source.AppendYAML(nil, config), nil, read(b, "testdata", "values.yaml"), inject.Options{})
	b.ReportAllocs()
	for b.Loop() {
		if res := e.Run(r); res.Pod == r.Pod {
			b.Fatal(res.Diagnostics)
		}
	}
}
