package kube_test

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

func TestSparse(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"empty text", `{name: a, image: "", command: [], args: [x]}`, `{name: a, args: [x]}`},
		{"zero numbers", `{readinessProbe: {httpGet: {path: "", port: 80}, timeoutSeconds: 0}}`, `{readinessProbe: {httpGet: {port: 80}}}`},
		{"zero that counts", `{securityContext: {runAsUser: 0, privileged: false}, stdin: false}`, `{securityContext: {runAsUser: 0, privileged: false}}`},
		{"written anyway", `{name: "", resources: {}}`, `{name: "", resources: {}}`},
		{"within lists", `{env: [{name: A, value: ""}, {name: B, value: x}]}`, `{env: [{name: A}, {name: B, value: x}]}`},
		{"unknown fields", `{mine: "", other: {x: 0}}`, `{mine: "", other: {x: 0}}`},
	} {
		if got := kube.Sparse(parse(t, c.in), kube.TypeContainer); !got.Equal(parse(t, c.want)) {
			t.Errorf("%s: got %s", c.name, source.AppendJSON(nil, got))
		}
	}
	same := parse(t, `{name: a, env: [{name: A, value: x}]}`)
	if kube.Sparse(same, kube.TypeContainer) != same {
		t.Error("a value without empty fields was copied")
	}
}

// TestSparseMeansTheSame decodes made-up containers before and after.
func TestSparseMeansTheSame(t *testing.T) {
	r := newRandom(1)
	for range 300 {
		n := r.value(kube.TypeContainer, 4)
		var was, now corev1.Container
		if json.Unmarshal(source.AppendJSON(nil, kube.Normalize(n, kube.TypeContainer)), &was) != nil {
			continue
		}
		if err := json.Unmarshal(source.AppendJSON(nil, kube.Sparse(kube.Normalize(n, kube.TypeContainer), kube.TypeContainer)), &now); err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(was)
		b, _ := json.Marshal(now)
		if string(a) != string(b) {
			t.Fatalf("%s\nbefore %s\nafter  %s", source.AppendJSON(nil, n), a, b)
		}
	}
}
