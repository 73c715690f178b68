package manifest_test

import (
	"strings"
	"testing"

	"github.com/ingraft/ingraft/internal/manifest"
)

// No input panics, and what is made is the same every time. The base chart is
// left out: its CRDs take long and know no settings.
func FuzzGenerate(f *testing.F) {
	for _, s := range [][2]string{
		{"profile: demo", "revision=nan"},
		{"hub: a", "hub.x=1"},
		{"components: {ingressGateways: [{name: a, k8s: {overlays: [{kind: Service, name: a, patches: [{path: 'spec.ports.[name:http2].port', value: 1}]}]}}]}", "values.global.imagePullSecrets[0]=a"},
		{"components: {pilot: {k8s: {overlays: [{kind: Deployment, name: istiod, patches: [{path: 'a[0].b[:x].[k:v]', value: 'x: y'}, {path: ''}, {path: 'spec[0]'}]}]}}}", "a[-2].[b:c]=1"},
		{"components: {pilot: {k8s: {env: null, hpaSpec: {minReplicas: 2}, service: {ports: [{port: 1}]}, replicaCount: 4294967295}}}", "components.pilot.k8s.env[3].name=x"},
		{"values: {pilot: {env: {A: 0x10, B: [1]}, resources: 5}, global: null, meshConfig: {defaultConfig: {concurrency: -1}}}", "values.pilot=1"},
		{"components: {ingressGateways: null, egressGateways: {}, pilot: 5}", "=foo"},
		{"unvalidatedValues: {global: {proxy: 5}}", "values.global.proxy.image=\xff"},
		{"tag: [1]\nrevision: 5\nmeshConfig: x", "meshConfig=y"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, spec, setting string) {
		run := func() string {
			in := manifest.Input{Force: true, Files: []manifest.File{{
				Name: "iop.yaml",
				In:   strings.NewReader("apiVersion: install.istio.io/v1alpha1\nkind: IstioOperator\nspec:\n  " + strings.ReplaceAll(spec, "\n", "\n  ")),
			}}}
			s, bad := manifest.ParseSetting(setting)
			if bad != nil {
				return bad.Error()
			}
			off, _ := manifest.ParseSetting("components.base.enabled=false")
			in.Settings = []manifest.Setting{s, off}
			res, found, err := manifest.Generate(in)
			switch {
			case err != nil:
				return err.Error()
			case res == nil && !found.HasErrors():
				t.Fatal("neither objects nor errors")
			case res == nil:
				return told(found)
			}
			return string(manifest.Append(nil, res.Objects))
		}
		if a, b := run(), run(); a != b {
			t.Errorf("two runs differ:\n%.2000s\n%.2000s", a, b)
		}
	})
}
