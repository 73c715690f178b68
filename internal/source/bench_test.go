package source

import (
	"bytes"
	"fmt"
	"testing"
)

// stream returns n Deployments and n Services, block and flow style mixed.
func stream(n int) [][]byte {
	var docs [][]byte
	for i := range n {
		var b bytes.Buffer
		fmt.Fprintf(&b, `apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-%d
  namespace: shop
  labels: {app: app-%d, version: v1}
  annotations:
    description: "the application number %d"
spec:
  replicas: 3
  selector:
    matchLabels:
      app: app-%d
  template:
    metadata:
      labels:
        app: app-%d
        version: v1
    spec:
      serviceAccountName: app
      containers:
      - name: app
        image: registry.example.com/shop/app:v1.2.%d
        args: ["--port", "8080", '--verbose']
        ports:
        - containerPort: 8080
          name: http
        - {containerPort: 9090, name: metrics}
        env:
        - name: GREETING
          value: "hello, world"
        resources:
          requests: {cpu: 100m, memory: 128Mi}
          limits:
            memory: 256Mi
        readinessProbe:
          httpGet:
            path: /healthz
            port: http
      volumes:
      - name: data
        emptyDir: {}
`, i, i, i, i, i, i)
		docs = append(docs, bytes.Clone(b.Bytes()))
		b.Reset()
		fmt.Fprintf(&b, `apiVersion: v1
kind: Service
metadata:
  name: app-%d
spec:
  selector:
    app: app-%d
  ports:
  - name: http
    port: 80
    targetPort: http
`, i, i)
		docs = append(docs, bytes.Clone(b.Bytes()))
	}
	return docs
}

func BenchmarkParse(b *testing.B) {
	docs := stream(1000)
	size := 0
	for _, d := range docs {
		size += len(d)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for _, d := range docs {
			if _, err := Parse(NewText("f", d)); err != nil {
				b.Fatal(err)
			}
		}
	}
}
