package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ingraft/ingraft/test/e2e/controlplane"
)

// TestManifest is the injector as the manifest has it: applied as a whole, and
// run with the flags of its Deployment and the rights of its service account.
// Its configuration is in ConfigMaps, its certificate in a Secret, and it keeps
// the caBundle of its webhook configuration right, also after somebody applied
// that again; the configuration changes while pods are made.
func TestManifest(t *testing.T) {
	t.Parallel() // it waits most of the time; no other walk at that time has its revision
	const system, name = "ingraft-green", "ingraft-injector-green"
	awaitGone(t, system)
	mesh := namespace(t, "mesh", nil)
	meshIn(t, mesh, "green")
	text, _ := ingraft(t, "", "injector", "manifest", "--revision", "green", "-n", system, "-i", mesh)
	kubectlReading(t, text, "apply", "--validate=strict", "-f", "-")
	t.Cleanup(func() {
		if _, _, err := plane.Kubectl(context.Background(), plane.Kubeconfig, text, "delete", "--wait=false", "-f", "-"); err != nil {
			t.Error(err)
		}
	})
	// Its own pods can start though nobody answers yet.
	replicas := awaitPods(t, system, "app.kubernetes.io/instance="+name, 2)
	wantShape(t, replicas, "| injector")

	account, err := plane.ServiceAccount(t.Context(), system, name)
	if err != nil {
		t.Fatal(err)
	}
	start := func() *controlplane.Injector {
		t.Helper()
		for _, p := range replicas {
			return startInjector(t, controlplane.InjectorOptions{Kubeconfig: account, Args: p.Spec.Containers[0].Args[2:]})
		}
		return nil
	}
	first := start()
	pointTo := func(i *controlplane.Injector) {
		t.Helper()
		reconfigure(t, name, func(w *admissionv1.MutatingWebhook) {
			w.ClientConfig = admissionv1.WebhookClientConfig{URL: &i.URL}
		})
	}
	pointTo(first)
	ns := namespace(t, "shop", map[string]string{"istio.io/rev": "green"})

	secret, err := plane.Client.CoreV1().Secrets(system).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bundle := secret.Data["ca.crt"]
	repaired := func() {
		t.Helper()
		eventually(t, "waiting for the caBundle", func(ctx context.Context) error {
			w, err := plane.Client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			for i := range w.Webhooks {
				if h := &w.Webhooks[i]; !bytes.Equal(bytes.TrimSpace(h.ClientConfig.CABundle), bytes.TrimSpace(bundle)) {
					return fmt.Errorf("that of %s is not what the Secret has", h.Name)
				}
			}
			return nil
		})
		awaitInjection(t, ns, true)
	}
	repaired()
	pointTo(first) // the caBundle is gone again
	repaired()

	l := startLoad(t, ns, func(p *corev1.Pod) error {
		if !injected(p) {
			return errors.New("a pod without sidecar")
		}
		return nil
	})
	l.more(t, 20)
	patch := func(name, data string) {
		t.Helper()
		if _, err := plane.Client.CoreV1().ConfigMaps(mesh).Patch(t.Context(), name, types.MergePatchType, []byte(data), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	patch("istio-green", `{"data":{"mesh":"trustDomain: ["}}`) // refused

	l.more(t, 20)
	patch("istio-green", `{"data":{"mesh":"trustDomain: new.example.com"}}`)
	patch("istio-sidecar-injector-green", `{"data":{"values":"{\"global\":{\"hub\":\"registry.example.com/new\",\"tag\":\"1\"}}"}}`)
	eventually(t, "waiting for the new configuration", func(ctx context.Context) error {
		p, err := dryRun(ctx, ns, pod("probe"))
		if err != nil {
			return err
		}
		if c := container(t, p, "istio-proxy"); c.Image != imageOf("new") || c.Env[0].Value != "new.example.com" {
			return fmt.Errorf("the proxy has %s and %v", c.Image, c.Env)
		}
		return nil
	})
	l.more(t, 20)
	l.end()
	for _, text := range l.errors() {
		t.Error(text)
	}

	// Another replica serves with the same certificate, and takes the upkeep
	// over from one that is lost.
	second := start()
	first.Kill()
	pointTo(second)
	repaired()
	if log := string(second.Log()); strings.Contains(log, "panic") {
		t.Error("the injector panicked")
	}
}
