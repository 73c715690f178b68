package annot

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"istio.io/api/annotation"
	"istio.io/api/label"
)

var update = flag.Bool("update", false, "write docs/annotations.md instead of comparing it")

func TestTableIsWellFormed(t *testing.T) {
	for i := range keys {
		k := &keys[i]
		if i > 0 && (keys[i-1].Kind > k.Kind || keys[i-1].Kind == k.Kind && keys[i-1].Name >= k.Name) {
			t.Errorf("%s: not in the order of kind and name, so that it is not found", k.Name)
		}
		if found, ok := Lookup(k.Kind, k.Name); !ok || found != k {
			t.Errorf("%s %s: not found", k.Kind, k.Name)
		}
		if k.Scope == 0 || !strings.HasSuffix(k.Doc, ".") || strings.Count(k.Doc, ". ") > 0 {
			t.Errorf("%s: want objects and one sentence, have %q, %q", k.Name, k.Scope, k.Doc)
		}
		if (k.check != nil || k.Refused) && k.Form == "" {
			t.Errorf("%s: its values are judged, and nothing says how to write them", k.Name)
		}
	}
	if _, ok := Lookup(Label, ProxyConfig); ok {
		t.Error("an annotation was found as a label")
	}
	if _, ok := Lookup(Annotation, "zzz"); ok {
		t.Error("an unknown name was found")
	}
}

// TestTableHoldsTheMeshs compares the table with that of istio.io/api.
func TestTableHoldsTheMeshs(t *testing.T) {
	want := map[string]string{}
	for _, a := range annotation.AllResourceAnnotations() {
		want["annotation "+a.Name] = stage(a.FeatureStatus.String(), a.Deprecated)
	}
	for _, l := range label.AllResourceLabels() {
		want["label "+l.Name] = stage(l.FeatureStatus.String(), l.Deprecated)
	}
	for _, k := range keys {
		name := k.Kind.String() + " " + k.Name
		if stage, ok := want[name]; ok && stage != k.Stage.String() {
			t.Errorf("%s is %s in the table, and %s in the mesh's", name, k.Stage, stage)
		}
		_, known := want[name]
		delete(want, name)
		// What the mesh reads without listing it, by the literals in its source.
		if unlisted := slices.Contains([]string{
			"annotation gateway.istio.io/agentgatewayImage",
			"annotation prometheus.istio.io/scrape-targets",
			"annotation prometheus.istio.io/secure-port",
			"annotation sidecar.istio.io/capNetBindService",
			"annotation sidecar.istio.io/enableCoreDump",
			"label networking.istio.io/tunnel",
		}, name); !known && IsMesh(k.Name) && !unlisted {
			t.Errorf("%s is not in the mesh's table", name)
		}
	}
	for name := range want {
		t.Errorf("%s of the mesh is missing", name)
	}
}

func stage(status string, deprecated bool) string {
	if deprecated {
		return Deprecated.String()
	}
	return strings.ToLower(status)
}

func TestNearest(t *testing.T) {
	for _, test := range []struct {
		kind       Kind
		name, want string
	}{
		{Annotation, "sidecar.istio.io/ijnect", SidecarInject},
		{Annotation, "sidecar.istio.io/proxyCpu", SidecarProxyCPU}, // upper and lower case
		{Annotation, "sidecar.istio.io/proxyCPULimits", SidecarProxyCPULimit},
		{Annotation, "sidecar.istio.io/excludeInboundPorts", TrafficExcludeInboundPorts}, // wrong domain
		{Annotation, "traffic.sidecar.istio.io/excludeOutboundPort", TrafficExcludeOutboundPorts},
		{Annotation, "proxy.istio.io/confg", ProxyConfig},
		{Annotation, "istio.io/nativeSidecars", SidecarNativeSidecar},
		{Annotation, "sidecar.istio.io/somethingElse", ""},
		{Label, "istio.io/use-wayponit", UseWaypoint},
		{Label, "service.istio.io/canonical-nam", ServiceCanonicalName},
		{Label, "istio.io/x", ""},
	} {
		if got := Nearest(test.kind, test.name); got != test.want {
			t.Errorf("Nearest(%s, %q) = %q, want %q", test.kind, test.name, got, test.want)
		}
	}
}

func TestMisspelt(t *testing.T) {
	for _, test := range []struct {
		kind       Kind
		name, want string
	}{
		{Label, "sidecar.isto.io/inject", SidecarInject},
		{Annotation, "sidecar.istio.oi/Inject", SidecarInject},
		{Annotation, "trafic.sidcar.istoi.io/excludeOutboundPorts", ""}, // three slips
		{Annotation, "traffic.sidecar.istoi.io/excludeOutboundPorts", TrafficExcludeOutboundPorts},
		{Label, "isto.io/rev", Revision},
		{Label, "example.io/rev", ""},
		{Annotation, "linkerd.io/inject", ""},
		{Annotation, "sidecar.opentelemetry.io/inject", ""},
		{Annotation, "sidecar.istio.io/inject", ""}, // is one of the mesh's
		{Annotation, "sidecar.istio.io/injct", ""},  // so is its domain
		{Label, "app.kubernetes.io/version", ""},
		{Label, "inject", ""},
	} {
		if got := Misspelt(test.kind, test.name); got != test.want {
			t.Errorf("Misspelt(%s, %q) = %q, want %q", test.kind, test.name, got, test.want)
		}
	}
}

func TestIsMesh(t *testing.T) {
	for name, want := range map[string]bool{
		"sidecar.istio.io/inject": true, "istio.io/rev": true, "istio-injection": false,
		"notistio.io/x": false, "istio.io": false, "prometheus.io/port": false,
	} {
		if IsMesh(name) != want {
			t.Errorf("IsMesh(%q) = %v", name, !want)
		}
	}
}

// TestDocsAreFresh compares docs/annotations.md with the table. With -update
// it writes the page.
func TestDocsAreFresh(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "annotations.md")
	want := page()
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := os.ReadFile(file); !bytes.Equal(got, want) {
		t.Error("docs/annotations.md is not what the table says; write it with go test ./internal/annot -run TestDocsAreFresh -update")
	}
}

func page() []byte {
	var b bytes.Buffer
	b.WriteString(`# Annotations and labels

What ingraft knows of the annotations and labels of the mesh, and of those of Kubernetes and other projects that
injection reads or writes. This page is generated from the table in internal/annot.

A key for a Pod belongs into the metadata of the pod template of a workload; on the workload itself it has no effect.
Where a value is marked **refused otherwise**, the injector refuses a pod with a value of another form; all other values
of a wrong form have no effect, or one that was not meant.

`)
	for _, kind := range []Kind{Annotation, Label} {
		fmt.Fprintf(&b, "## %ss\n\n| name | object | stage | what it does | values |\n| --- | --- | --- | --- | --- |\n", strings.ToUpper(kind.String()[:1])+kind.String()[1:])
		for i := range keys {
			k := &keys[i]
			if k.Kind != kind {
				continue
			}
			form := strings.TrimPrefix(k.Form, "write ")
			if k.Refused {
				form += "; **refused otherwise**"
			}
			doc := k.Doc
			if k.Set == ByMesh {
				doc += " Not for people to set."
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", k.Name, k.Scope, k.Stage, doc, form)
		}
		b.WriteByte('\n')
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
