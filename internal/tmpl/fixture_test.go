package tmpl

import (
	"bytes"
	"io/fs"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
	"istio.io/istio/manifests"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
)

func init() { maxSteps = 1 << 13 } // templates that do not end take long to run into it

const chart = "charts/istio-control/istio-discovery/"

// shipped returns the text of an injection template of release 1.31.
func shipped(t testing.TB, file string) *source.Text {
	t.Helper()
	data, err := fs.ReadFile(manifests.FS, chart+"files/"+file+".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return source.NewText(file+".yaml", bytes.TrimSpace(data))
}

// chartValues returns the default values of release 1.31, a copy.
func chartValues(t testing.TB) map[string]any {
	t.Helper()
	values, err := defaultValues()
	if err != nil {
		t.Fatal(err)
	}
	return cloneValue(values).(map[string]any)
}

var defaultValues = sync.OnceValues(func() (map[string]any, error) {
	data, err := fs.ReadFile(manifests.FS, chart+"values.yaml")
	if err != nil {
		return nil, err
	}
	var doc map[string]any
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	return doc["_internal_defaults_do_not_set"].(map[string]any), nil
})

func meshConfig() *meshv1alpha1.MeshConfig {
	return &meshv1alpha1.MeshConfig{
		TrustDomain:            "cluster.local",
		ProxyListenPort:        15001,
		ProxyInboundListenPort: 15006,
		DefaultConfig: &meshv1alpha1.ProxyConfig{
			ConfigPath:               "./etc/istio/proxy",
			BinaryPath:               "/usr/local/bin/envoy",
			ClusterName:              &meshv1alpha1.ProxyConfig_ServiceCluster{ServiceCluster: "istio-proxy"},
			DrainDuration:            durationpb.New(45 * time.Second),
			TerminationDrainDuration: durationpb.New(5 * time.Second),
			DiscoveryAddress:         "istiod.istio-system.svc:15012",
			ProxyAdminPort:           15000,
			ControlPlaneAuthPolicy:   meshv1alpha1.AuthenticationPolicy_MUTUAL_TLS,
			StatNameLength:           189,
			StatusPort:               15020,
		},
	}
}

// node parses a document of a test.
func node(t testing.TB, text string) *source.Node {
	t.Helper()
	doc, err := source.Parse(source.NewText("pod.yaml", []byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root
}

const helloPod = `
metadata:
  name: hello
  namespace: shop
  labels:
    app: hello
    version: v1
spec:
  serviceAccountName: sa
  containers:
  - name: hello
    image: fake.docker.io/google-samples/hello-go-gke:1.0
    ports:
    - name: http
      containerPort: 80
    - containerPort: 9090
      protocol: UDP
  - name: side
    image: side
`

// testData returns what the engine would give a template for a pod.
func testData(t testing.TB, pod *source.Node, needs Needs) *Data {
	t.Helper()
	mesh := meshConfig()
	d := &Data{
		TypeMeta:                 metav1.TypeMeta{Kind: "Deployment", APIVersion: "apps/v1"},
		DeploymentMeta:           types.NamespacedName{Name: "hello", Namespace: "shop"},
		ProxyConfig:              mesh.DefaultConfig,
		MeshConfig:               mesh,
		Values:                   chartValues(t),
		Revision:                 "default",
		ProxyImage:               "docker.io/istio/proxyv2:1.31.0",
		ProxyInitImage:           "docker.io/istio/proxyv2:1.31.0",
		ProxyUID:                 1337,
		ProxyGID:                 1337,
		InboundTrafficPolicyMode: "passthrough",
	}
	if diagnostic := d.SetPod(pod, needs); diagnostic != nil {
		t.Fatal(diagnostic)
	}
	return d
}

var testEnv = Env{
	Getenv: func(name string) string {
		return map[string]string{"HOME": "/root", "ENABLE_NATIVE_SIDECARS": "true"}[name]
	},
	Now: time.Date(2026, 8, 27, 12, 45, 20, 0, time.FixedZone("X", 3600)),
}

// parse parses the text of a test's template.
func parseTemplate(t testing.TB, text string) *Template {
	t.Helper()
	tm, d := dialectFor(text).Parse("test", source.NewText("test.yaml", []byte(text)))
	if d != nil {
		t.Fatalf("parsing: %v", d)
	}
	return tm
}

// eval renders a template on the hello pod.
func eval(t testing.TB, text string) (string, *diag.Diagnostic) {
	t.Helper()
	tm, d := dialectFor(text).Parse("test", source.NewText("test.yaml", []byte(text)))
	if d != nil {
		return "", d
	}
	data := testData(t, node(t, helloPod), tm.Needs())
	out, d := tm.Render(data, testEnv, nil)
	if (out == nil) != (d != nil) {
		t.Fatalf("result %q and diagnostic %v", out, d)
	}
	compareReference(t, tm, data)
	return string(out), d
}

// compareReference runs a template's program and text/template on the same
// data: the program gives the same bytes, or gives up.
func compareReference(t testing.TB, tm *Template, data *Data) {
	t.Helper()
	ref, d := tm.reference()
	if tm.program == nil {
		return
	}
	if d != nil {
		t.Fatalf("program made of a faulty template: %v\n%s", d, tm.text.Data)
	}
	out, ok := tm.program.render(tm, data, testEnv)
	if !ok {
		return
	}
	want, d := ref.render(data, testEnv)
	if d != nil || normal(out) != normal(want) {
		t.Fatalf("program and text/template differ on\n%s\n program: %q\ntemplate: %q %v", tm.text.Data, out, want, d)
	}
}

// normal hides addresses, which printf "%v" of a pointer prints.
func normal(out []byte) string { return addresses.ReplaceAllString(string(out), "0x") }

var addresses = regexp.MustCompile(`0x[0-9a-f]{8,}`)

func at(d *diag.Diagnostic) string {
	s := string(d.Span.Text.Data[d.Span.Start:d.Span.End])
	return strings.TrimPrefix(d.Pos().String(), d.Span.Text.Name+":") + " " + s
}

// dialectFor returns the newest dialect that has what a template calls.
func dialectFor(text string) *Dialect {
	if strings.Contains(text, "render ") {
		return DialectOf(release.V(1, 13))
	}
	return &newest
}
