//go:build never

// Pins the direct dependencies until their users land.
package arch

import (
	_ "github.com/Masterminds/sprig/v3"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/spf13/cobra"
	_ "go.yaml.in/yaml/v3"
	_ "golang.org/x/tools/txtar"
	_ "google.golang.org/protobuf/encoding/protojson"
	_ "istio.io/api/annotation"
	_ "istio.io/api/label"
	_ "istio.io/istio/manifests"
	_ "k8s.io/apimachinery/pkg/util/strategicpatch"
	_ "k8s.io/client-go/dynamic"
	_ "k8s.io/client-go/metadata"
	_ "k8s.io/client-go/tools/clientcmd"
	_ "sigs.k8s.io/yaml"
)
