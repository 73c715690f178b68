// Package e2e walks with ingraft through what people do with it, on a real
// control plane of Kubernetes.
package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ingraft/ingraft/test/e2e/controlplane"
)

// plane is what all walks share; each has namespaces and webhook
// configurations of its own.
var plane *controlplane.ControlPlane

// program is the file of ingraft.
var program string

func TestMain(m *testing.M) { os.Exit(walk(m)) }

func walk(m *testing.M) (code int) {
	begin := time.Now()
	// What the API server warns of is looked at where kubectl shows it.
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	ctx := context.Background()
	bin, err := controlplane.Build(ctx, ".", os.Stderr)
	if err == nil {
		plane, err = controlplane.Start(ctx, bin)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := plane.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}()
	if program, err = controlplane.BuildIngraft(ctx, "../..", plane.Dir); err == nil {
		err = probeNamespaces(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintf(os.Stderr, "the control plane is ready after %.1f s\n", time.Since(begin).Seconds())
	if code = m.Run(); code != 0 {
		fmt.Fprint(os.Stderr, plane.Logs())
	}
	return code
}
