package kube_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

func TestMerge(t *testing.T) {
	for _, c := range []struct{ name, base, overlay, want string }{
		{
			"new items first, those of both in the order of the base",
			`{spec: {containers: [{name: a}, {name: b}, {name: c}]}}`,
			`{spec: {containers: [{name: x}, {name: b, image: i}, {name: z}]}}`,
			`{spec: {containers: [{name: x}, {name: a}, {name: b, image: i}, {name: z}, {name: c}]}}`,
		},
		{
			"ports by number, env by name",
			`{spec: {containers: [{name: a, ports: [{containerPort: 80, name: p}], env: [{name: X, value: "1"}, {name: Y, value: "2"}]}]}}`,
			`{spec: {containers: [{name: a, ports: [{containerPort: 80, protocol: TCP}], env: [{name: Y, value: "3"}]}]}}`,
			`{spec: {containers: [{name: a, ports: [{containerPort: 80, name: p, protocol: TCP}], env: [{name: X, value: "1"}, {name: Y, value: "3"}]}]}}`,
		},
		{
			"lists without a strategy are replaced",
			`{spec: {containers: [{name: a, args: [x, y], command: [c]}], tolerations: [{key: a}]}}`,
			`{spec: {containers: [{name: a, args: [z]}], tolerations: [{key: b}]}}`,
			`{spec: {containers: [{name: a, args: [z], command: [c]}], tolerations: [{key: b}]}}`,
		},
		{
			"scalars with merge strategy",
			`{metadata: {finalizers: [a, b]}}`,
			`{metadata: {finalizers: [c, b]}}`,
			`{metadata: {finalizers: [c, a, b]}}`,
		},
		{
			"null removes",
			`{metadata: {labels: {a: x, b: y}}, spec: {nodeName: n1, hostNetwork: true}}`,
			`{metadata: {labels: {a: null, c: null}}, spec: {hostNetwork: null}}`,
			`{metadata: {labels: {b: y}}, spec: {nodeName: n1}}`,
		},
		{
			"directives of items",
			`{spec: {volumes: [{name: a, emptyDir: {}}, {name: b, emptyDir: {}}]}}`,
			`{spec: {volumes: [{name: a, $patch: delete}, {name: c, emptyDir: {}}]}}`,
			`{spec: {volumes: [{name: c, emptyDir: {}}, {name: b, emptyDir: {}}]}}`,
		},
		{
			"replacing a list and an object",
			`{spec: {volumes: [{name: a}, {name: b}], securityContext: {runAsUser: 1, fsGroup: 2}}}`,
			`{spec: {volumes: [{$patch: replace}, {name: c}], securityContext: {$patch: replace, fsGroup: 3}}}`,
			`{spec: {volumes: [{name: c}], securityContext: {fsGroup: 3}}}`,
		},
		{
			"the source of a volume is changed with $retainKeys",
			`{spec: {volumes: [{name: a, emptyDir: {}}]}}`,
			`{spec: {volumes: [{name: a, $retainKeys: [name, hostPath], hostPath: {path: /d}}]}}`,
			`{spec: {volumes: [{name: a, hostPath: {path: /d}}]}}`,
		},
		{
			"$setElementOrder",
			`{spec: {containers: [{name: a}, {name: b}, {name: c}]}}`,
			`{spec: {$setElementOrder/containers: [{name: c}, {name: x}, {name: a}], containers: [{name: x}]}}`,
			`{spec: {containers: [{name: b}, {name: c}, {name: x}, {name: a}]}}`,
		},
		{
			"$deleteFromPrimitiveList",
			`{metadata: {finalizers: [a, b, c]}, spec: {containers: [{name: a, args: [x, w, x]}]}}`,
			`{metadata: {$deleteFromPrimitiveList/finalizers: [b, z]}, spec: {containers: [{name: a, $deleteFromPrimitiveList/args: [x]}]}}`,
			`{metadata: {finalizers: [a, c]}, spec: {containers: [{name: a, args: [w]}]}}`,
		},
		{
			"what the type does not know survives and is merged",
			`{spec: {future: {a: 1, b: [1]}, containers: [{name: a, novel: x}]}, extra: true}`,
			`{spec: {future: {b: [2], c: {$patch: delete}, d: 3}, containers: [{name: a, image: i}]}}`,
			`{spec: {future: {a: 1, b: [2], d: 3}, containers: [{name: a, novel: x, image: i}]}, extra: true}`,
		},
		{
			"nulls and directives of an overlay are not data",
			`{spec: {}}`,
			`{spec: {containers: [{name: a, image: null, env: [{name: x, $patch: delete}, {name: y, $retainKeys: [name]}]}]}}`,
			`{spec: {containers: [{name: a, env: [{name: y}]}]}}`, // all of a list that was not there is cleaned
		},
		{"nothing to merge into", `null`, `{metadata: {labels: {a: b}}}`, `{metadata: {labels: {a: b}}}`},
		{"nothing to merge", `{metadata: {}}`, `null`, `{metadata: {}}`},
		{"nothing at all", `null`, `null`, `{}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := kube.Merge(parse(t, c.base), parse(t, c.overlay), kube.TypePod)
			if err != nil {
				t.Fatal(err)
			}
			if want := parse(t, c.want); !got.Equal(want) {
				t.Errorf("got  %s\nwant %s", source.AppendJSON(nil, got), source.AppendJSON(nil, want))
			}
		})
	}
}

func TestMergeShares(t *testing.T) {
	base := parse(t, `{metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: i, env: [{name: X, value: v}]}], volumes: [{name: v}], dnsPolicy: Default}}`)
	for _, overlay := range []string{
		`{}`,
		`{metadata: {labels: {a: b}}}`,
		`{spec: {containers: [{name: a, image: i, env: [{name: X, value: v}], resources: {}}], hostNetwork: null, dnsPolicy: Default}}`,
		`{spec: {volumes: [], $setElementOrder/containers: [{name: a}]}}`,
	} {
		got, err := kube.Merge(base, parse(t, overlay), kube.TypePod)
		if err != nil {
			t.Fatal(err)
		}
		if got != base {
			t.Errorf("overlay %s changes nothing, but the result is a new node", overlay)
		}
	}
	got, err := kube.Merge(base, parse(t, `{spec: {containers: [{name: new}]}}`), kube.TypePod)
	if err != nil {
		t.Fatal(err)
	}
	if got.Get("metadata") != base.Get("metadata") || got.Get("spec", "volumes") != base.Get("spec", "volumes") ||
		got.Get("spec", "containers").Items()[1] != base.Get("spec", "containers").Items()[0] {
		t.Error("what the overlay does not touch is not shared")
	}
}

func TestMergeErrors(t *testing.T) {
	for _, c := range []struct{ base, overlay, want string }{
		{`{}`, `[]`, "merging an overlay: want an object, got an array"},
		{`[]`, `{}`, "merging an overlay: cannot merge into an array"},
		{`{spec: {containers: [{name: a}]}}`, `{spec: {containers: [{name: b}, {image: i}]}}`, "merging spec.containers[1]: lacks the field name"},
		{`{spec: {containers: [{name: a}]}}`, `{spec: {containers: [a]}}`, "merging spec.containers: the list cannot be merged: one item is an object, another a string"},
		{`{spec: {containers: [{name: a}]}}`, `{spec: {containers: [{name: {}}]}}`, "merging spec.containers[0].name: items are merged by it, and this is an object"},
		{`{spec: {containers: [{name: a}]}}`, `{spec: {containers: [{name: a, $patch: merge}]}}`, `merging spec.containers[0][$patch]: want replace or delete, got "merge"`},
		{`{spec: {}}`, `{spec: {$patch: x}}`, `merging spec[$patch]: want replace or delete, got "x"`},
		{`{spec: {imagePullSecrets: [{}]}}`, `{spec: {imagePullSecrets: [{name: a}]}}`, "merging spec.imagePullSecrets: an item lacks the field name"},
		{`{metadata: {labels: {a: {b: c}}}}`, `{metadata: {labels: {a: {b: d}}}}`, "merging metadata.labels.a: want a value, got an object"},
		{`{spec: {}}`, `{spec: {$retainKeys: [a], nodeName: n1}}`, "merging spec[$retainKeys]: the field nodeName is set here but not named"},
		{`{spec: {}}`, `{spec: {$retainKeys: a}}`, "merging spec[$retainKeys]: want a list of keys, got a string"},
		{`{spec: {}}`, `{spec: {$setElementOrder: []}}`, "want $setElementOrder/ and the name of a list"},
		{`{spec: {}}`, `{spec: {$setElementOrder/nodeName: []}}`, "nodeName is no list"},
		{`{spec: {volumes: [{name: a}]}}`, `{spec: {$setElementOrder/volumes: [{name: a}], volumes: [{name: b}]}}`, "the items that the overlay sets are not all in it"},
		{`{spec: {}}`, `{spec: {$deleteFromPrimitiveList: []}}`, "want $deleteFromPrimitiveList/ and the name of a list"},
	} {
		overlay := parse(t, c.overlay)
		_, err := kube.Merge(parse(t, c.base), overlay, kube.TypePod)
		var merge *kube.MergeError
		if !errors.As(err, &merge) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s on %s:\ngot  %v\nwant %s", c.overlay, c.base, err, c.want)
		}
	}
}

// sidecar is an overlay as the mesh's templates render them.
const sidecar = `
metadata:
  labels: {security.istio.io/tlsMode: istio, service.istio.io/canonical-name: app, service.istio.io/canonical-revision: latest}
  annotations: {istio.io/rev: default, prometheus.io/path: /stats/prometheus, prometheus.io/port: "15020", prometheus.io/scrape: "true"}
spec:
  initContainers:
  - name: istio-init
    image: registry.istio.io/release/proxyv2:1.31.0
    args: [istio-iptables, -p, "15001", -z, "15006", -u, "1337", -m, REDIRECT, -i, "*", -x, "", -b, "*", -d, "15090,15021,15020"]
    resources: {limits: {cpu: "2", memory: 1Gi}, requests: {cpu: 100m, memory: 128Mi}}
    securityContext: {allowPrivilegeEscalation: false, capabilities: {add: [NET_ADMIN, NET_RAW], drop: [ALL]}, readOnlyRootFilesystem: false, runAsGroup: 0, runAsNonRoot: false, runAsUser: 0}
  containers:
  - name: istio-proxy
    image: registry.istio.io/release/proxyv2:1.31.0
    ports: [{containerPort: 15090, protocol: TCP, name: http-envoy-prom}]
    args: [proxy, sidecar, --domain, $(POD_NAMESPACE).svc.cluster.local, --proxyLogLevel=warning]
    env:
    - {name: PILOT_CERT_PROVIDER, value: istiod}
    - {name: CA_ADDR, value: "istiod.istio-system.svc:15012"}
    - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
    - {name: INSTANCE_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
    - {name: SERVICE_ACCOUNT, valueFrom: {fieldRef: {fieldPath: spec.serviceAccountName}}}
    - {name: HOST_IP, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}
    - {name: ISTIO_CPU_LIMIT, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: "1"}}}
    - {name: PROXY_CONFIG, value: "{}"}
    - {name: ISTIO_META_POD_PORTS, value: "[]"}
    - {name: ISTIO_META_APP_CONTAINERS, value: app}
    - {name: GOMEMLIMIT, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: "1"}}}
    - {name: ISTIO_META_CLUSTER_ID, value: Kubernetes}
    - {name: ISTIO_META_WORKLOAD_NAME, value: app}
    - {name: ISTIO_META_OWNER, value: kubernetes://apis/apps/v1/namespaces/default/deployments/app}
    - {name: TRUST_DOMAIN, value: cluster.local}
    startupProbe: {httpGet: {path: /healthz/ready, port: 15021}, initialDelaySeconds: 0, periodSeconds: 1, timeoutSeconds: 3, failureThreshold: 600}
    readinessProbe: {httpGet: {path: /healthz/ready, port: 15021}, initialDelaySeconds: 0, periodSeconds: 15, timeoutSeconds: 3, failureThreshold: 4}
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, privileged: false, readOnlyRootFilesystem: true, runAsGroup: 1337, runAsNonRoot: true, runAsUser: 1337}
    resources: {limits: {cpu: "2", memory: 1Gi}, requests: {cpu: 100m, memory: 128Mi}}
    volumeMounts:
    - {name: workload-socket, mountPath: /var/run/secrets/workload-spiffe-uds}
    - {name: istiod-ca-cert, mountPath: /var/run/secrets/istio}
    - {name: istio-data, mountPath: /var/lib/istio/data}
    - {name: istio-envoy, mountPath: /etc/istio/proxy}
    - {name: istio-token, mountPath: /var/run/secrets/tokens}
    - {name: istio-podinfo, mountPath: /etc/istio/pod}
  volumes:
  - {name: workload-socket, emptyDir: {}}
  - {name: credential-socket, emptyDir: {}}
  - {name: workload-certs, emptyDir: {}}
  - {name: istio-envoy, emptyDir: {medium: Memory}}
  - {name: istio-data, emptyDir: {}}
  - {name: istio-podinfo, downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}}
  - {name: istio-token, projected: {sources: [{serviceAccountToken: {path: istio-token, expirationSeconds: 43200, audience: istio-ca}}]}}
  - {name: istiod-ca-cert, configMap: {name: istio-ca-root-cert}}
`

const app = `
metadata:
  labels: {app: app, version: v1, tier: web}
  annotations: {example.com/owner: me}
spec:
  serviceAccountName: app
  containers:
  - name: app
    image: example.com/app:1
    ports: [{containerPort: 8080, name: http}]
    env: [{name: A, value: "1"}, {name: B, value: "2"}]
    resources: {requests: {cpu: 100m}}
    volumeMounts: [{name: data, mountPath: /data}]
  - name: log
    image: example.com/log:1
  volumes: [{name: data, emptyDir: {}}]
`

func BenchmarkMerge(b *testing.B) {
	base, overlay := parse(b, app), parse(b, sidecar)
	injected, err := kube.Merge(base, overlay, kube.TypePod)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		base *source.Node
	}{{"fresh", base}, {"again", injected}, {"empty", nil}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := kube.Merge(c.base, overlay, kube.TypePod); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func FuzzMerge(f *testing.F) {
	f.Add(app, sidecar)
	f.Add(`{spec: {containers: [{name: a}]}}`, `{spec: {$setElementOrder/containers: [{name: a}], containers: [{name: a, $patch: delete}]}}`)
	f.Add(`{metadata: {finalizers: [a, a, 1]}}`, `{metadata: {$deleteFromPrimitiveList/finalizers: [a], $retainKeys: [finalizers]}}`)
	f.Add(`{spec: [{a: null}]}`, `{$patch: replace, spec: null}`)
	f.Fuzz(func(t *testing.T, base, overlay string) {
		b, err := source.Parse(source.NewText("base", []byte(base)))
		if err != nil {
			return
		}
		o, err := source.Parse(source.NewText("overlay", []byte(overlay)))
		if err != nil {
			return
		}
		before, beforeO := source.AppendJSON(nil, b.Root), source.AppendJSON(nil, o.Root)
		n, err := kube.Merge(b.Root, o.Root, kube.TypePod)
		if (n == nil) != (err != nil) {
			t.Errorf("node %v and error %v", n, err)
		}
		if string(before) != string(source.AppendJSON(nil, b.Root)) || string(beforeO) != string(source.AppendJSON(nil, o.Root)) {
			t.Error("an input was changed")
		}
	})
}
