// Command peer is the process in which the benchmark measures the mesh's own
// injector: see package side.
package main

import (
	"fmt"
	"net/http"
	"os"

	meshconfig "istio.io/api/mesh/v1alpha1"
	"istio.io/istio/pilot/pkg/features"
	"istio.io/istio/pilot/pkg/model"
	"istio.io/istio/pkg/config/mesh"
	"istio.io/istio/pkg/config/mesh/meshwatcher"
	"istio.io/istio/pkg/kube/inject"
	"istio.io/istio/pkg/kube/multicluster"
	"istio.io/istio/pkg/log"

	"github.com/ingraft/ingraft/test/conformance/bench/side"
)

func main() {
	// Neither side makes native sidecars, which upstream would ask nodes about.
	features.EnableNativeSidecars = features.NativeSidecarModeDisabled
	for _, s := range log.Scopes() {
		s.SetOutputLevel(log.NoneLevel)
	}
	side.Engine{Command: command, Handler: handler}.Main()
}

// peer is the mesh's own injector, ready for one configuration.
type peer struct {
	config inject.Config
	values inject.ValuesConfig
	raw    string // the values' text
	mesh   *meshconfig.MeshConfig
}

func read(s side.Settings) (*peer, error) {
	texts, err := s.Read()
	if err != nil {
		return nil, err
	}
	p := &peer{raw: string(texts[2])}
	if p.config, err = inject.UnmarshalConfig(texts[0]); err != nil {
		return nil, fmt.Errorf("upstream reading the injection configuration: %w", err)
	}
	if p.values, err = inject.NewValuesConfig(p.raw); err != nil {
		return nil, fmt.Errorf("upstream reading the values: %w", err)
	}
	if p.mesh, err = mesh.ApplyMeshConfigDefaults(string(texts[1])); err != nil {
		return nil, fmt.Errorf("upstream reading the mesh configuration: %w", err)
	}
	return p, nil
}

// handler makes the webhook's handler, which reads its own release only.
func handler(s side.Settings, _ string) (http.Handler, error) {
	p, err := read(s)
	if err != nil {
		return nil, err
	}
	env := &model.Environment{Watcher: meshwatcher.NewTestWatcher(p.mesh)}
	env.SetPushContext(&model.PushContext{ProxyConfigs: &model.ProxyConfigs{}})
	mux := http.NewServeMux()
	_, err = inject.NewWebhook(inject.WebhookParameters{
		Watcher: fixed{p}, Env: env, Mux: mux, Revision: side.Revision, MultiCluster: multicluster.NewFakeController(),
	})
	return mux, err
}

// fixed is a configuration that never changes.
type fixed struct{ *peer }

func (f fixed) SetHandler(func(*inject.Config, string) error) {}
func (f fixed) Run(<-chan struct{})                           {}
func (f fixed) Get() (*inject.Config, string, error)          { return &f.config, f.raw, nil }

// command does what kube-inject does with files, without the process around it.
func command(s side.Settings, input string) (int64, error) {
	p, err := read(s)
	if err != nil {
		return 0, err
	}
	in, err := os.Open(input)
	if err != nil {
		return 0, fmt.Errorf("reading the input: %w", err)
	}
	defer in.Close()
	var stdout counter
	err = inject.IntoResourceFile(nil, p.config.Templates, p.values, side.Revision, p.mesh, in, &stdout, func(string) {})
	return int64(stdout), err
}

// counter is a writer that counts.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
