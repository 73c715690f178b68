package conformance

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"istio.io/istio/istioctl/pkg/install/k8sversion"
	"istio.io/istio/operator/pkg/render"
	"sigs.k8s.io/yaml"

	"github.com/ingraft/ingraft/internal/chart/builtin"
)

// TestDefaultInjection: the injection configuration that is built in equals,
// as data, what the mesh's own installer generates for its default profile.
func TestDefaultInjection(t *testing.T) {
	for _, tc := range []struct {
		name  string
		o     builtin.Injection
		flags []string
	}{
		{"default", builtin.Injection{}, nil},
		{"revision", builtin.Injection{Revision: "canary"}, []string{"revision=canary"}},
		{"namespace", builtin.Injection{IstioNamespace: "mesh"}, []string{"values.global.istioNamespace=mesh"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			// The one difference that is meant: the installer was built from
			// sources, ingraft tells of the released images.
			flags := append([]string{"hub=" + builtin.Hub, "tag=" + builtin.Tag}, tc.flags...)
			sets, _, err := render.GenerateManifest(nil, flags, false, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			data := map[string]map[string]string{}
			for _, set := range sets {
				for _, m := range set.Manifests {
					if m.GetKind() != "ConfigMap" {
						continue
					}
					var cm struct{ Data map[string]string }
					if err := yaml.Unmarshal([]byte(m.Content), &cm); err != nil {
						t.Fatal(err)
					}
					data[m.GetName()] = cm.Data
				}
			}
			suffix := ""
			if tc.o.Revision != "" {
				suffix = "-" + tc.o.Revision
			}
			config, mesh, values, err := builtin.DefaultInjection(tc.o)
			if err != nil {
				t.Fatal(err)
			}
			for _, piece := range []struct {
				name string
				want string
				got  []byte
			}{
				{"config", data["istio-sidecar-injector"+suffix]["config"], config},
				{"values", data["istio-sidecar-injector"+suffix]["values"], values},
				{"mesh", data["istio"+suffix]["mesh"], mesh},
			} {
				if piece.want == "" {
					t.Fatalf("the installer generates no %s", piece.name)
				}
				var want, got any
				if err := yaml.Unmarshal([]byte(piece.want), &want); err != nil {
					t.Fatal(err)
				}
				if err := yaml.Unmarshal(piece.got, &got); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: -installer +ours:\n%s", piece.name, diff)
				}
			}
		})
	}
}

// TestMinKubeVersion: charts are rendered for the Kubernetes that the
// installer takes where it has no cluster.
func TestMinKubeVersion(t *testing.T) {
	if want := fmt.Sprintf("v1.%d.0", k8sversion.MinK8SVersion); builtin.MinKubeVersion != want {
		t.Errorf("built in is %s, the installer has %s", builtin.MinKubeVersion, want)
	}
}
