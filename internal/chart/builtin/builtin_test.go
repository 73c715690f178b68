package builtin_test

import (
	"encoding/json"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ingraft/ingraft/internal/chart"
	"github.com/ingraft/ingraft/internal/chart/builtin"
)

// That the three pieces equal those of the mesh's own installer is the matter
// of test/conformance; here they are what an injector can read, and the
// options arrive where they belong.
func TestDefaultInjection(t *testing.T) {
	for _, tc := range []struct {
		name                             string
		o                                builtin.Injection
		discovery, root, hub, tag, revIn string
	}{
		{"zero", builtin.Injection{}, "istiod.istio-system.svc:15012", "istio-system", builtin.Hub, builtin.Tag, ""},
		{"default revision", builtin.Injection{Revision: "default"}, "istiod.istio-system.svc:15012", "istio-system", builtin.Hub, builtin.Tag, ""},
		{
			"all",
			builtin.Injection{Revision: "canary", IstioNamespace: "mesh", Hub: "example.com/i", Tag: "1.2.3"},
			"istiod-canary.mesh.svc:15012", "mesh", "example.com/i", "1.2.3", "canary",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config, mesh, values, err := builtin.DefaultInjection(tc.o)
			if err != nil {
				t.Fatal(err)
			}
			var c struct {
				Policy           string
				DefaultTemplates []string
				Templates        map[string]string
			}
			if err := yaml.Unmarshal(config, &c); err != nil {
				t.Fatal(err)
			}
			want := []string{"agentgateway", "agentgateway-waypoint", "gateway", "grpc-agent", "grpc-simple", "kube-gateway", "sidecar", "waypoint"}
			var names []string
			for name, text := range c.Templates {
				names = append(names, name)
				if !strings.Contains(text, "{{") || strings.Contains(text, "<no value>") {
					t.Errorf("template %s does not look like one: %.80q", name, text)
				}
			}
			if slices.Sort(names); !slices.Equal(names, want) {
				t.Errorf("templates %q, want %q", names, want)
			}
			if c.Policy != "enabled" || !slices.Equal(c.DefaultTemplates, []string{"sidecar"}) {
				t.Errorf("policy %q, default templates %q", c.Policy, c.DefaultTemplates)
			}

			var m struct {
				RootNamespace string
				DefaultConfig struct{ DiscoveryAddress string }
			}
			if err := yaml.Unmarshal(mesh, &m); err != nil {
				t.Fatal(err)
			}
			if m.DefaultConfig.DiscoveryAddress != tc.discovery || m.RootNamespace != tc.root {
				t.Errorf("mesh %+v", m)
			}

			var v struct {
				Revision string
				Global   struct{ Hub, Tag, IstioNamespace string }
			}
			if err := json.Unmarshal(values, &v); err != nil {
				t.Fatal(err)
			}
			if v.Revision != tc.revIn || v.Global.Hub != tc.hub || v.Global.Tag != tc.tag || v.Global.IstioNamespace != tc.root {
				t.Errorf("values %+v", v)
			}
		})
	}
}

// Every folder of the embedded charts that holds a chart is listed, and loads.
func TestCharts(t *testing.T) {
	var found []string
	err := fs.WalkDir(builtin.FS(), "charts", func(file string, d fs.DirEntry, err error) error {
		if dir, ok := strings.CutSuffix(file, "/Chart.yaml"); ok {
			found = append(found, dir)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := builtin.Charts(); !slices.Equal(found, want) {
		t.Errorf("the embedded charts are %q, listed are %q", found, want)
	}
	for _, dir := range found {
		if _, err := chart.Load(builtin.FS(), dir); err != nil {
			t.Error(err)
		}
	}
}

func BenchmarkDefaultInjection(b *testing.B) {
	for b.Loop() {
		if _, _, _, err := builtin.DefaultInjection(builtin.Injection{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRender(b *testing.B) {
	kube, err := chart.ParseKubeVersion(builtin.MinKubeVersion)
	if err != nil {
		b.Fatal(err)
	}
	o := chart.Options{Release: chart.Release{Name: "istio", Namespace: builtin.Namespace}, Capabilities: chart.Capabilities{KubeVersion: kube}}
	for _, dir := range builtin.Charts() {
		c, err := chart.Load(builtin.FS(), dir)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(c.Name, func(b *testing.B) {
			for b.Loop() {
				if _, err := c.Render(nil, o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
