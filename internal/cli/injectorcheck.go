package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ingraft/ingraft/internal/admit"
	"github.com/ingraft/ingraft/internal/cluster"
	"github.com/ingraft/ingraft/internal/source"
)

// exitRights is the exit code where something could not be looked at for lack of
// rights, and nothing else is wrong; as of istioctl analyze.
const exitRights = 77

// injectorCheck is one run of the command injector check.
type injectorCheck struct {
	*app
	names   []string
	output  string
	timeout time.Duration

	client   *cluster.Client
	findings []checked

	// all are the webhooks of the cluster that inject, and hooks those of them
	// that are checked.
	all, hooks []admit.Hook
	// namespaces are those of the cluster, nil where they may not be read.
	namespaces []*source.Node
}

// checked is what came of one check: one line.
type checked struct {
	// Status is ok, warning, error, or unknown for what could not be looked at.
	Status string `json:"status"`
	Check  string `json:"check"`
	// Object is what was looked at.
	Object  string `json:"object"`
	Message string `json:"message"`
	// Fix says what to do about it; "" where it is ok.
	Fix string `json:"fix,omitempty"`
}

func (a *app) injectorCheckCommand() *cobra.Command {
	k := &injectorCheck{app: a}
	c := &cobra.Command{
		Use:   "check",
		Short: "Find out whether the injectors of a cluster work, and what keeps them from it",
		Long: `check looks at all that has to be right for pods to get their sidecar, the mesh's or
ingraft's, and says for each thing whether it is: the webhook configurations, their
caBundle, Service and endpoints, the certificates that the injector serves with, its
configuration and rights, the labels of namespaces and pods, and whether one pod is
sent to two webhooks. At last it sends a pod through the API server, for a dry run.

Each check is a line: ok, warning, error with the usual cause and the mend, or
unknown for what could not be looked at. It exits 1 where there is an error, 77
where there is none but rights were missing to look at everything, else 0.`,
		Example: `  # Check all injectors
  ` + a.name + ` injector check

  # One of them, with a pod in a namespace of your choice
  ` + a.name + ` injector check --webhook-config istio-sidecar-injector -n shop`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if k.output != "text" && k.output != "json" {
				return usagef("--output %q is not text or json", k.output)
			}
			if k.timeout <= 0 {
				return usagef("--timeout %s is not above zero", k.timeout).hinted("Write for example 1m.")
			}
			return k.run(c.Context())
		},
	}
	f := c.Flags()
	f.StringSliceVar(&k.names, "webhook-config", nil, "MutatingWebhookConfiguration to check (repeatable); empty for all that inject")
	f.StringVarP(&k.output, "output", "o", "text", "text or json")
	f.DurationVar(&k.timeout, "timeout", time.Minute, "how long all checks may take")
	return c
}

func (k *injectorCheck) run(ctx context.Context) error {
	client, err := cluster.Connect(k.clusterConfig())
	if err != nil {
		return tellCluster(err)
	}
	k.client = client
	bounded, cancel := context.WithTimeout(ctx, k.timeout)
	defer cancel()
	if k.reachable(bounded) && k.configurations(bounded) {
		k.readNamespaces(bounded)
		for _, name := range configurations(k.hooks) {
			k.configuration(bounded, name)
		}
		k.labels(bounded)
		k.overlaps()
		for _, name := range configurations(k.hooks) {
			k.try(bounded, name)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return k.print()
}

func (k *injectorCheck) say(status, check, object, message, fix string) {
	k.findings = append(k.findings, checked{status, check, object, oneText(message), fix})
}

// oneText puts a text on one line.
func oneText(s string) string { return strings.Join(strings.Fields(s), " ") }

// failed says that something could not be looked at, and why. Where it does not
// exist, the caller knows better what that means.
func (k *injectorCheck) failed(ctx context.Context, check, object string, err error) {
	switch {
	case ctx.Err() != nil:
		k.say("unknown", check, object, fmt.Sprintf("not looked at: the %s of --timeout are over", k.timeout), "Give it more time, or see which of the checks above takes so long.")
	case cluster.IsKind(err, cluster.Forbidden):
		k.say("unknown", check, object, "not looked at: "+err.Error(), "Ask for the right, or let somebody check who has it.")
	default:
		k.say("error", check, object, err.Error(), fixOf(err))
	}
}

// fixOf returns what to do about an error of the cluster; what it says about
// doing without one does not help here.
func fixOf(err error) string {
	switch {
	case cluster.IsKind(err, cluster.Unreachable):
		return "See that the API server can be reached from here; wait longer with --kubeclient-timeout."
	case cluster.IsKind(err, cluster.Unauthorized):
		return "Log in again."
	}
	return ""
}

func (k *injectorCheck) reachable(ctx context.Context) bool {
	version, err := k.client.ServerVersion(ctx)
	if err != nil {
		k.failed(ctx, "API server", k.client.String(), err)
		return cluster.IsKind(err, cluster.Forbidden)
	}
	k.say("ok", "API server", k.client.String(), "it answers, version "+version.GitVersion, "")
	return true
}

// configurations reads the webhook configurations; false where there is nothing
// to check.
func (k *injectorCheck) configurations(ctx context.Context) bool {
	const check = "webhooks"
	hooks, bad, err := readHooks(ctx, k.client)
	if err != nil {
		k.failed(ctx, check, "mutatingwebhookconfigurations", err)
		return false
	}
	for _, d := range bad {
		k.say("warning", check, d.Object, "left out: "+d.Message, "Mend it: "+d.Fix+".")
	}
	for _, h := range hooks {
		if isInjection(&h) || slices.Contains(k.names, h.Configuration) {
			k.all = append(k.all, h)
		}
	}
	if k.hooks = k.all; len(k.names) > 0 {
		k.hooks = slices.DeleteFunc(slices.Clone(k.all), func(h admit.Hook) bool { return !slices.Contains(k.names, h.Configuration) })
	}
	found := configurations(k.hooks)
	for _, name := range k.names {
		if !slices.Contains(found, name) {
			k.say("error", check, name, "there is no such webhook configuration, or it has no webhooks; "+configurationsOf(hooks), "Apply the manifest of the injector, or name another one with --webhook-config.")
		}
	}
	if len(found) == 0 && len(k.names) == 0 {
		k.say("error", check, "mutatingwebhookconfigurations", fmt.Sprintf("none of the %s of the cluster injects, so that no pod gets a sidecar", plural(len(hooks), "webhook")),
			"Install an injector: 'ingraft injector manifest' prints one.")
	}
	return len(found) > 0
}

func (k *injectorCheck) readNamespaces(ctx context.Context) {
	var all []*source.Node
	for n, err := range k.client.List(ctx, namespaceResource, "", cluster.ListOptions{MetadataOnly: true}) {
		if err != nil {
			k.failed(ctx, "labels", "namespaces", err)
			return
		}
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b *source.Node) int { return strings.Compare(nameOfObject(a), nameOfObject(b)) })
	k.namespaces = all
}

func nameOfObject(n *source.Node) string { return n.Get("metadata", "name").Str() }

// print writes what was found, and returns what the exit code is to say.
func (k *injectorCheck) print() error {
	count := map[string]int{}
	for _, f := range k.findings {
		count[f.Status]++
	}
	var b bytes.Buffer
	if k.output == "json" {
		enc := json.NewEncoder(&b)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		if err := enc.Encode(map[string]any{
			"checks": k.findings, "errors": count["error"], "warnings": count["warning"], "unknown": count["unknown"],
		}); err != nil {
			return err
		}
	} else {
		w := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
		fmt.Fprintln(w, "STATUS\tCHECK\tOBJECT\tMESSAGE")
		for _, f := range k.findings {
			text := f.Message
			if f.Fix != "" {
				text = strings.TrimSuffix(text, ".") + ". " + f.Fix
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", f.Status, f.Check, f.Object, text)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if _, err := k.Stdout.Write(b.Bytes()); err != nil {
		return wroteStdout(err)
	}
	said := fmt.Sprintf("%s, %s", plural(count["error"], "error"), plural(count["warning"], "warning"))
	if n := count["unknown"]; n > 0 {
		said += fmt.Sprintf(", %s not possible", plural(n, "check"))
	}
	switch {
	case count["error"] > 0:
		return errors.New(said)
	case count["unknown"] > 0:
		return &exitError{errors.New(said), exitRights}
	}
	fmt.Fprintln(k.Stderr, said)
	return nil
}
