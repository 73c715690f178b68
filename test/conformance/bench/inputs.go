package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ingraft/ingraft/internal/chart/builtin"
)

// inputs are the files that both sides are given.
type inputs struct {
	config, mesh, values string // paths
	one, stream          string // paths
	out                  string
}

// prepare writes the configuration that is built into ingraft, and manifests.
func prepare(dir string) (inputs, error) {
	at := func(name string) string { return filepath.Join(dir, name) }
	in := inputs{at("config.yaml"), at("mesh.yaml"), at("values.json"), at("one.yaml"), at("stream.yaml"), at("out.yaml")}
	config, mesh, values, err := builtin.DefaultInjection(builtin.Injection{})
	if err != nil {
		return in, err
	}
	for path, data := range map[string][]byte{
		in.config: config, in.mesh: mesh, in.values: values, in.one: []byte(deployment(1)), in.stream: []byte(stream(1000)),
	} {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return in, err
		}
	}
	return in, nil
}

// deployment is the nth of any number of distinct workloads of one shape.
func deployment(n int) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop-%[1]d
  namespace: team-%[2]d
  labels: {app: shop-%[1]d, tier: web}
spec:
  replicas: 3
  selector:
    matchLabels: {app: shop-%[1]d}
  template:
    metadata:
      labels:
        app: shop-%[1]d
        version: v%[2]d
      annotations:
        example.com/owner: "team-%[2]d"
    spec:
      serviceAccountName: shop
      containers:
      - name: shop
        image: registry.example.com/shop/web:%[1]d.0.1
        ports:
        - containerPort: 8080
          name: http
        env:
        - name: LISTEN
          value: ":8080"
        - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        resources:
          requests: {cpu: 100m, memory: 128Mi}
        readinessProbe:
          httpGet: {path: /ready, port: http}
          periodSeconds: %[3]d
        volumeMounts:
        - {name: data, mountPath: /data}
      volumes:
      - name: data
        emptyDir: {}
`, n, n%17, 5+n%9)
}

func service(n int) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Service
metadata: {name: shop-%[1]d, namespace: team-%[2]d}
spec:
  selector: {app: shop-%[1]d}
  ports:
  - name: http
    port: 80
    targetPort: http
`, n, n%17)
}

func stream(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(deployment(i) + "---\n" + service(i))
		if i < n-1 {
			b.WriteString("---\n")
		}
	}
	return b.String()
}
