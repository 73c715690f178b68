package inject_test

import (
	"testing"

	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
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
