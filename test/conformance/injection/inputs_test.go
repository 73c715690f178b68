package injection

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// parameters are those that the peer's tests run one of their inputs with,
// where they are not the default ones.
type parameters struct {
	file  string
	set   []string
	iop   string
	edits []edit
	world world
	// webhookOnly and cliOnly tell which door the peer's tests leave out.
	webhookOnly, cliOnly bool
	// once leaves out the second injection of each result.
	once bool
}

var (
	native  = world{Native: true}
	classic = world{}
	ocp     = world{Native: true, OpenShift: true}
)

func meshEdit(path string, value any) []edit {
	return []edit{{In: "mesh", Path: strings.Split(path, "."), Value: value}}
}

// peerParameters is the table of the peer's tests of its inputs. Inputs that
// it does not name are run with the default installation on nodes that run
// native sidecars, as the peer does.
var peerParameters = []parameters{
	{file: "hello.yaml", set: []string{"components.cni.enabled=true", "values.cni.provider=default", "values.global.network=network1"}, world: native},
	{file: "hello.yaml", set: []string{"values.global.proxy.image=proxyTest"}, world: native},
	{file: "hello.yaml", set: []string{"values.global.proxy_init.image=proxyInitTest"}, world: native},
	{file: "hello.yaml", edits: meshEdit("defaultConfig.interceptionMode", "TPROXY"), world: native},
	{file: "hello.yaml", set: []string{"values.global.imagePullPolicy=Always"}, world: native},
	{file: "hello.yaml", set: []string{"values.global.imagePullPolicy=Never"}, world: native},
	{file: "hello.yaml", world: classic},
	{file: "format-duration.yaml", edits: meshEdit("defaultConfig.drainDuration", "23s"), world: native},
	{file: "traffic-params.yaml", set: []string{
		"values.global.proxy.includeIPRanges=127.0.0.1/24,10.96.0.1/24", "values.global.proxy.excludeIPRanges=10.96.0.2/24,10.96.0.3/24",
		"values.global.proxy.excludeInboundPorts=4,5,6", "values.global.proxy.statusPort=0",
	}, world: native},
	{file: "status_params.yaml", set: statusSettings, world: native},
	{file: "kubevirtInterfaces.yaml", set: statusSettings, world: native},
	{file: "reroute-virtual-interfaces.yaml", set: statusSettings, world: native},
	{file: "hello.yaml", iop: "hello-image-secrets-in-values.iop.yaml", world: native},
	{file: "hello-image-pull-secret.yaml", iop: "hello-image-secrets-in-values.iop.yaml", world: native},
	{file: "hello.yaml", iop: "hello-template-in-values.iop.yaml", world: native},
	{file: "hello.yaml", set: []string{"values.global.mountMtlsCerts=true"}, world: native},
	{file: "hello.yaml", set: multus, world: native},
	{file: "hello-existing-cncf-networks.yaml", set: multus, world: native},
	{file: "hello-existing-cncf-networks-json.yaml", set: multus, world: native},
	{file: "hello.yaml", set: hold, world: native},
	{file: "hello-probes.yaml", set: hold, world: native},
	{file: "hello-probes-noProxyHoldApplication-ProxyConfig.yaml", set: hold, world: native},
	{file: "hello-service.yaml", world: native, cliOnly: true},
	{file: "cronjob.yaml", world: native, cliOnly: true},
	{file: "cronjob.yaml", world: classic, cliOnly: true},
	{file: "daemonset.yaml", world: classic},
	{file: "job.yaml", world: classic},
	{file: "pod.yaml", world: classic},
	{file: "replicaset.yaml", world: classic},
	{file: "statefulset.yaml", world: classic},
	{file: "traffic-annotations.yaml", edits: meshEdit("defaultConfig.proxyMetadata", object{"ISTIO_META_TLS_CLIENT_KEY": "/etc/identity/client/keys/client-key.pem"}), world: native},
	{file: "proxy-override-runas.yaml", set: []string{"components.cni.enabled=true"}, world: native},
	{file: "proxy-override-runas.yaml", edits: meshEdit("defaultConfig.interceptionMode", "TPROXY"), world: native},
	{file: "native-sidecar.yaml", world: classic},
	{file: "native-sidecar-opt-in.yaml", world: classic},
	{file: "native-sidecar-opt-out.yaml", world: classic},
	{file: "custom-template.yaml", iop: "custom-template.iop.yaml", world: native},
	{file: "merge-probers.yaml", set: hold, world: native},
	{file: "hello-tracing-disabled.yaml", edits: meshEdit("defaultConfig.tracing", object{}), world: native},
	{file: "hello-openshift.yaml", set: []string{"components.cni.enabled=true"}, world: ocp, webhookOnly: true},
	{file: "hello-openshift-custom-injection.yaml", set: []string{"components.cni.enabled=true"}, world: ocp, webhookOnly: true},
	{file: "hello-openshift-tproxy.yaml", set: []string{"components.cni.enabled=true"}, world: ocp, webhookOnly: true},
	{file: "hello-probes-localhost.yaml", edits: meshEdit("inboundTrafficPolicy.mode", "LOCALHOST"), world: native},
	{file: "proxy-resources-null.yaml", iop: "proxy-resources-null.iop.yaml", world: native},
	{file: "proxy-resources-null-no-init.yaml", iop: "proxy-resources-null.iop.yaml", world: native},
	{file: "proxy-resources-zero.yaml", iop: "proxy-resources-zero.iop.yaml", world: native},
	{file: "proxy-resources-memory-null.yaml", iop: "proxy-resources-memory-null.iop.yaml", world: native},
	{file: "proxy-resources-mixed-null.yaml", iop: "proxy-resources-mixed-null.iop.yaml", world: native},
	{file: "sidecar-spire.yaml", iop: "spire-template.iop.yaml", world: native},
	{file: "gateway-spire.yaml", iop: "spire-template.iop.yaml", world: native},
	{file: "hello-otel-semconv.yaml", edits: meshEdit("extensionProviders", []any{object{"name": "otel", "opentelemetry": object{
		"service": "otel-collector.observability.svc.cluster.local", "port": 4317, "serviceAttributeEnrichment": "OTEL_SEMANTIC_CONVENTIONS",
	}}}), world: native},
	{file: "hello.yaml", world: world{Native: true, Compliance: "fips-140-3"}},
}

var (
	statusSettings = []string{
		"values.global.proxy.statusPort=123", "values.global.proxy.readinessInitialDelaySeconds=100",
		"values.global.proxy.readinessPeriodSeconds=200", "values.global.proxy.readinessFailureThreshold=300",
	}
	multus = []string{"components.cni.enabled=true", "values.cni.provider=multus"}
	hold   = []string{"values.global.proxy.holdApplicationUntilProxyStarts=true"}
)

// inTable tells that the peer's tests give an input parameters of its own.
func inTable(file string) bool {
	return slices.ContainsFunc(peerParameters, func(p parameters) bool { return p.file == file })
}

// TestPeerInputs runs the peer's own test inputs with the parameters of its
// tests: every document through kube-inject, and every pod that would come of
// it through the webhook.
func TestPeerInputs(t *testing.T) {
	table := slices.Clone(peerParameters)
	for _, file := range peerFiles(t) {
		if !inTable(file) {
			table = append(table, parameters{file: file, world: native})
		}
	}
	runInputs(t, newTally("the peer's inputs"), table)
}

// TestPeerInputsCrossed runs each of the peer's inputs under each of the
// settings that its tests use, by turns with and without native sidecars.
func TestPeerInputsCrossed(t *testing.T) {
	var table []parameters
	seen := map[string]bool{}
	for _, p := range append(slices.Clone(peerParameters), parameters{}) {
		r := recipe{Set: p.set, File: p.iop, Edits: p.edits}
		if seen[r.String()] || p.world.OpenShift || p.world.Compliance != "" {
			continue
		}
		seen[r.String()] = true
		for i, file := range peerFiles(t) {
			w := []world{classic, native}[(i+len(seen))%2]
			table = append(table, parameters{file: file, set: p.set, iop: p.iop, edits: p.edits, world: w, once: true})
		}
	}
	runInputs(t, newTally("the peer's inputs, each under each setting"), table)
}

// peerFiles lists the peer's inputs that are manifests.
func peerFiles(t *testing.T) []string {
	all, err := filepath.Glob(filepath.Join(peerInputs(), "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, f := range all {
		if name := filepath.Base(f); !strings.HasSuffix(name, ".iop.yaml") {
			files = append(files, name)
		}
	}
	if len(files) < 90 {
		t.Fatalf("only %d inputs in %s", len(files), peerInputs())
	}
	return files
}

func runInputs(t *testing.T, tally *tally, table []parameters) {
	silencePeer()
	byWorld := map[world][]testCase{}
	var order []world
	for _, p := range table {
		if _, ok := byWorld[p.world]; !ok {
			order = append(order, p.world)
		}
		byWorld[p.world] = append(byWorld[p.world], p.cases(t)...)
	}
	for _, w := range order {
		t.Run(w.String(), func(t *testing.T) { runCases(t, tally, w, slices.Values(byWorld[w])) })
	}
	report.add(tally)
}

// cases are the injections that come of one row: each document at
// kube-inject, each pod at the webhook, and each of the results once more.
func (p parameters) cases(t *testing.T) []testCase {
	var all []testCase
	r := recipe{Set: p.set, File: p.iop, Edits: p.edits}
	add := func(c testCase) {
		c.World, c.Recipe = p.world, r
		all = append(all, c)
		if !p.once {
			c.Then = &r
			all = append(all, c)
		}
	}
	for _, doc := range documents(t, filepath.Join(peerInputs(), p.file)) {
		if !p.webhookOnly {
			add(testCase{Door: doorCLI, Object: doc})
		}
		if p.cliOnly {
			continue
		}
		for _, pod := range podsOf(doc) {
			add(testCase{Door: doorWebhook, Object: pod.object, Namespace: pod.namespace})
		}
	}
	return all
}

// documents reads the objects of a file.
func documents(t *testing.T, file string) []object {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	docs, err := readDocuments(f)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return docs
}

// readDocuments reads the objects of a stream; empty documents are left out.
func readDocuments(in io.Reader) ([]object, error) {
	var docs []object
	r := utilyaml.NewYAMLReader(bufio.NewReader(in))
	for {
		raw, err := r.Read()
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, err
		}
		var o object
		if err := yaml.Unmarshal(raw, &o); err != nil {
			return nil, err
		}
		if len(o) > 0 {
			docs = append(docs, o)
		}
	}
}
