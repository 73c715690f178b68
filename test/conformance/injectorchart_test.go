package conformance

import (
	"fmt"
	"testing"

	"github.com/ingraft/ingraft/deploy"
)

// The injector's chart is rendered by Helm as by injector manifest.
func TestInjectorChart(t *testing.T) {
	p := loadPair(t, deploy.Chart, "injector")
	for i, values := range []map[string]any{
		{},
		{"createNamespace": true, "revision": "canary", "configRevision": "default", "replicas": 3},
		{"url": "https://192.0.2.1/inject", "caBundle": "QQ==", "webhookVersion": "v1beta1"},
		{"namespacesByDefault": true, "platform": "openshift", "nativeSidecars": "false", "resources": map[string]any{"limits": nil}},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			o := chartOptions(t)
			o.Release.Namespace = "mesh"
			if ok, diff := p.compare(values, o); !ok {
				t.Error("not rendered, or differently: ", diff)
			}
		})
	}
}
