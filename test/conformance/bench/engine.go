package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"time"

	meshconfig "istio.io/api/mesh/v1alpha1"
	"istio.io/istio/pilot/pkg/model"
	"istio.io/istio/pkg/config/mesh"
	"istio.io/istio/pkg/config/mesh/meshwatcher"
	peer "istio.io/istio/pkg/kube/inject"
	"istio.io/istio/pkg/kube/multicluster"
	"istio.io/istio/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// pods is the number of distinct pods that the engines inject into.
const pods = 500

// engines measures both engines in this process: the peer's webhook handler
// against ingraft's engine with the bytes of a review on both ends.
func engines(in inputs) ([]goal, error) {
	for _, s := range log.Scopes() {
		s.SetOutputLevel(log.NoneLevel)
	}
	var texts [3]string
	for i, path := range []string{in.config, in.mesh, in.values} {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		texts[i] = string(data)
	}
	handler, err := peerHandler(texts[0], texts[1], texts[2])
	if err != nil {
		return nil, err
	}
	engine, err := ourEngine(texts[0], texts[1], texts[2])
	if err != nil {
		return nil, err
	}
	reviews := make([][]byte, pods)
	for i := range reviews {
		if reviews[i], err = review(i); err != nil {
			return nil, err
		}
	}
	theirs := func(review []byte) error {
		req := httptest.NewRequest(http.MethodPost, "/inject", bytes.NewReader(review))
		req.Header.Set("Content-Type", "application/json")
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, req)
		if !strings.Contains(rec.Body.String(), `"patch"`) {
			return fmt.Errorf("the peer made no patch: %.300s", rec.Body)
		}
		return nil
	}
	ours := func(review []byte) error { return answer(engine, review) }
	p, err := measure(reviews, 1, theirs)
	if err != nil {
		return nil, err
	}
	o, err := measure(reviews, 20, ours)
	if err != nil {
		return nil, err
	}
	// Replicas: the same pod again and again.
	same := make([][]byte, pods)
	for i := range same {
		same[i] = reviews[0]
	}
	ps, err := measure(same, 1, theirs)
	if err != nil {
		return nil, err
	}
	osame, err := measure(same, 20, ours)
	if err != nil {
		return nil, err
	}
	note := "review bytes in, response bytes out; the mesh's handler is called without a network, ingraft has no handler yet and does the same work"
	return []goal{
		{Work: "one pod of many distinct ones", Unit: "µs", Peer: p.micros, Ours: o.micros, Reach: 30, Note: note},
		{Work: "one pod of many distinct ones, allocated", Unit: "kB", Peer: p.bytes / 1e3, Ours: o.bytes / 1e3},
		{Work: "one pod of many distinct ones, allocations", Unit: "", Peer: p.allocs, Ours: o.allocs},
		{Work: "one pod of many alike", Unit: "µs", Peer: ps.micros, Ours: osame.micros},
	}, nil
}

type cost struct{ micros, bytes, allocs float64 }

// measure calls f with each of the reviews, as often as rounds says after one
// round that does not count, and returns the median time and the mean memory.
func measure(reviews [][]byte, rounds int, f func([]byte) error) (cost, error) {
	for _, r := range reviews {
		if err := f(r); err != nil {
			return cost{}, err
		}
	}
	var times []time.Duration
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range rounds {
		for _, r := range reviews {
			begin := time.Now()
			if err := f(r); err != nil {
				return cost{}, err
			}
			times = append(times, time.Since(begin))
		}
	}
	runtime.ReadMemStats(&after)
	n := float64(len(times))
	return cost{
		micros: median(times, func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }),
		bytes:  float64(after.TotalAlloc-before.TotalAlloc) / n,
		allocs: float64(after.Mallocs-before.Mallocs) / n,
	}, nil
}

func peerHandler(cfg, meshText, values string) (http.Handler, error) {
	c, err := peer.UnmarshalConfig([]byte(cfg))
	if err != nil {
		return nil, err
	}
	var m *meshconfig.MeshConfig
	if m, err = mesh.ApplyMeshConfigDefaults(meshText); err != nil {
		return nil, err
	}
	env := &model.Environment{Watcher: meshwatcher.NewTestWatcher(m)}
	env.SetPushContext(&model.PushContext{ProxyConfigs: &model.ProxyConfigs{}})
	mux := http.NewServeMux()
	_, err = peer.NewWebhook(peer.WebhookParameters{
		Watcher: fixed{&c, values}, Env: env, Mux: mux, Revision: "default", MultiCluster: multicluster.NewFakeController(),
	})
	return mux, err
}

type fixed struct {
	config *peer.Config
	values string
}

func (f fixed) SetHandler(func(*peer.Config, string) error) {}
func (f fixed) Run(<-chan struct{})                         {}
func (f fixed) Get() (*peer.Config, string, error)          { return f.config, f.values, nil }

func ourEngine(cfg, meshText, values string) (*inject.Engine, error) {
	var all diag.List
	text := func(name, data string) *source.Text { return source.NewText(name, []byte(data)) }
	c, l := config.ParseInjection(text("config", cfg))
	all = append(all, l...)
	m, l := config.ParseMesh(text("mesh", meshText))
	all = append(all, l...)
	v, l := config.ParseValues(text("values", values))
	all = append(all, l...)
	if all.HasErrors() {
		return nil, fmt.Errorf("reading the configuration: %v", all)
	}
	engine, l := inject.Compile(c, m, v, inject.Options{})
	if l.HasErrors() {
		return nil, fmt.Errorf("compiling the configuration: %v", l)
	}
	return engine, nil
}

// answer does what a webhook has to do: read a review, inject, and write the
// response with the patch.
func answer(engine *inject.Engine, review []byte) error {
	doc, err := source.Parse(source.NewText("review", review))
	if err != nil {
		return err
	}
	request := doc.Root.Get("request")
	pod := request.Get("object")
	res := engine.Run(&inject.Request{
		Door: inject.Admission, Pod: pod, Owner: kube.OwnerOf(pod), NamespaceName: request.Get("namespace").Str(), Revision: "default",
	})
	patch := res.JSONPatch()
	if patch == nil {
		return fmt.Errorf("ingraft made no patch: %v %v", res.Decision, res.Diagnostics)
	}
	out := make([]byte, 0, 2*len(patch))
	out = append(out, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"`...)
	out = append(append(out, request.Get("uid").Str()...), `","allowed":true,"patch":"`...)
	out = base64.StdEncoding.AppendEncode(out, patch)
	out = append(out, `","patchType":"JSONPatch"}}`...)
	if len(out) < len(patch) {
		return fmt.Errorf("the response is too short")
	}
	return nil
}

// review is an AdmissionReview as an API server sends it for the pod of the
// nth Deployment.
func review(n int) ([]byte, error) {
	var d map[string]any
	if err := yaml.Unmarshal([]byte(deployment(n)), &d); err != nil {
		return nil, err
	}
	template := d["spec"].(map[string]any)["template"].(map[string]any)
	meta, spec := template["metadata"].(map[string]any), template["spec"].(map[string]any)
	hash := fmt.Sprintf("%08x", n*2654435761%(1<<32))
	name := fmt.Sprintf("shop-%d-%s", n, hash)
	meta["generateName"] = name + "-"
	meta["labels"].(map[string]any)["pod-template-hash"] = hash
	meta["ownerReferences"] = []any{map[string]any{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": hash, "controller": true, "blockOwnerDeletion": true}}
	token := "kube-api-access-" + hash[:5]
	spec["volumes"] = append(spec["volumes"].([]any), map[string]any{"name": token, "projected": map[string]any{"defaultMode": 420, "sources": []any{
		map[string]any{"serviceAccountToken": map[string]any{"expirationSeconds": 3607, "path": "token"}},
		map[string]any{"configMap": map[string]any{"name": "kube-root-ca.crt", "items": []any{map[string]any{"key": "ca.crt", "path": "ca.crt"}}}},
	}}})
	c := spec["containers"].([]any)[0].(map[string]any)
	c["volumeMounts"] = append(c["volumeMounts"].([]any), map[string]any{"name": token, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": true})
	for key, value := range map[string]any{"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler", "securityContext": map[string]any{}, "enableServiceLinks": true} {
		spec[key] = value
	}
	return json.Marshal(map[string]any{
		"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
		"request": map[string]any{
			"uid": "uid-" + hash, "namespace": fmt.Sprintf("team-%d", n%17), "operation": "CREATE",
			"object": map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec},
		},
	})
}
