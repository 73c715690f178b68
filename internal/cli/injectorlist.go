package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/ingraft/ingraft/internal/admit"
	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/cluster"
	"github.com/ingraft/ingraft/internal/source"
)

// injectorList is one run of the command injector list.
type injectorList struct {
	*app
	output string

	client *cluster.Client
	hooks  []admit.Hook
	// revisions holds what is known of each revision of injected pods: one of them.
	revisions map[string]*source.Node
}

func (a *app) injectorListCommand(parent string) *cobra.Command {
	l := &injectorList{app: a}
	c := &cobra.Command{
		Use:   "list",
		Short: "List injectors, their revisions, and the namespaces and pods that they inject into",
		Long: `list prints two tables, as istioctl does: the namespaces with the revision that new
pods get, and what their pods have, which may need a restart; and the webhook
configurations that inject, with their namespaces and the image of the sidecar.

Namespaces of the system, of the injectors, and in ambient mode are left out.`,
		Example: `  # All injectors
  ` + a.name + ` ` + parent + ` list

  # One namespace, for programs
  ` + a.name + ` ` + parent + ` list -n shop -o json`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			switch l.output {
			case "table", "json", "yaml":
			default:
				return usagef("--output %q is not table, json or yaml", l.output)
			}
			return l.run(c.Context())
		},
	}
	c.Flags().StringVarP(&l.output, "output", "o", "table", "table, json or yaml")
	return c
}

// experimentalCommand is where istioctl has injector list.
func (a *app) experimentalCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "experimental",
		Aliases: []string{"x", "exp"},
		Short:   "Commands of istioctl's experimental group",
		Example: `  # All injectors
  ` + a.name + ` experimental injector list`,
		DisableFlagParsing: true, // those of commands that are not here are not known
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
				return c.Help()
			}
			name, _ := unknownCommand(c, append(strings.Fields(strings.TrimPrefix(c.CommandPath(), a.name)), args...))
			return usagef("istioctl's command %q is not in ingraft %s", strings.TrimSpace("experimental "+name), Version).hinted("'%s --help' lists what is.", a.name)
		},
	}
	injector := &cobra.Command{
		Use:   "injector",
		Short: "List sidecar injectors",
		Example: `  # All injectors
  ` + a.name + ` experimental injector list`,
		RunE: needsSubcommand,
	}
	injector.AddCommand(a.injectorListCommand("experimental injector"))
	c.AddCommand(injector)
	return c
}

// listedNamespace is a namespace with what its pods have.
type listedNamespace struct {
	Namespace string `json:"namespace"`
	// Revision is that of new pods; MISSING/ and what is asked for where no webhook
	// has that; "" for none.
	Revision string       `json:"revision"`
	Pods     []listedPods `json:"pods"`
}

// listedPods counts pods of one revision.
type listedPods struct {
	Revision     string `json:"revision"`
	Count        int    `json:"count"`
	Disabled     int    `json:"injectionDisabled"`
	NeedsRestart int    `json:"needsRestart"`
}

// listedInjector is a webhook configuration that injects.
type listedInjector struct {
	Hook       string   `json:"injectorHook"`
	Revision   string   `json:"revision"`
	Image      string   `json:"sidecarImage"`
	Namespaces []string `json:"namespaces"`
}

func (l *injectorList) run(ctx context.Context) error {
	client, err := cluster.Connect(l.clusterConfig())
	if err != nil {
		return tellCluster(err)
	}
	l.client, l.revisions = client, map[string]*source.Node{}
	hooks, _, err := readHooks(ctx, client)
	if err != nil {
		return tellCluster(err)
	}
	l.hooks = slices.DeleteFunc(hooks, func(h admit.Hook) bool { return !isInjection(&h) })
	namespaces, err := l.namespaces(ctx)
	if err != nil {
		return tellCluster(err)
	}
	listed, err := l.count(ctx, namespaces)
	if err != nil {
		return tellCluster(err)
	}
	injectors, err := l.injectors(ctx, namespaces)
	if err != nil {
		return tellCluster(err)
	}
	var b bytes.Buffer
	if l.output == "table" {
		err = printListed(&b, listed, injectors)
	} else {
		err = writeData(&b, map[string]any{"namespaces": listed, "injectors": injectors}, l.output)
	}
	if err != nil {
		return err
	}
	_, err = l.Stdout.Write(b.Bytes())
	return wroteStdout(err)
}

// namespaces returns those that may have sidecars, in order.
func (l *injectorList) namespaces(ctx context.Context) ([]*source.Node, error) {
	left := append([]string{l.globals.istioNamespace, "local-path-storage"}, systemNamespaces[:]...)
	for _, h := range l.hooks {
		if namespace, _, ok := strings.Cut(h.Service, "/"); ok {
			left = append(left, namespace)
		}
	}
	var list []*source.Node
	for n, err := range l.client.List(ctx, namespaceResource, "", cluster.ListOptions{MetadataOnly: true}) {
		if err != nil {
			return nil, err
		}
		name := nameOfObject(n)
		if slices.Contains(left, name) || n.Get("metadata", "labels", annot.DataplaneMode).Scalar() == "ambient" ||
			l.globals.namespace != "" && name != l.globals.namespace {
			continue
		}
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b *source.Node) int { return strings.Compare(nameOfObject(a), nameOfObject(b)) })
	return list, nil
}

// revisionFor is the revision that a new pod gets, "" for none.
func (l *injectorList) revisionFor(pod, namespace *source.Node) string {
	for i := range l.hooks {
		if l.hooks[i].Ask(pod, namespace).Verdict != admit.NotAsked {
			return revisionOf(&l.hooks[i])
		}
	}
	return ""
}

// noRevision stands for pods without a sidecar.
const noRevision = "<non-Istio>"

// count counts the pods of namespaces by revision.
func (l *injectorList) count(ctx context.Context, namespaces []*source.Node) ([]listedNamespace, error) {
	counts := map[string]map[string]*listedPods{}
	byName := map[string]*source.Node{}
	for _, n := range namespaces {
		byName[nameOfObject(n)] = n
		counts[nameOfObject(n)] = map[string]*listedPods{}
	}
	for pod, err := range l.client.List(ctx, podResource, l.globals.namespace, cluster.ListOptions{MetadataOnly: true}) {
		if err != nil {
			return nil, err
		}
		in := pod.Get("metadata", "namespace").Str()
		if byName[in] == nil {
			continue
		}
		has := podRevision(pod)
		if has != "" && l.revisions[has] == nil {
			l.revisions[has] = pod
		}
		name := has
		if name == "" {
			name = noRevision
		}
		c := counts[in][name]
		if c == nil {
			c = &listedPods{Revision: name}
			counts[in][name] = c
		}
		c.Count++
		switch {
		case optsOut(pod):
			c.Disabled++
		case has != l.revisionFor(pod, byName[in]):
			c.NeedsRestart++
		}
	}
	list := []listedNamespace{}
	for _, n := range namespaces {
		entry := listedNamespace{Namespace: nameOfObject(n), Revision: l.revisionFor(source.NewMap(), n), Pods: []listedPods{}}
		if by := asksBy(n); entry.Revision == "" && by != "" {
			entry.Revision = "MISSING/" + strings.TrimPrefix(strings.TrimSuffix(by, "=enabled"), annot.Revision+"=")
		}
		for _, name := range slices.Sorted(maps.Keys(counts[entry.Namespace])) {
			entry.Pods = append(entry.Pods, *counts[entry.Namespace][name])
		}
		if entry.Revision != "" || len(entry.Pods) > 0 {
			list = append(list, entry)
		}
	}
	return list, nil
}

// podRevision is the revision that a pod was injected by, "" for none.
func podRevision(pod *source.Node) string {
	annotations := pod.Get("metadata", "annotations")
	status := annotations.Get(annot.SidecarStatus)
	if revision := annotations.Get(annot.Revision).Scalar(); revision != "" {
		return revision
	}
	if status.IsNull() {
		return ""
	}
	doc, err := source.Parse(source.NewText(annot.SidecarStatus, []byte(status.Scalar())))
	if err != nil || doc.Root.Get("revision").Str() == "" {
		return "default" // of a release without revisions
	}
	return doc.Root.Get("revision").Str()
}

// optsOut tells a pod that says itself that it wants no sidecar.
func optsOut(pod *source.Node) bool {
	value := pod.Get("metadata", "annotations", annot.SidecarInject).Scalar()
	if label := pod.Get("metadata", "labels", annot.SidecarInject); !label.IsNull() {
		value = label.Scalar()
	}
	return strings.EqualFold(value, "false")
}

// injectors lists the webhook configurations.
func (l *injectorList) injectors(ctx context.Context, namespaces []*source.Node) ([]listedInjector, error) {
	images, err := l.images(ctx)
	if err != nil {
		return nil, err
	}
	list := []listedInjector{}
	for _, name := range configurations(l.hooks) {
		entry := listedInjector{Hook: name, Namespaces: []string{}}
		for _, n := range namespaces {
			if slices.ContainsFunc(l.hooks, func(h admit.Hook) bool {
				return h.Configuration == name && h.Ask(source.NewMap(), n).Verdict != admit.NotAsked
			}) {
				entry.Namespaces = append(entry.Namespaces, nameOfObject(n))
			}
		}
		at := slices.IndexFunc(l.hooks, func(h admit.Hook) bool { return h.Configuration == name })
		entry.Revision = revisionOf(&l.hooks[at])
		if entry.Image = images[entry.Revision]; entry.Image == "" {
			if entry.Image, err = l.imageOfPod(ctx, entry.Revision); err != nil {
				return nil, err
			}
		}
		list = append(list, entry)
	}
	return list, nil
}

// images returns the image of the sidecar by revision, as the values of the control
// planes have it.
func (l *injectorList) images(ctx context.Context) (map[string]string, error) {
	images := map[string]string{}
	for m, err := range l.client.List(ctx, configMapResource, "", cluster.ListOptions{LabelSelector: annot.Revision}) {
		if cluster.IsKind(err, cluster.Forbidden) {
			return images, nil // pods tell
		}
		if err != nil {
			return nil, err
		}
		values := m.Get("data", "values")
		if values.IsNull() {
			continue
		}
		doc, err := source.Parse(source.NewText("values", []byte(values.Str())))
		if err != nil {
			continue
		}
		if image := proxyImage(doc.Root.Get("global")); image != "" {
			images[m.Get("metadata", "labels", annot.Revision).Scalar()] = image
		}
	}
	return images, nil
}

func proxyImage(global *source.Node) string {
	image := global.Get("proxy", "image").Scalar()
	if image == "" || strings.Contains(image, "/") {
		return image
	}
	return global.Get("hub").Scalar() + "/" + image + ":" + global.Get("tag").Scalar()
}

// imageOfPod returns the image of the sidecar of a pod of a revision.
func (l *injectorList) imageOfPod(ctx context.Context, revision string) (string, error) {
	found := l.revisions[revision]
	if found == nil {
		return "", nil
	}
	pod, err := l.client.Get(ctx, podResource, found.Get("metadata", "namespace").Str(), nameOfObject(found))
	if cluster.IsKind(err, cluster.NotFound) || cluster.IsKind(err, cluster.Forbidden) {
		return "", nil
	}
	for _, list := range [...]string{"containers", "initContainers"} {
		for _, c := range pod.Get("spec", list).Items() {
			if c.Get("name").Str() == "istio-proxy" {
				return c.Get("image").Str(), nil
			}
		}
	}
	return "", err
}

// printListed prints the tables, in the words of istioctl.
func printListed(out io.Writer, namespaces []listedNamespace, injectors []listedInjector) error {
	w := tabwriter.NewWriter(out, 0, 8, 1, ' ', 0)
	if len(namespaces) == 0 {
		fmt.Fprintln(w, "No Istio injected namespaces present.")
	} else {
		fmt.Fprintln(w, "NAMESPACE\tISTIO-REVISION\tPOD-REVISIONS")
	}
	for _, n := range namespaces {
		if len(n.Pods) == 0 {
			fmt.Fprintf(w, "%s\t%s\t<no pods>\n", n.Namespace, n.Revision)
		}
		for _, p := range n.Pods {
			fmt.Fprintf(w, "%s\t%s\t%s\n", n.Namespace, n.Revision, p)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if len(injectors) == 0 {
		fmt.Fprintln(w, "No Istio injection hooks present.")
	} else {
		fmt.Fprintln(w, "NAMESPACES\tINJECTOR-HOOK\tISTIO-REVISION\tSIDECAR-IMAGE")
	}
	for _, i := range injectors {
		if len(i.Namespaces) == 0 {
			fmt.Fprintf(w, "DOES NOT AUTOINJECT\t%s\t%s\t%s\n", i.Hook, i.Revision, i.Image)
		}
		for _, n := range i.Namespaces {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", n, i.Hook, i.Revision, i.Image)
		}
	}
	return w.Flush()
}

// String says how many there are: `default: 3 NEEDS RESTART: 1`.
func (p listedPods) String() string {
	s := fmt.Sprintf("%s: %d", p.Revision, p.Count)
	if p.Disabled > 0 {
		s += fmt.Sprintf(" (injection disabled: %d)", p.Disabled)
	}
	if p.NeedsRestart > 0 {
		s += fmt.Sprintf(" NEEDS RESTART: %d", p.NeedsRestart)
	}
	return s
}
