package settings

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/wrapperspb"
	networking "istio.io/api/networking/v1beta1"
	selection "istio.io/api/type/v1beta1"
	"istio.io/istio/pilot/pkg/config/memory"
	"istio.io/istio/pilot/pkg/model"
	istioconfig "istio.io/istio/pkg/config"
	"istio.io/istio/pkg/config/mesh"
	"istio.io/istio/pkg/config/schema/collection"
	"istio.io/istio/pkg/config/schema/collections"
	"istio.io/istio/pkg/config/schema/gvk"
	"istio.io/istio/pkg/util/protomarshal"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/source"
)

// What ProxyConfig objects, the mesh configuration and the annotation of a pod
// come to is what the control plane's webhook makes of them.
func TestProxyConfigObjects(t *testing.T) {
	concerned := 0
	each(t, func(t *testing.T, r *rand.Rand) {
		g := generator{r, 1 << 30}
		meshText := fmt.Sprintf(`{"rootNamespace":%q,"defaultConfig":{"proxyMetadata":{"A":"mesh","B":"mesh"},"concurrency":%d}}`, pick(g, "istio-system", "root", ""), g.IntN(3))
		theirs, err := mesh.ApplyMeshConfigDefaults(meshText)
		if err != nil {
			t.Fatal(err)
		}
		ours, findings := config.ParseMesh(text(meshText))
		if ours == nil {
			t.Fatal(findings)
		}
		store := memory.Make(collection.SchemasFor(collections.ProxyConfig))
		var objects []*source.Node
		for i := range g.IntN(6) {
			spec, in := g.proxyObject(), pick(g, "root", "shop", "istio-system", "other")
			created := time.Unix(int64(g.IntN(3))*100, 0).UTC()
			meta := istioconfig.Meta{GroupVersionKind: gvk.ProxyConfig, Name: fmt.Sprint("o", i), Namespace: in, CreationTimestamp: created}
			if _, err := store.Create(istioconfig.Config{Meta: meta, Spec: spec}); err != nil {
				t.Fatal(err)
			}
			js, err := protomarshal.ToJSON(spec)
			if err != nil {
				t.Fatal(err)
			}
			doc, err := source.Parse(text(fmt.Sprintf(`{"apiVersion":"networking.istio.io/v1beta1","kind":"ProxyConfig","metadata":{"name":%q,"namespace":%q,"creationTimestamp":%q},"spec":%s}`,
				meta.Name, in, created.Format(time.RFC3339), js)))
			if err != nil {
				t.Fatal(err)
			}
			objects = append(objects, doc.Root)
		}
		labels, annotations := map[string]string{"app": pick(g, "a", "b"), "tier": "x"}, map[string]string{}
		if g.oneIn(2) {
			annotations[annot.ProxyConfig] = `{"proxyMetadata":{"B":"pod","C":"pod"},"concurrency":` + fmt.Sprint(g.IntN(5)) + `}`
		}
		in := pick(g, "root", "shop", "istio-system")
		want := model.GetProxyConfigs(store, theirs).EffectiveProxyConfig(
			&model.NodeMetadata{Namespace: in, Labels: labels, Annotations: annotations}, theirs)

		e := engine(t, ours)
		got, findings := e.ProxyConfig(&inject.Request{
			NamespaceName: in, ProxyConfigs: inject.NewProxyConfigs(objects, ""),
			Pod: source.NewMap(source.F("metadata", source.NewMap(source.F("labels", stringMap(labels)), source.F("annotations", stringMap(annotations))))),
		})
		if diff := cmp.Diff(want, got, protocmp.Transform(), cmpopts.EquateNaNs()); diff != "" || findings.HasErrors() {
			t.Fatalf("%s, %d objects, %v, in %s\n%v\n(-mesh +ingraft):\n%s", meshText, len(objects), annotations, in, findings, diff)
		}
		if len(objects) > 0 {
			concerned++
		}
	})
	if concerned < *cases/2 {
		t.Errorf("only %d of %d cases have objects", concerned, *cases)
	}
}

func (g generator) proxyObject() *networking.ProxyConfig {
	spec := &networking.ProxyConfig{}
	switch g.IntN(4) {
	case 0, 1:
	case 2:
		spec.Selector = &selection.WorkloadSelector{MatchLabels: map[string]string{"app": pick(g, "a", "b")}}
	case 3:
		spec.Selector = &selection.WorkloadSelector{}
	}
	if g.oneIn(2) {
		spec.Concurrency = wrapperspb.Int32(int32(g.IntN(4)))
	}
	for range g.IntN(3) {
		if spec.EnvironmentVariables == nil {
			spec.EnvironmentVariables = map[string]string{}
		}
		spec.EnvironmentVariables[pick(g, "A", "B", "C", "D")] = pick(g, "x", "", "y: z")
	}
	if g.oneIn(3) {
		spec.Image = &networking.ProxyImage{ImageType: pick(g, "", "distroless", "debug")}
	}
	return spec
}

func stringMap(m map[string]string) *source.Node {
	var fields []source.Field
	for k, v := range m {
		fields = append(fields, source.F(k, source.NewString(v)))
	}
	return source.NewMap(fields...)
}

func engine(t *testing.T, m *config.Mesh) *inject.Engine {
	t.Helper()
	cfg, _ := config.ParseInjection(text("templates:\n  sidecar: \"spec: {}\"\n"))
	values, _ := config.ParseValues(text("{}"))
	e, findings := inject.Compile(cfg, m, values, inject.Options{})
	if e == nil {
		t.Fatal(findings)
	}
	return e
}
