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
)

// revision is the control plane's, which istioctl wants to be told.
const revision = "default"

// peer is the mesh's own injector, ready for one configuration.
type peer struct {
	config  inject.Config
	values  inject.ValuesConfig
	raw     string // the values' text
	mesh    *meshconfig.MeshConfig
	handler http.Handler
}

func newPeer(injection, meshText, values []byte) (*peer, error) {
	config, err := inject.UnmarshalConfig(injection)
	if err != nil {
		return nil, fmt.Errorf("upstream reading the injection configuration: %w", err)
	}
	p := &peer{config: config, raw: string(values)}
	if p.values, err = inject.NewValuesConfig(p.raw); err != nil {
		return nil, fmt.Errorf("upstream reading the values: %w", err)
	}
	if p.mesh, err = mesh.ApplyMeshConfigDefaults(string(meshText)); err != nil {
		return nil, fmt.Errorf("upstream reading the mesh configuration: %w", err)
	}
	return p, nil
}

// serve makes the webhook's handler.
func (p *peer) serve() error {
	// Neither side makes native sidecars, which upstream would ask nodes about.
	features.EnableNativeSidecars = features.NativeSidecarModeDisabled
	for _, s := range log.Scopes() {
		s.SetOutputLevel(log.NoneLevel)
	}
	env := &model.Environment{Watcher: meshwatcher.NewTestWatcher(p.mesh)}
	env.SetPushContext(&model.PushContext{ProxyConfigs: &model.ProxyConfigs{}})
	mux := http.NewServeMux()
	_, err := inject.NewWebhook(inject.WebhookParameters{
		Watcher: fixed{p}, Env: env, Mux: mux, Revision: revision, MultiCluster: multicluster.NewFakeController(),
	})
	p.handler = mux
	return err
}

// fixed is a configuration that never changes.
type fixed struct{ *peer }

func (f fixed) SetHandler(func(*inject.Config, string) error) {}
func (f fixed) Run(<-chan struct{})                           {}
func (f fixed) Get() (*inject.Config, string, error)          { return &f.config, f.raw, nil }

// peerCommand does what kube-inject does with files, without the process
// around it.
func peerCommand(s *settings, input string) (out int64, err error) {
	p, err := readPeer(s)
	if err != nil {
		return 0, err
	}
	in, err := os.Open(input)
	if err != nil {
		return 0, fmt.Errorf("reading the input: %w", err)
	}
	defer in.Close()
	var stdout counter
	err = inject.IntoResourceFile(nil, p.config.Templates, p.values, revision, p.mesh, in, &stdout, func(string) {})
	return int64(stdout), err
}

func readPeer(s *settings) (*peer, error) {
	var texts [3][]byte
	for i, file := range s.files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading the configuration: %w", err)
		}
		texts[i] = data
	}
	return newPeer(texts[0], texts[1], texts[2])
}
