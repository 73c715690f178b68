package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// imageOf is the proxy's image in the configuration of testdata with the values
// of a revision.
func imageOf(hub string) string { return "registry.example.com/" + hub + "/proxyv2:1" }

// valuesOf writes values that make imageOf the image.
func valuesOf(t testing.TB, file, hub string) {
	t.Helper()
	write(t, file, fmt.Sprintf(`{"global":{"hub":"registry.example.com/%s","tag":"1"}}`, hub))
}

// injectedBy returns an error unless a pod was injected by a revision.
func injectedBy(p *corev1.Pod, revision string) error {
	var status struct{ Revision string }
	if err := json.Unmarshal([]byte(p.Annotations["sidecar.istio.io/status"]), &status); err != nil {
		return fmt.Errorf("the pod has %s and no status", shape(p))
	}
	image := ""
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		if c.Name == "istio-proxy" {
			image = c.Image
		}
	}
	if status.Revision != revision || image != imageOf(revision) {
		return fmt.Errorf("the pod was injected by %q with %q", status.Revision, image)
	}
	return nil
}

// TestRevisions has two injectors side by side, each with its revision: the
// label of the namespace chooses, or of the pod where the namespace has none.
// Another label and a restart move the workload from one to the other.
func TestRevisions(t *testing.T) {
	for _, r := range []string{"blue", "green"} {
		file := t.TempDir() + "/values.json"
		valuesOf(t, file, r)
		injectWith(t, r, nil, "--revision", r, "--injectConfigFile", testdata(t, "inject.yaml"), "--valuesFile", file)
	}
	shop := namespace(t, "shop", map[string]string{"istio.io/rev": "blue"})
	open := namespace(t, "open", nil)
	both := namespace(t, "both", map[string]string{"istio.io/rev": "blue", "istio-injection": "enabled"})
	awaitInjection(t, shop, true)

	kubectlReading(t, deployment, "-n", shop, "apply", "-f", "-")
	for name, p := range awaitPods(t, shop, "app=web", 3) {
		if err := injectedBy(p, "blue"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	kubectl(t, "label", "--overwrite", "namespace", shop, "istio.io/rev=green")
	eventually(t, "waiting for the other revision", func(ctx context.Context) error {
		p, err := dryRun(ctx, shop, pod("probe"))
		if err != nil {
			return err
		}
		return injectedBy(p, "green")
	})
	kubectl(t, "-n", shop, "rollout", "restart", "deployment/web")
	kubectl(t, "-n", shop, "rollout", "status", "deployment/web", "--timeout=60s")
	for name, p := range awaitPods(t, shop, "app=web", 3) {
		if err := injectedBy(p, "green"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	for _, r := range []string{"blue", "green"} {
		p := pod("web")
		p.Labels["istio.io/rev"] = r
		p, err := dryRun(t.Context(), open, p)
		if err == nil {
			err = injectedBy(p, r)
		}
		if err != nil {
			t.Errorf("a pod with the label of %s: %v", r, err)
		}
		p = pod("web")
		p.Labels["istio.io/rev"], p.Labels["sidecar.istio.io/inject"] = r, "false"
		if p, err = dryRun(t.Context(), open, p); err != nil || injected(p) {
			t.Errorf("a pod with the label of %s that wants none: error %v, %s", r, err, shape(p))
		}
	}
	// istio-injection takes the namespace to the default revision, of which
	// there is none here.
	p, err := dryRun(t.Context(), both, pod("web"))
	if err != nil || injected(p) {
		t.Errorf("a pod where both labels are: error %v, %s", err, shape(p))
	}
	p, err = dryRun(t.Context(), open, pod("web"))
	if err != nil || injected(p) {
		t.Errorf("a pod without labels: error %v, %s", err, shape(p))
	}
}
