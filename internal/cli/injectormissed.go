package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ingraft/ingraft/internal/admit"
	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/cluster"
	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
)

// missed is one run of the command injector missed.
type missed struct {
	*kubeInject
	all    bool
	output string

	finder
	// engines are those of the revisions met so far.
	engines map[string]*inject.Engine
}

// finder looks for pods without the sidecar that they should have.
type finder struct {
	client *cluster.Client
	hooks  []admit.Hook
	// engine returns the engine of a revision.
	engine func(ctx context.Context, revision string) (*inject.Engine, error)
}

func (a *app) injectorMissedCommand() *cobra.Command {
	m := &missed{kubeInject: &kubeInject{app: a}, engines: map[string]*inject.Engine{}}
	m.engine = m.engineOf
	c := &cobra.Command{
		Use:   "missed",
		Short: "List pods that should have a sidecar and do not",
		Long: `missed lists the pods of the cluster that an injection webhook would give a sidecar
if they were made now, and that have none: they were made before the namespace
was labelled, or while the webhook was down and allowed to fail. Each comes with
the webhook that asks for the sidecar, and what to restart.

Webhooks are those of the mesh and of ingraft; policy and selectors are those of
the injection configuration of the webhook's revision, as far as it can be read.`,
		Example: `  # The pods of one namespace, and those of all
  ` + a.name + ` injector missed -n shop
  ` + a.name + ` injector missed -A`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if m.output != "text" && m.output != "json" {
				return usagef("--output %q is not text or json", m.output)
			}
			return m.run(c.Context())
		},
	}
	c.Flags().BoolVarP(&m.all, "all-namespaces", "A", false, "look at all namespaces")
	c.Flags().StringVarP(&m.output, "output", "o", "text", "text or json")
	return c
}

var podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// missedPod is a pod without the sidecar that it should have.
type missedPod struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Owner     string `json:"owner"`
	Webhook   string `json:"webhook"`
	Revision  string `json:"revision"`
	Reason    string `json:"reason"`
	Restart   string `json:"restart"`
}

func (m *missed) run(ctx context.Context) error {
	client, err := cluster.Connect(m.clusterConfig())
	if err != nil {
		return tellCluster(err)
	}
	m.client = client
	if err := m.readHooks(ctx); err != nil {
		return tellCluster(err)
	}
	found, err := m.find(ctx)
	if err != nil {
		return tellCluster(err)
	}
	if m.output == "json" {
		enc := json.NewEncoder(m.Stdout)
		enc.SetIndent("", "  ")
		return wroteStdout(enc.Encode(found))
	}
	if len(found) == 0 {
		fmt.Fprintf(m.Stderr, "no pod lacks a sidecar that one of %s would give it\n", plural(len(m.hooks), "injection webhook"))
		return nil
	}
	w := tabwriter.NewWriter(m.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "NAMESPACE\tPOD\tWEBHOOK\tRESTART")
	for _, p := range found {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", p.Namespace, p.Pod, p.Webhook, p.Restart)
	}
	return wroteStdout(w.Flush())
}

// readHooks reads the webhooks that inject.
func (m *missed) readHooks(ctx context.Context) error {
	hooks, _, err := readHooks(ctx, m.client)
	if err != nil {
		return err
	}
	for _, h := range hooks {
		if isInjection(&h) {
			m.hooks = append(m.hooks, h)
		}
	}
	if len(m.hooks) == 0 {
		return &hintedError{
			fmt.Errorf("looking for injection webhooks: none of the %d webhooks of the cluster is one", len(hooks)),
			"Install an injector: 'ingraft injector manifest' prints one.",
		}
	}
	return nil
}

// find goes through the pods.
func (m *missed) find(ctx context.Context) ([]missedPod, error) {
	in := m.globals.namespace
	if in == "" {
		in = m.client.DefaultNamespace()
	}
	namespaces := map[string]*source.Node{}
	if m.all {
		in = ""
		for n, err := range m.client.List(ctx, namespaceResource, "", cluster.ListOptions{MetadataOnly: true}) {
			if err != nil {
				return nil, err
			}
			namespaces[n.Get("metadata", "name").Str()] = n
		}
	} else {
		n, err := m.client.Namespace(ctx, in)
		if err != nil {
			return nil, err
		}
		namespaces[in] = n
	}
	found := []missedPod{}
	for pod, err := range m.client.List(ctx, podResource, in, cluster.ListOptions{}) {
		if err != nil {
			return nil, err
		}
		p, err := m.judge(ctx, pod, namespaces[pod.Get("metadata", "namespace").Str()])
		if err != nil {
			return nil, err
		}
		if p != nil {
			found = append(found, *p)
		}
	}
	return found, nil
}

// judge tells a pod that lacks its sidecar; nil for all others.
func (m *finder) judge(ctx context.Context, pod, namespace *source.Node) (*missedPod, error) {
	switch pod.Get("status", "phase").Str() {
	case "Succeeded", "Failed":
		return nil, nil // it is over
	}
	if !pod.Get("metadata", "deletionTimestamp").IsNull() || hasSidecar(pod) {
		return nil, nil
	}
	ref := kube.RefOf(pod)
	for i := range m.hooks {
		h := &m.hooks[i]
		if h.Ask(pod, namespace).Verdict != admit.Asked {
			continue
		}
		engine, err := m.engine(ctx, h.Revision)
		if err != nil {
			return nil, err
		}
		decision := engine.Decide(&inject.Request{Door: inject.Admission, Pod: pod, NamespaceName: ref.Namespace, Namespace: namespace})
		if decision.Verdict != inject.Inject {
			continue
		}
		owner := kube.OwnerOf(pod)
		return &missedPod{
			Namespace: ref.Namespace, Pod: ref.Name, Owner: owner.Kind + "/" + owner.Name,
			Webhook: h.Name, Revision: h.Revision, Reason: decision.Message, Restart: restart(owner, ref),
		}, nil
	}
	return nil, nil
}

// hasSidecar tells a pod that was injected into, with whatever template.
func hasSidecar(pod *source.Node) bool {
	if !pod.Get("metadata", "annotations", annot.SidecarStatus).IsNull() {
		return true
	}
	for _, list := range [...]string{"containers", "initContainers"} {
		for _, c := range pod.Get("spec", list).Items() {
			if c.Get("name").Str() == "istio-proxy" {
				return true
			}
		}
	}
	return false
}

// restart says how to have a pod made again.
func restart(owner, pod kube.Ref) string {
	switch owner.Kind {
	case "Deployment", "StatefulSet", "DaemonSet":
		return fmt.Sprintf("kubectl -n %s rollout restart %s/%s", pod.Namespace, strings.ToLower(owner.Kind), owner.Name)
	case "Pod":
		return "make the pod anew: nothing else does"
	case "Job":
		return "make the Job anew, unless its pod will end by itself"
	case "CronJob":
		return "nothing: the next run has it"
	}
	return fmt.Sprintf("kubectl -n %s delete pod %s", pod.Namespace, pod.Name)
}

// engineOf returns the engine of a revision: with its injection configuration, or
// with the default one where that cannot be used.
func (m *missed) engineOf(ctx context.Context, revision string) (*inject.Engine, error) {
	if e := m.engines[revision]; e != nil {
		return e, nil
	}
	k := &kubeInject{
		app: m.app, revision: revision, revisionGiven: true,
		injectConfigMap: cluster.InjectorConfigMap, meshConfigMap: cluster.MeshConfigMap,
	}
	if revision == "default" {
		k.revision = ""
	}
	p := &pieces{}
	err := k.readConfigMaps(ctx, m.client, p)
	var c *compiled
	if err == nil {
		c, err = compilePieces(p)
	}
	if err != nil {
		fmt.Fprintf(m.Stderr, "warning: policy and selectors of revision %q are not known, and the default ones are taken: %v\n", revision, err)
		p = &pieces{}
		if err := k.fromBuiltin(p); err != nil {
			return nil, err
		}
		if c, err = compilePieces(p); err != nil {
			return nil, err
		}
	}
	m.engines[revision] = c.engine
	return c.engine, nil
}

// compiled is a configuration, and the engine that it makes.
type compiled struct {
	set    *config.Set
	engine *inject.Engine
}

// compilePieces makes an engine of a configuration whose release is to be told.
func compilePieces(p *pieces) (*compiled, error) {
	set, list := config.Load(p.template.text, p.mesh.text, p.values.text, release.Release{})
	if set == nil {
		return nil, mistakes(list)
	}
	e, list := inject.Compile(set.Injection, set.Mesh, set.Values, inject.Options{Release: set.Detected.Release})
	if e == nil {
		return nil, mistakes(list)
	}
	return &compiled{set, e}, nil
}
