package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ingraft/ingraft/test/e2e/controlplane"
)

// patience is how long a step may take, on a machine that has other things to
// do.
const patience = 60 * time.Second

// kubectl runs kubectl as the administrator, which must work, and returns what
// it wrote to standard output.
func kubectl(t testing.TB, args ...string) string {
	t.Helper()
	return kubectlReading(t, "", args...)
}

// kubectlReading is kubectl with a standard input.
func kubectlReading(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	out, _, err := plane.Kubectl(t.Context(), plane.Kubeconfig, stdin, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// refusedKubectl runs kubectl, which must not work, and returns what it wrote
// to standard error.
func refusedKubectl(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	out, talk, err := plane.Kubectl(t.Context(), plane.Kubeconfig, stdin, args...)
	if err == nil {
		t.Fatalf("kubectl %s: want a refusal, got %s%s", strings.Join(args, " "), out, talk)
	}
	return talk
}

// eventually polls until there is no error, and fails the test if that takes
// longer than patience.
func eventually(t testing.TB, what string, ask func(context.Context) error) {
	t.Helper()
	if err := controlplane.Poll(t.Context(), patience, ask); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// namespace makes a namespace whose name begins with that of the test, and
// waits until pods can be made in it.
func namespace(t testing.TB, name string, labels map[string]string) string {
	t.Helper()
	name = strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(strings.TrimPrefix(t.Name(), "Test"))) + "-" + name
	if err := makeNamespace(t.Context(), name, labels); err != nil {
		t.Fatal(err)
	}
	removeNamespace(t, name)
	return name
}

// removeNamespace removes a namespace at the end of a test. When it goes is the
// namespace controller's business.
func removeNamespace(t testing.TB, name string) {
	t.Cleanup(func() {
		if err := plane.Client.CoreV1().Namespaces().Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// awaitGone waits until namespaces are gone that an earlier run of a test removed.
func awaitGone(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		eventually(t, "waiting until namespace "+name+" is gone", func(ctx context.Context) error {
			_, err := plane.Client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
			switch {
			case err == nil:
				return errors.New("it is there")
			case apierrors.IsNotFound(err):
				return nil
			}
			return err
		})
	}
}

func makeNamespace(ctx context.Context, name string, labels map[string]string) error {
	_, err := plane.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("making namespace %s: %w", name, err)
	}
	return controlplane.Poll(ctx, patience, func(ctx context.Context) error {
		_, err := plane.Client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// revisions are those that walks have injectors for. For each there is a
// namespace with its label, in which injectWith sees when the API server has
// taken notice of a webhook configuration.
var revisions = []string{"default", "blue", "green"}

func probeNamespaces(ctx context.Context) error {
	for _, r := range revisions {
		labels := map[string]string{"istio.io/rev": r}
		if r == "default" {
			labels = map[string]string{"istio-injection": "enabled"}
		}
		if err := makeNamespace(ctx, "probe-"+r, labels); err != nil {
			return err
		}
	}
	return nil
}

// pod is a pod with one container, as a user writes it.
func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "registry.example.com/web:1"}}},
	}
}

// dryRun returns what becomes of a pod that is made in a namespace, without
// making it.
func dryRun(ctx context.Context, namespace string, p *corev1.Pod) (*corev1.Pod, error) {
	return plane.Client.CoreV1().Pods(namespace).Create(ctx, p, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
}

// awaitInjection waits until new pods of a namespace get a sidecar, or none:
// the API server learns of labels and webhook configurations by and by.
func awaitInjection(t testing.TB, namespace string, want bool) {
	t.Helper()
	eventually(t, "waiting for injection in "+namespace, func(ctx context.Context) error {
		return injects(ctx, namespace, want)
	})
}

func injects(ctx context.Context, namespace string, want bool) error {
	p, err := dryRun(ctx, namespace, pod("probe"))
	if err != nil {
		return err
	}
	if injected(p) != want {
		return fmt.Errorf("a new pod has %s", shape(p))
	}
	return nil
}

// injected reports whether a pod has a sidecar.
func injected(p *corev1.Pod) bool { return strings.Contains(shape(p), "istio-proxy") }

// shape names the containers of a pod, those of init before a bar, native
// sidecars with a star: `istio-init istio-proxy* | web`.
func shape(p *corev1.Pod) string {
	var b strings.Builder
	for _, c := range p.Spec.InitContainers {
		b.WriteString(c.Name)
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			b.WriteByte('*')
		}
		b.WriteByte(' ')
	}
	b.WriteByte('|')
	for _, c := range p.Spec.Containers {
		b.WriteString(" " + c.Name)
	}
	return b.String()
}

const (
	plain   = "| web"
	classic = "istio-init | web istio-proxy"
	native  = "istio-init istio-proxy* | web"
)

// container returns a container of a pod, of either kind.
func container(t testing.TB, p *corev1.Pod, name string) *corev1.Container {
	t.Helper()
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		if c.Name == name {
			return &c
		}
	}
	t.Fatalf("pod %s has %s, want a container %s", p.Name, shape(p), name)
	return nil
}

// injectWith starts an injector and applies its manifest, for a revision and
// with further flags of `injector manifest`; args are those of `injector serve`.
func injectWith(t testing.TB, revision string, flags []string, args ...string) *controlplane.Injector {
	t.Helper()
	i := injector(t, args...)
	askFor(t, i, revision, flags...)
	awaitInjection(t, "probe-"+revision, true)
	return i
}

// askFor applies the manifest of an injector, for the time of the test.
func askFor(t testing.TB, i *controlplane.Injector, revision string, flags ...string) {
	t.Helper()
	args := []string{"injector", "manifest", "--url", i.URL}
	if i.CAFile != "" {
		args = append(args, "--ca-file", i.CAFile)
	}
	if revision != "default" {
		args = append(args, "--revision", revision)
	}
	text, _ := ingraft(t, "", append(args, flags...)...)
	kubectlReading(t, text, "apply", "--validate=strict", "-f", "-")
	t.Cleanup(func() {
		unconfigure(t, webhookOf(revision))
		// The next walk begins without any.
		if err := controlplane.Poll(context.Background(), patience, func(ctx context.Context) error {
			return injects(ctx, "probe-"+revision, false)
		}); err != nil {
			t.Error(err)
		}
	})
}

// webhookOf is the name of the webhook configuration in the manifest.
func webhookOf(revision string) string {
	if revision == "default" {
		return "ingraft-injector"
	}
	return "ingraft-injector-" + revision
}

// configure makes a webhook configuration.
func configure(t testing.TB, w *admissionv1.MutatingWebhookConfiguration) {
	t.Helper()
	if _, err := plane.Client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(t.Context(), w, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// reconfigure changes all webhooks of a configuration.
func reconfigure(t testing.TB, name string, change func(*admissionv1.MutatingWebhook)) {
	t.Helper()
	client := plane.Client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	eventually(t, "changing the webhook configuration "+name, func(ctx context.Context) error { // again after a conflict
		w, err := client.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for i := range w.Webhooks {
			change(&w.Webhooks[i])
		}
		_, err = client.Update(ctx, w, metav1.UpdateOptions{})
		return err
	})
}

func unconfigure(t testing.TB, name string) {
	err := plane.Client.AdmissionregistrationV1().MutatingWebhookConfigurations().Delete(context.Background(), name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}

// injector starts an injector, which ends with the test.
func injector(t testing.TB, args ...string) *controlplane.Injector {
	t.Helper()
	return startInjector(t, controlplane.InjectorOptions{Args: args})
}

func startInjector(t testing.TB, o controlplane.InjectorOptions) *controlplane.Injector {
	t.Helper()
	o.Dir = t.TempDir()
	i, err := controlplane.StartInjector(t.Context(), program, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(i.Tail(30))
		}
	})
	return i
}

// pods returns the pods of a namespace that match a selector, by name.
func pods(t testing.TB, namespace, selector string) map[string]*corev1.Pod {
	t.Helper()
	list, err := plane.Client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]*corev1.Pod{}
	for i := range list.Items {
		m[list.Items[i].Name] = &list.Items[i]
	}
	return m
}

// awaitPods waits until there are so many pods that run, and returns them.
func awaitPods(t testing.TB, namespace, selector string, n int) map[string]*corev1.Pod {
	t.Helper()
	var m map[string]*corev1.Pod
	eventually(t, fmt.Sprintf("waiting for %d pods of %s in %s", n, selector, namespace), func(context.Context) error {
		m = pods(t, namespace, selector)
		running := 0
		for _, p := range m {
			if p.Status.Phase == corev1.PodRunning {
				running++
			}
		}
		if running != n || len(m) != n {
			return fmt.Errorf("there are %d, of which %d run", len(m), running)
		}
		return nil
	})
	return m
}

// wantShape checks the containers of all pods.
func wantShape(t testing.TB, m map[string]*corev1.Pod, want string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if got := shape(m[name]); got != want {
			t.Errorf("pod %s/%s has %s, want %s", m[name].Namespace, name, got, want)
		}
	}
}
