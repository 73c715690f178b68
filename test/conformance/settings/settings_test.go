package settings

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/testing/protocmp"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
	"istio.io/istio/operator/pkg/apis"
	"istio.io/istio/pkg/config/mesh"
	"istio.io/istio/pkg/kube/inject"
	"istio.io/istio/pkg/util/protomarshal"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

func text(s string) *source.Text { return source.NewText("text", []byte(s)) }

func TestDefaults(t *testing.T) {
	if diff := cmp.Diff(mesh.DefaultMeshConfig(), config.DefaultMeshConfig(), protocmp.Transform(), cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("mesh configuration (-mesh +ingraft):\n%s", diff)
	}
	if diff := cmp.Diff(mesh.DefaultProxyConfig(), config.DefaultProxyConfig(), protocmp.Transform(), cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("proxy configuration (-mesh +ingraft):\n%s", diff)
	}
}

func TestMeshConfig(t *testing.T) {
	sound := 0
	each(t, func(t *testing.T, r *rand.Rand) {
		g := generator{r, 60}
		doc := g.text(t, g.message((&meshv1alpha1.MeshConfig{}).ProtoReflect().Descriptor(), 0))
		want, err := mesh.ApplyMeshConfigDefaults(doc)
		got, diags := config.ParseMesh(text(doc))
		if (got == nil) != (err != nil) {
			t.Fatalf("%s\nmesh: %s\ningraft: %v", doc, verdict(err), diags)
		}
		if got == nil {
			return
		}
		sound++
		if diff := cmp.Diff(want, got.Config, protocmp.Transform(), cmpopts.EquateNaNs()); diff != "" {
			t.Fatalf("%s\n(-mesh +ingraft):\n%s", doc, diff)
		}
		wantJSON, err := protomarshal.ToJSON(want)
		gotJSON, gotErr := config.AppendProtoJSON(nil, got.Config)
		if err != nil || gotErr != nil || wantJSON != string(gotJSON) {
			t.Fatalf("as JSON:\nmesh: %s, %v\ningraft: %s, %v", wantJSON, err, gotJSON, gotErr)
		}
	})
	enough(t, sound)
}

// enough fails a test whose documents are nearly all sound or nearly all broken.
func enough(t *testing.T, sound int) {
	t.Helper()
	t.Logf("%d documents, %d sound", *cases, sound)
	if *cases >= 100 && (sound < *cases/10 || sound > *cases*19/20) {
		t.Errorf("%d of %d documents are sound: too one-sided to prove anything", sound, *cases)
	}
}

func TestProxyConfig(t *testing.T) {
	validate := inject.AnnotationValidation[annot.ProxyConfig]
	sound := 0
	each(t, func(t *testing.T, r *rand.Rand) {
		g := generator{r, 60}
		pc := (&meshv1alpha1.ProxyConfig{}).ProtoReflect().Descriptor()
		doc := g.text(t, g.message(pc, 1))
		if got, err := config.CheckProxyConfig(text(doc)), validate(doc); got.HasErrors() != (err != nil) {
			t.Fatalf("%s\nmesh: %s\ningraft: %v", doc, verdict(err), got)
		}
		base := g.text(t, map[string]any{"defaultConfig": g.message(pc, 1)})
		m, _ := config.ParseMesh(text(base))
		if m == nil {
			base = "{}"
			m, _ = config.ParseMesh(text(base))
		}
		theirs, err := mesh.ApplyMeshConfigDefaults(base)
		if err != nil {
			t.Fatal(err)
		}
		want, err := mesh.ApplyProxyConfig(doc, theirs)
		got, diags := m.WithProxyConfig(text(doc))
		if (got == nil) != (err != nil) {
			t.Fatalf("%s over %s\nmesh: %s\ningraft: %v", doc, base, verdict(err), diags)
		}
		if got == nil {
			return
		}
		sound++
		if diff := cmp.Diff(want, got.Config, protocmp.Transform(), cmpopts.EquateNaNs()); diff != "" {
			t.Fatalf("%s over %s\n(-mesh +ingraft):\n%s", doc, base, diff)
		}
	})
	enough(t, sound)
}

func TestValues(t *testing.T) {
	sound := 0
	each(t, func(t *testing.T, r *rand.Rand) {
		g := generator{r, 40}
		object := g.message((&apis.Values{}).ProtoReflect().Descriptor(), 0)
		doc := g.text(t, object)
		want, err := inject.NewValuesConfig(doc)
		got, diags := config.ParseValues(text(doc))
		if (got == nil) != (err != nil) {
			t.Fatalf("%s\nmesh: %s\ningraft: %v", doc, verdict(err), diags)
		}
		if got == nil {
			return
		}
		sound++
		if diff := cmp.Diff(want.Map(), got.Map); diff != "" {
			t.Fatalf("%s\nas a map (-mesh +ingraft):\n%s", doc, diff)
		}
		v := want.Struct()
		compare(t, doc, "global.hub", v.GetGlobal().GetHub(), got.Hub())
		compare(t, doc, "global.variant", v.GetGlobal().GetVariant(), got.Variant())
		compare(t, doc, "global.network", v.GetGlobal().GetNetwork(), got.Network())
		compare(t, doc, "global.proxy.image", v.GetGlobal().GetProxy().GetImage(), got.ProxyImage())
		compare(t, doc, "global.proxy_init.image", v.GetGlobal().GetProxyInit().GetImage(), got.ProxyInitImage())
		compare(t, doc, "global.multiCluster.clusterName", v.GetGlobal().GetMultiCluster().GetClusterName(), got.ClusterName())
		compare(t, doc, "global.proxy.holdApplicationUntilProxyStarts", v.GetGlobal().GetProxy().GetHoldApplicationUntilProxyStarts().GetValue(), got.HoldApplicationUntilProxyStarts())
		compare(t, doc, "sidecarInjectorWebhook.rewriteAppHTTPProbe", v.GetSidecarInjectorWebhook().GetRewriteAppHTTPProbe().GetValue(), got.RewriteAppHTTPProbe())
		// The tag shows in the image only.
		image := inject.ProxyImage(&apis.Values{Global: &apis.GlobalConfig{Tag: v.GetGlobal().GetTag(), Hub: "h"}}, nil, nil)
		compare(t, doc, "global.tag, as in the image", image, "h/proxyv2:"+got.Tag())
	})
	enough(t, sound)
}

func compare[T comparable](t *testing.T, doc, what string, want, got T) {
	t.Helper()
	if want != got {
		t.Fatalf("%s\n%s: mesh: %v, ingraft: %v", doc, what, want, got)
	}
}

// Both judge the same annotations, and give the same verdict on every value.
func TestAnnotations(t *testing.T) {
	names := slices.Sorted(maps.Keys(inject.AnnotationValidation))
	var refused []string
	for _, k := range annot.Keys() {
		if k.Refused {
			refused = append(refused, k.Name)
		}
	}
	if diff := cmp.Diff(names, refused); diff != "" {
		t.Fatalf("annotations that are judged (-mesh +ingraft):\n%s", diff)
	}
	sound := 0
	each(t, func(t *testing.T, r *rand.Rand) {
		g := generator{r, 0}
		name := pick(g, names...)
		value := g.value()
		err := inject.AnnotationValidation[name](value)
		got := annot.Validate(source.NewMap(source.F(name, source.NewString(value))), config.CheckProxyConfig)
		if err == nil && dropsText(got) {
			return
		}
		if got.HasErrors() != (err != nil) {
			t.Fatalf("%s: %q\nmesh: %s\ningraft: %v", name, value, verdict(err), got)
		}
		if err == nil {
			sound++
		}
	})
	enough(t, sound)
}

// dropsText reports the one deliberate difference: of a text that goes on after
// its YAML document the mesh's decoder drops the rest in silence, and ingraft
// says so (docs/differences.md).
func dropsText(diags diag.List) bool {
	return len(diags) == 1 && diags[0].Code == diag.CodeSyntax &&
		(strings.Contains(diags[0].Message, "after the end of the document") || strings.Contains(diags[0].Message, "second document"))
}

func TestTextAfterDocument(t *testing.T) {
	for _, value := range []string{"{statusPort: 15021}x", "statusPort: 15021\n---\nconcurrency: 2\n"} {
		m, err := mesh.ApplyProxyConfig(value, mesh.DefaultMeshConfig())
		if err != nil || m.DefaultConfig.StatusPort != 15021 || m.DefaultConfig.Concurrency != nil {
			t.Errorf("%q: the mesh no longer drops the rest: %v, %v", value, m, err)
		}
		if diags := config.CheckProxyConfig(text(value)); !dropsText(diags) {
			t.Errorf("%q: ingraft says %v", value, diags)
		}
	}
}

// value makes the value of an annotation: one that some annotation accepts,
// most often changed a little.
func (g generator) value() string {
	value := pick(g, "", "*", "80", "80,8080", "0", "65535", "4294967295", "10.0.0.0/8", "10.0.0.0/8,fd00::/8", "eth0", "eth0,net1.2-x_y",
		"true", "F", "REDIRECT", "TPROXY", "NONE", "100m", "1.5Gi", "1e3", "2", "concurrency: 2", "{statusPort: 15021}", "drainDuration: 5s")
	for range g.IntN(3) {
		at := g.IntN(len(value) + 1)
		piece := pick(g, " ", ",", "0", "1", "-", "+", ".", "/", "m", "i", "e", "x", "*", ":", "\t", "\n", "\x00", "ü", "_", "E")
		end := at
		if g.oneIn(2) && at < len(value) {
			end = at + 1
		}
		value = value[:at] + piece + value[end:]
	}
	return value
}
