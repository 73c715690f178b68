package injection

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	meshconfig "istio.io/api/mesh/v1alpha1"
	"istio.io/istio/pilot/pkg/features"
	"istio.io/istio/pilot/pkg/model"
	"istio.io/istio/pkg/cluster"
	"istio.io/istio/pkg/config/mesh"
	"istio.io/istio/pkg/config/mesh/meshwatcher"
	peerfeatures "istio.io/istio/pkg/features"
	"istio.io/istio/pkg/kube"
	"istio.io/istio/pkg/kube/inject"
	"istio.io/istio/pkg/kube/multicluster"
	"istio.io/istio/pkg/log"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// peerModule is the mesh's module at the release that is compared with.
const peerModule = "istio.io/istio"

// peerDir is where the module cache keeps the peer.
var peerDir = sync.OnceValue(func() string {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", peerModule).Output()
	if err != nil {
		panic("asking go for the peer's folder: " + err.Error())
	}
	return strings.TrimSpace(string(out))
})

// peerInputs is the folder of the peer's own injection test inputs.
func peerInputs() string {
	return filepath.Join(peerDir(), "pkg", "kube", "inject", "testdata", "inject")
}

// world is what the peer reads from its process: switches that are variables
// of the program, so that only one world can exist at a time.
type world struct {
	Native     bool   `json:",omitempty"`
	OpenShift  bool   `json:",omitempty"`
	Compliance string `json:",omitempty"`
}

func (w world) String() string {
	s := "classic"
	if w.Native {
		s = "native"
	}
	if w.OpenShift {
		s += ", OpenShift"
	}
	if w.Compliance != "" {
		s += ", " + w.Compliance
	}
	return s
}

// getenv answers for the environment of the injector in this world.
func (w world) getenv(name string) string {
	switch name {
	case "PLATFORM":
		if w.OpenShift {
			return "openshift"
		}
	case "COMPLIANCE_POLICY":
		return w.Compliance
	case "ENABLE_NATIVE_SIDECARS":
		return fmt.Sprint(w.Native)
	case "AN_ENVIRONMENT_VARIABLE":
		return `of the "injector"`
	}
	return ""
}

// enter makes the world the peer's. Nothing may run beside it.
func (w world) enter(t testing.TB) {
	native, compliance := features.EnableNativeSidecars, peerfeatures.CompliancePolicy
	t.Cleanup(func() { features.EnableNativeSidecars, peerfeatures.CompliancePolicy = native, compliance })
	features.EnableNativeSidecars = features.NativeSidecarModeDisabled
	if w.Native {
		features.EnableNativeSidecars = features.NativeSidecarModeEnabled
	}
	peerfeatures.CompliancePolicy = w.Compliance
	for _, name := range []string{"PLATFORM", "AN_ENVIRONMENT_VARIABLE"} {
		t.Setenv(name, w.getenv(name))
	}
}

func silencePeer() {
	for _, s := range log.Scopes() {
		s.SetOutputLevel(log.NoneLevel)
	}
}

// outcome is what one side did with one object.
type outcome struct {
	// refused tells that the side gave an error instead of a result.
	refused bool
	// panicked tells that it did so by crashing.
	panicked bool
	message  string
	// injected tells that the object was changed at all.
	injected bool
	// object is the whole result, decoded into its Kubernetes type.
	object runtime.Object
}

func refuse(err error) outcome { return outcome{refused: true, message: err.Error()} }

// guard turns a panic into a refusal that tells of it.
func guard(f func() outcome) (o outcome) {
	defer func() {
		if r := recover(); r != nil {
			o = outcome{refused: true, panicked: true, message: fmt.Sprintf("panic: %v\n%s", r, where(debug.Stack()))}
		}
	}()
	return f()
}

// where returns the frames of a stack that come next below the panic.
func where(stack []byte) string {
	_, below, _ := strings.Cut(string(stack), "panic(")
	lines := strings.SplitAfter(below, "\n")
	return strings.Join(lines[min(2, len(lines)):min(8, len(lines))], "")
}

// peer is the mesh's injector, made ready for one setting in one world.
type peer struct {
	setting   *setting
	templates inject.Templates
	values    inject.ValuesConfig
	mesh      *meshconfig.MeshConfig
	// handler is the webhook, and willing one with the policy to inject into
	// every pod that does not refuse.
	handler, willing http.Handler
}

// newPeer compiles a setting. An error means that the peer refuses it.
func newPeer(s *setting, c *fakeCluster) (*peer, error) {
	config, err := inject.UnmarshalConfig([]byte(s.config))
	if err != nil {
		return nil, err
	}
	p := &peer{setting: s, templates: config.Templates}
	if p.values, err = inject.NewValuesConfig(s.values); err != nil {
		return nil, err
	}
	if p.mesh, err = mesh.ApplyMeshConfigDefaults(s.mesh); err != nil {
		return nil, err
	}
	if p.handler, err = p.webhook(config, c); err != nil {
		return nil, err
	}
	config.Policy, config.NeverInjectSelector, config.AlwaysInjectSelector = inject.InjectionPolicyEnabled, nil, nil
	p.willing, err = p.webhook(config, c)
	return p, err
}

// webhook serves a configuration. c is what it asks about namespaces, or nil.
func (p *peer) webhook(config inject.Config, c *fakeCluster) (http.Handler, error) {
	return p.serve(fixedConfig{&config, p.setting.values}, c)
}

// serve serves what a watcher of configurations has. Nobody runs it.
func (p *peer) serve(watcher inject.Watcher, c *fakeCluster) (http.Handler, error) {
	env := &model.Environment{Watcher: meshwatcher.NewTestWatcher(p.mesh)}
	env.SetPushContext(&model.PushContext{ProxyConfigs: &model.ProxyConfigs{}})
	mux := http.NewServeMux()
	clusters := multicluster.NewFakeController()
	_, err := inject.NewWebhook(inject.WebhookParameters{
		Watcher: watcher, Env: env, Mux: mux, Revision: p.setting.revision, MultiCluster: clusters,
	})
	if err == nil && c != nil {
		c.join(clusters)
	}
	return mux, err
}

// fakeCluster is an API server that holds a few namespaces, for the worlds
// where the peer looks them up.
type fakeCluster struct {
	mu     sync.Mutex
	client kube.Client
	stop   chan struct{}
}

func newFakeCluster(t testing.TB, namespaces ...*corev1.Namespace) *fakeCluster {
	objects := make([]runtime.Object, len(namespaces))
	for i, ns := range namespaces {
		objects[i] = ns
	}
	c := &fakeCluster{client: kube.NewFakeClient(objects...), stop: make(chan struct{})}
	t.Cleanup(func() { close(c.stop) })
	return c
}

// join makes the cluster known under every name that it may have.
func (c *fakeCluster) join(clusters *multicluster.Fake) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range clusterNames {
		clusters.Add(cluster.ID(name), c.client, c.stop)
	}
	c.client.RunAndWait(c.stop)
}

// clusterNames are the clusters that the generated settings name, Kubernetes
// being what a pod is in when nothing says otherwise.
var clusterNames = []string{"Kubernetes", "cluster-1", "c2"}

// fixedConfig is a configuration that never changes.
type fixedConfig struct {
	config *inject.Config
	values string
}

func (f fixedConfig) SetHandler(func(*inject.Config, string) error) {}
func (f fixedConfig) Run(<-chan struct{})                           {}
func (f fixedConfig) Get() (*inject.Config, string, error)          { return f.config, f.values, nil }

// kubeInject injects an object as the peer's kube-inject does without a
// cluster.
func (p *peer) kubeInject(object []byte) outcome {
	return guard(func() outcome {
		in, err := inject.FromRawToObject(object)
		if runtime.IsNotRegisteredError(err) {
			return outcome{object: decodeObject(object)}
		}
		if err != nil {
			return refuse(err)
		}
		skipped := false
		out, err := inject.IntoObject(nil, p.templates, p.values, p.setting.revision, p.mesh, in, func(string) { skipped = true })
		if err != nil {
			return refuse(err)
		}
		return outcome{object: out.(runtime.Object), injected: !skipped}
	})
}

// review wraps a pod as an API server does when it asks a webhook.
func review(pod []byte, namespace string) []byte {
	b, err := json.Marshal(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "u", Namespace: namespace, Operation: admissionv1.Create,
			Object: runtime.RawExtension{Raw: pod},
		},
	})
	if err != nil {
		panic(err) // raw JSON that is none
	}
	return b
}

// admit injects a pod through the peer's webhook.
func (p *peer) admit(pod []byte, namespace, path string) outcome {
	return ask(p.handler, pod, namespace, path)
}

func ask(handler http.Handler, pod []byte, namespace, path string) outcome {
	return guard(func() outcome {
		if path == "" {
			path = "/inject"
		}
		req := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(review(pod, namespace)))
		req.Header.Set("Content-Type", "application/json")
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, req)
		var answer admissionv1.AdmissionReview
		if err := json.Unmarshal(rec.Body.Bytes(), &answer); err != nil || answer.Response == nil {
			return refuse(fmt.Errorf("status %d: %s", rec.Code, rec.Body))
		}
		if !answer.Response.Allowed {
			return outcome{refused: true, message: answer.Response.Result.Message}
		}
		result := pod
		if answer.Response.Patch != nil {
			patch, err := jsonpatch.DecodePatch(answer.Response.Patch)
			if err != nil {
				return refuse(err)
			}
			// It is one of the pod as the peer writes it, without what is empty.
			if result, err = patch.Apply(mustJSON(decodePod(pod))); err != nil {
				return refuse(fmt.Errorf("the patch does not apply: %w", err))
			}
		}
		return outcome{object: decodePod(result), injected: answer.Response.Patch != nil}
	})
}
