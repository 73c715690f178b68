package conformance

import (
	"testing"

	"istio.io/istio/pkg/kube/inject"
)

// TestPeerDefaults pins what an injection configuration without any template
// selection means, which proves that the peer is linked and answers.
func TestPeerDefaults(t *testing.T) {
	c, err := inject.UnmarshalConfig([]byte("policy: enabled\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.DefaultTemplates) != 1 || c.DefaultTemplates[0] != "sidecar" {
		t.Errorf("default templates: got %v, want [sidecar]", c.DefaultTemplates)
	}
}
