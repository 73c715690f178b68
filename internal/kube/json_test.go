package kube_test

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// What encoding/json makes of the Go type is the oracle.
func TestAppendTyped(t *testing.T) {
	for _, text := range []string{
		`{}`,
		`{name: a, image: "", resources: {}, args: [], command: [x, "<&>"], tty: false, stdin: true}`,
		`{resources: {limits: {memory: 1024Mi, cpu: 1000m}, requests: {cpu: 0.5}}, name: z}`,
		`{name: a, ports: [{containerPort: 80}, {protocol: UDP, containerPort: 1, hostPort: 0}]}`,
		`{name: a, securityContext: {runAsUser: 0, privileged: false, capabilities: {add: [X]}}}`,
		`{name: a, livenessProbe: {timeoutSeconds: 0, httpGet: {port: http}, grpc: {port: 1}, periodSeconds: 3}}`,
		`{name: a, env: [{name: E, value: ""}, {valueFrom: {fieldRef: {fieldPath: m}}, name: F}]}`,
		`{name: a, lifecycle: {preStop: {httpGet: {port: 1}}}, restartPolicy: Always, volumeMounts: [{mountPath: /x, name: v}]}`,
	} {
		var c corev1.Container
		if err := yaml.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		n := kube.Normalize(parse(t, text), kube.TypeContainer)
		if got := kube.AppendTyped(nil, n, kube.TypeContainer); string(got) != string(want) {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestAppendTypedKeepsUnknownFields(t *testing.T) {
	n := source.NewMap(source.F("future", source.NewInt(1)), source.F("name", source.NewString("a")))
	if got := string(kube.AppendTyped(nil, n, kube.TypeContainer)); got != `{"name":"a","resources":{},"future":1}` {
		t.Error(got)
	}
}
