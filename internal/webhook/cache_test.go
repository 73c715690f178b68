package webhook_test

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/webhook"
)

// replica is the i-th pod of a ReplicaSet, as an API server sends it.
func replica(i int) string {
	token := fmt.Sprintf("kube-api-access-%05d", i)
	return strings.NewReplacer("TOKEN", token, "NAME", fmt.Sprintf("web-5d78c9869d-%05d", i), "UID", fmt.Sprintf("0c7f9b1e-0000-4000-8000-%012d", i),
		"TIME", fmt.Sprintf("2026-08-27T12:%02d:%02dZ", i/60%60, i%60)).Replace(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"NAME","generateName":"web-5d78c9869d-","namespace":"shop","uid":"UID","creationTimestamp":"TIME",` +
		`"labels":{"app":"web","pod-template-hash":"5d78c9869d","version":"v1"},"annotations":{"example.com/team":"web"},` +
		`"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-5d78c9869d","uid":"9d1c1a6e-1111-4000-8000-000000000000","controller":true,"blockOwnerDeletion":true}],` +
		`"managedFields":[{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"TIME","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:generateName":{},"f:labels":{".":{},"f:app":{},"f:pod-template-hash":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"9d1c1a6e-1111-4000-8000-000000000000\"}":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":8080,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:protocol":{}}},"f:resources":{},"f:terminationMessagePath":{},"f:terminationMessagePolicy":{}}},"f:dnsPolicy":{},"f:enableServiceLinks":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},"f:terminationGracePeriodSeconds":{}}}}]},` +
		`"spec":{"volumes":[{"name":"data","emptyDir":{}},{"name":"TOKEN","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},{"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}],"defaultMode":420}}],` +
		`"containers":[{"name":"web","image":"registry.example.com/web:1","ports":[{"name":"http","containerPort":8080,"protocol":"TCP"}],"env":[{"name":"LOG","value":"info"}],"resources":{"requests":{"cpu":"100m","memory":"64Mi"}},` +
		`"volumeMounts":[{"name":"data","mountPath":"/data"},{"name":"TOKEN","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],"readinessProbe":{"httpGet":{"path":"/ready","port":"http","scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}],` +
		`"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"default","serviceAccount":"default","securityContext":{},"schedulerName":"default-scheduler",` +
		`"tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"},"status":{}}`)
}

func cached(n int) func(*webhook.Options, *webhook.Installation) {
	return func(o *webhook.Options, _ *webhook.Installation) { o.CacheBytes = n }
}

// lookups returns how many lookups had a result.
func (h *hook) lookups(t testing.TB, result string) int {
	t.Helper()
	for line := range strings.Lines(h.numbers(t)) {
		if rest, ok := strings.CutPrefix(line, `ingraft_replica_cache_lookups_total{result="`+result+`"} `); ok {
			n := 0
			fmt.Sscan(rest, &n)
			return n
		}
	}
	return 0
}

// The replicas of a workload are answered from the cache, each as it would be
// without it.
func TestReplicasAreKnown(t *testing.T) {
	e := defaultEngine(t)
	h, plain := newHook(t, e, cached(1<<20)), newHook(t, e)
	for i := range 50 {
		review := reviewOf("v1", fmt.Sprint("u", i), "shop", replica(i))
		got, _ := post(t, h, "/inject", review)
		want, _ := post(t, plain, "/inject", review)
		if !bytes.Equal(got.Body.Bytes(), want.Body.Bytes()) || !strings.Contains(got.Body.String(), `"patch"`) {
			t.Fatalf("cached   %s\nuncached %s", got.Body, want.Body)
		}
	}
	if hits, misses := h.lookups(t, "hit"), h.lookups(t, "miss"); hits != 49 || misses != 1 {
		t.Errorf("%d hits, %d misses", hits, misses)
	}
	if size, entries := h.CacheUsed(); entries != 1 || size < 4000 || size > 40000 {
		t.Errorf("%d answers of %d bytes", entries, size)
	}
	if !strings.Contains(h.log.String(), `"cached":true`) {
		t.Error("the log does not tell hits")
	}
	h.Install(&webhook.Installation{Engine: e})
	if size, entries := h.CacheUsed(); size != 0 || entries != 0 {
		t.Error("answers outlived their configuration")
	}
}

// What injection reads tells pods apart.
func TestPodsThatAreNoReplicas(t *testing.T) {
	base := replica(1)
	e := defaultEngine(t)
	for name, other := range map[string]string{
		"label":             strings.Replace(base, `"version":"v1"`, `"version":"v2"`, 1),
		"annotation":        strings.Replace(base, `"example.com/team":"web"`, `"sidecar.istio.io/proxyCPU":"1"`, 1),
		"port":              strings.Replace(base, `"containerPort":8080`, `"containerPort":8081`, 1),
		"owner":             strings.Replace(base, `"kind":"ReplicaSet"`, `"kind":"Other"`, 1),
		"no owner":          strings.Replace(base, `"generateName":"web-5d78c9869d-",`, ``, 1),
		"not the token":     strings.ReplaceAll(base, "kube-api-access-00001", "kube-api-access-0000001"),
		"token not mounted": strings.Replace(base, `{"name":"kube-api-access-00001","readOnly"`, `{"name":"kube-api-access-00002","readOnly"`, 1),
		"token in a text":   strings.Replace(base, `"example.com/team":"web"`, `"example.com/team":"kube-api-access-00001"`, 1),
		"bad time":          strings.Replace(base, `"creationTimestamp":"2026-08-27`, `"creationTimestamp":"2026-13-27`, 1),
		"bad name":          strings.Replace(base, `"name":"web-5d78c9869d-00001"`, `"name":17`, 1),
	} {
		if other == base {
			t.Fatalf("%s: nothing is changed", name)
		}
		h, plain := newHook(t, e, cached(1<<20)), newHook(t, e)
		post(t, h, "/inject", reviewOf("v1", "u", "shop", base))
		got, _ := post(t, h, "/inject", reviewOf("v1", "u", "shop", other))
		want, _ := post(t, plain, "/inject", reviewOf("v1", "u", "shop", other))
		if !bytes.Equal(got.Body.Bytes(), want.Body.Bytes()) {
			t.Errorf("%s: cached   %s\nuncached %s", name, got.Body, want.Body)
		}
		if h.lookups(t, "hit") != 0 {
			t.Errorf("%s: taken for a replica", name)
		}
	}
}

// Path, namespace, the Namespace object and native sidecars are in the key.
func TestKeyHoldsWhatTheEngineIsTold(t *testing.T) {
	native := false
	spaces := map[string]*source.Node{"shop": parse(t, "metadata: {name: shop}"), "other": parse(t, "metadata: {name: other}")}
	h := newHook(t, defaultEngine(t), cached(1<<20), func(_ *webhook.Options, i *webhook.Installation) {
		i.Native = func(*source.Node) bool { return native }
		i.Namespace = func(name string) *source.Node { return spaces[name] }
	})
	pod := strings.Replace(replica(1), `"namespace":"shop",`, "", 1)
	ask := func(path, namespace string) { post(t, h, path, reviewOf("v1", "u", namespace, pod)) }
	ask("/inject", "shop")
	ask("/inject/net/n1", "shop")
	ask("/inject", "other")
	native = true
	ask("/inject", "shop")
	native = false
	spaces["shop"] = parse(t, "metadata: {name: shop, annotations: {openshift.io/sa.scc.uid-range: 1000/10}}")
	ask("/inject", "shop")
	if h.lookups(t, "hit") != 0 {
		t.Errorf("%d were taken for replicas", h.lookups(t, "hit"))
	}
	ask("/inject", "shop")
	if h.lookups(t, "hit") != 1 {
		t.Error("the same was not known again")
	}
}

// A template that reads what tells replicas apart is asked every time.
func TestTemplatesThatReadIdentity(t *testing.T) {
	for name, tc := range map[string]struct {
		template string
		want     string // of the lookups after the first
	}{
		"name":           {"metadata: {annotations: {a: '{{ .ObjectMeta.Name }}'}}", "miss"},
		"length of name": {"metadata: {annotations: {a: '{{ len .ObjectMeta.Name }}'}}", "miss"},
		"uid":            {"metadata: {annotations: {a: '{{ .ObjectMeta.UID }}'}}", "miss"},
		"whole":          {"metadata: {annotations: {a: '{{ toJson .ObjectMeta | b64enc }}'}}", "miss"},
		"created":        {"metadata: {annotations: {a: '{{ .ObjectMeta.CreationTimestamp.Unix }}'}}", "miss"},
		"mounts":         {"metadata: {annotations: {a: '{{ (index (index .Spec.Containers 0).VolumeMounts 1).Name | sha256sum }}'}}", "miss"},
		"volumes":        {"metadata: {annotations: {a: '{{ range .Spec.Volumes }}{{ .Name | len }}{{ end }}'}}", "miss"},
		"clock":          {"metadata: {annotations: {a: '{{ now | unixEpoch }}'}}", "bypass"},
		"speaks of it":   {"spec: {volumes: [{name: kube-api-access-00002, emptyDir: {}}]}", "miss"},
		"owner":          {"metadata: {annotations: {a: '{{ .DeploymentMeta.Name }}'}}", "hit"},
	} {
		t.Run(name, func(t *testing.T) {
			e := compile(t, []byte("policy: enabled\ntemplates:\n  sidecar: |\n    "+tc.template+"\n"), nil, nil, release.Newest)
			h, plain := newHook(t, e, cached(1<<20)), newHook(t, e)
			for i := range 3 {
				review := reviewOf("v1", "u", "shop", replica(i))
				got, _ := post(t, h, "/inject", review)
				want, _ := post(t, plain, "/inject", review)
				if !bytes.Equal(got.Body.Bytes(), want.Body.Bytes()) {
					t.Errorf("cached   %s\nuncached %s", got.Body, want.Body)
				}
			}
			if n := h.lookups(t, tc.want); n < 2 {
				t.Errorf("%d lookups were %s:\n%s", n, tc.want, h.numbers(t))
			}
		})
	}
}

// The cache holds what it may and no more, and gives up what was not used for
// the longest time.
func TestCacheIsBounded(t *testing.T) {
	h := newHook(t, defaultEngine(t), cached(1<<20))
	pod := func(i int) string {
		return strings.Replace(replica(1), `"example.com/team":"web"`, fmt.Sprintf(`"example.com/team":"%d"`, i), 1)
	}
	for i := range 300 {
		post(t, h, "/inject", reviewOf("v1", "u", "shop", pod(i)))
		post(t, h, "/inject", reviewOf("v1", "u", "shop", pod(0)))
	}
	size, entries := h.CacheUsed()
	if size > 1<<20 || entries < 20 || entries > 299 {
		t.Errorf("%d answers of %d bytes", entries, size)
	}
	if hits := h.lookups(t, "hit"); hits != 300 {
		t.Errorf("%d hits: what is used all the time was dropped", hits)
	}
	large := strings.Replace(replica(1), `"example.com/team":"web"`, `"example.com/team":"`+strings.Repeat("x", 1<<18)+`"`, 1)
	post(t, h, "/inject", reviewOf("v1", "u", "shop", large))
	if now, _ := h.CacheUsed(); now != size {
		t.Error("a large answer was kept")
	}
}

// Requests and new configurations at the same time.
func TestManyAtOnce(t *testing.T) {
	e := defaultEngine(t)
	h := newHook(t, e, cached(1<<20), func(o *webhook.Options, _ *webhook.Installation) { o.Log = quiet })
	want, _ := post(t, h, "/inject", reviewOf("v1", "u", "shop", replica(1)))
	var wait sync.WaitGroup
	for g := range 4 {
		wait.Go(func() {
			for i := range 50 {
				if g == 0 {
					h.Install(&webhook.Installation{Engine: e})
					continue
				}
				r := httptest.NewRequest("POST", "/inject", strings.NewReader(reviewOf("v1", "u", "shop", replica(i))))
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if !bytes.Equal(w.Body.Bytes(), want.Body.Bytes()) {
					t.Errorf("%d: %s", i, w.Body)
				}
			}
		})
	}
	wait.Wait()
}

// Every case of the engine's tests, made into two replicas, gets from the cache
// what it gets without.
func TestCachedIsUncachedForEveryCase(t *testing.T) {
	hits := 0
	for name, c := range engineCases(t) {
		t.Run(name, func(t *testing.T) {
			e := c.engine(t)
			pod, w := c.pod(t)
			h, path, namespace := c.hook(t, e, w, cached(1<<20))
			plain, _, _ := c.hook(t, e, w)
			for i := range 3 {
				text := string(source.AppendJSON(nil, asReplica(pod, i)))
				got, _ := post(t, h, path, reviewOf("v1", "u", namespace, text))
				want, _ := post(t, plain, path, reviewOf("v1", "u", namespace, text))
				if !bytes.Equal(got.Body.Bytes(), want.Body.Bytes()) {
					t.Errorf("cached   %s\nuncached %s", got.Body, want.Body)
				}
			}
			hits += h.lookups(t, "hit")
		})
	}
	if hits < 50 {
		t.Errorf("only %d were known", hits)
	}
}

// asReplica gives a pod a name, a uid and a volume with a token.
func asReplica(pod *source.Node, i int) *source.Node {
	token := fmt.Sprintf("%s%05d", inject.TokenVolumePrefix, i)
	s := source.NewString
	pod = pod.WithAt(s(fmt.Sprintf("replica-of-it-%05d", i)), "metadata", "name").WithAt(s(fmt.Sprintf("u-i-d-%05d", i)), "metadata", "uid")
	volumes := append(append([]*source.Node(nil), pod.Get("spec", "volumes").Items()...),
		source.NewMap(source.F("name", s(token)), source.F("projected", source.NewMap())))
	pod = kube.Put(pod, kube.Path{"spec", "volumes"}, source.NewList(volumes...))
	containers := append([]*source.Node(nil), pod.Get("spec", "containers").Items()...)
	for j, c := range containers {
		mounts := append(append([]*source.Node(nil), c.Get("volumeMounts").Items()...),
			source.NewMap(source.F("name", s(token)), source.F("mountPath", s("/var/run/secrets/kubernetes.io/serviceaccount"))))
		if c.Kind() == source.Map {
			containers[j] = c.With("volumeMounts", source.NewList(mounts...))
		}
	}
	return kube.Put(pod, kube.Path{"spec", "containers"}, source.NewList(containers...))
}
