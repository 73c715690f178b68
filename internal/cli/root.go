package cli

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// globals are the flags that every command takes.
type globals struct {
	kubeconfig, context string
	as, asUID           string
	asGroups            []string
	namespace           string
	istioNamespace      string
	timeout             string
	logging             logging

	// clientTimeout is timeout, parsed.
	clientTimeout time.Duration
}

func (g *globals) register(f *pflag.FlagSet) {
	f.StringVarP(&g.kubeconfig, "kubeconfig", "c", "", "Kubernetes configuration file")
	f.StringVar(&g.context, "context", "", "context of the Kubernetes configuration to use")
	f.StringVar(&g.as, "as", "", "user to impersonate; may be a service account")
	f.StringVar(&g.asUID, "as-uid", "", "UID to impersonate")
	f.StringArrayVar(&g.asGroups, "as-group", nil, "group to impersonate (repeatable)")
	f.StringVarP(&g.namespace, "namespace", "n", "", "namespace of objects that do not state one")
	f.StringVarP(&g.istioNamespace, "istioNamespace", "i", defaultIstioNamespace, "namespace of the control plane")
	f.StringVar(&g.timeout, "kubeclient-timeout", "5s", "how long to wait for the cluster, as a duration (5s, 1m)")
	g.logging.register(f)
}

const defaultIstioNamespace = "istio-system"

// run parses the arguments and runs the command that they name.
func (a *app) run(ctx context.Context) error {
	root := a.root()
	root.SetArgs(a.Args)
	if found, _, err := root.Find(a.Args); err != nil && !isCompletion(a.Args) {
		if name, sub := unknownCommand(found, a.Args); name != "" {
			return a.noSuchCommand(found, name, sub)
		}
	}
	return root.ExecuteContext(ctx)
}

// isCompletion tells the calls that completion scripts make; cobra adds the
// command for them only when it runs.
func isCompletion(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   a.name,
		Short: "Grafts a service-mesh sidecar onto Kubernetes workloads, and shows what it did",
		Long: `ingraft grafts a service-mesh sidecar onto Kubernetes workloads, and shows what
it did. Commands and flags are those of istioctl; no cluster is needed.`,
		Example: `  # Inject the sidecar into a manifest and apply it
  ` + a.name + ` kube-inject -f deployment.yaml | kubectl apply -f -`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: a.prepare,
		Run:               func(c *cobra.Command, _ []string) { _ = c.Help() },
	}
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		var invalid *pflag.InvalidValueError
		if errors.As(err, &invalid) {
			return noValue("--"+invalid.GetFlag().Name, invalid.GetValue(), invalid.GetFlag())
		}
		return usagef("%v", err).hinted("Run '%s --help' for the flags it takes.", c.CommandPath())
	})
	a.globals.register(root.PersistentFlags())
	root.AddCommand(a.kubeInjectCommand(), a.uninjectCommand(), a.injectorCommand(), a.manifestCommand(), a.experimentalCommand(), a.versionCommand(), a.optionsCommand())
	root.SetHelpCommand(a.helpCommand())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(a.Args...)
	addCompletionExamples(root)
	return root
}

// noValue is the error where what gives a flag its value, the flag itself or a
// variable, has one that the flag does not take.
func noValue(giver, value string, f *pflag.Flag) error {
	form, hint := "a value of --"+f.Name, "Write a "+f.Value.Type()+"."
	switch f.Value.Type() {
	case "bool":
		form, hint = "true or false", "Write true or false."
	case "int", "int32", "int64", "uint16", "uint32":
		form, hint = "a whole number", "Write for example "+f.DefValue+"."
		if _, tooLarge := new(big.Int).SetString(value, 0); tooLarge {
			form = "a number that fits"
		}
	case "duration":
		form, hint = "a duration", "Write a number with its unit, for example 30s or 1m."
	}
	return usagef("%s %q is not %s", giver, value, form).hinted("%s", hint)
}

// prepare completes and checks the global flags before a command runs.
func (a *app) prepare(c *cobra.Command, _ []string) error {
	if err := a.applyDefaults(c.Flags()); err != nil {
		return err
	}
	g := &a.globals
	d, err := time.ParseDuration(g.timeout)
	if err != nil || d <= 0 {
		return usagef("--kubeclient-timeout %q is not a duration above zero", g.timeout).hinted("Write for example 5s or 1m.")
	}
	g.clientTimeout = d
	if g.istioNamespace == "" {
		g.istioNamespace = defaultIstioNamespace
	}
	for _, n := range [...]struct{ flag, value string }{{"namespace", g.namespace}, {"istioNamespace", g.istioNamespace}} {
		if n.value != "" && !isLabel(n.value) {
			return notAName(n.flag, n.value)
		}
	}
	return g.logging.check()
}

// notAName is the error where a flag gives what no namespace or revision can be
// called.
func notAName(flag, value string) error {
	return usagef("--%s %q is no name: lower case letters, digits and dashes", flag, value)
}

// unknownCommand returns the first argument that is no flag of the deepest
// command that was found, and the one after it.
func unknownCommand(found *cobra.Command, args []string) (name, sub string) {
	var words []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			i = len(args)
		case strings.HasPrefix(arg, "-") && arg != "-":
			if takesNext(found.Flags(), arg) || takesNext(found.PersistentFlags(), arg) {
				i++
			}
		default:
			words = append(words, arg)
		}
	}
	// The words that led to the command are not what is unknown.
	for c := found; c.HasParent() && len(words) > 0; c = c.Parent() {
		words = words[1:]
	}
	words = append(words, "", "")
	return words[0], words[1]
}

func takesNext(flags *pflag.FlagSet, arg string) bool {
	if strings.Contains(arg, "=") {
		return false
	}
	if name, ok := strings.CutPrefix(arg, "--"); ok {
		f := flags.Lookup(name)
		return f != nil && f.NoOptDefVal == ""
	}
	if len(arg) != 2 { // -xvalue holds its value; of -xyz nobody can know
		return false
	}
	f := flags.ShorthandLookup(arg[1:])
	return f != nil && f.NoOptDefVal == ""
}

// noSuchCommand says that a command does not exist, and whether istioctl has
// it.
func (a *app) noSuchCommand(found *cobra.Command, name, sub string) error {
	var here []string
	for _, c := range found.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			here = append(here, c.Name())
		}
	}
	hint := fmt.Sprintf("ingraft has: %s.", strings.Join(here, ", "))
	if full, ok := istioctlCommand(name, sub); ok && !found.HasParent() {
		return usagef("istioctl's command %q is not in ingraft %s", full, Version).hinted("%s", hint)
	}
	err := usagef("unknown command %q for %q", name, found.CommandPath())
	if near := found.SuggestionsFor(name); len(near) > 0 {
		return err.hinted("Did you mean %s?", strings.Join(near, " or "))
	}
	return err.hinted("%s", hint)
}

// istioctlCommand tells whether istioctl 1.31, or a release before it, has a
// command, and returns its full name.
func istioctlCommand(name, sub string) (full string, ok bool) {
	switch name {
	case "experimental", "x", "exp":
		return strings.TrimSpace("experimental " + sub), true
	case "pc":
		name = "proxy-config"
	case "ps":
		name = "proxy-status"
	case "zc":
		name = "ztunnel-config"
	case "v":
		name = "validate"
	case "dash", "d":
		name = "dashboard"
	case "apply":
		name = "install"
	}
	return name, slices.Contains([]string{
		"add-to-mesh", "admin", "analyze", "authn", "authz", "bug-report", "collateral", "convert-ingress",
		"create-remote-secret", "dashboard", "deregister", "install", "manifest", "metrics", "operator",
		"profile", "proxy-config", "proxy-status", "register", "remote-clusters", "remove-from-mesh", "tag",
		"uninstall", "upgrade", "validate", "verify-install", "waypoint", "ztunnel-config",
	}, name)
}

func (a *app) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Show the help of a command",
		Example: `  # Show the flags of kube-inject
  ` + a.name + ` help kube-inject`,
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			target, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				name := strings.Join(append(rest, args...)[:1], "")
				return a.noSuchCommand(c.Root(), name, "")
			}
			target.InitDefaultHelpFlag()
			return target.Help()
		},
	}
}

func (a *app) optionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "options",
		Short: "List the flags that every command takes",
		Example: `  # Show the flags for clusters and for logging
  ` + a.name + ` options`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			all := pflag.NewFlagSet("", pflag.ContinueOnError)
			c.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) {
				if !strings.HasPrefix(f.Name, "log_rotate") {
					shown := *f
					shown.Hidden = false
					all.AddFlag(&shown)
				}
			})
			_, err := fmt.Fprintf(a.Stdout, "The following options can be passed to any command:\n\n%s", all.FlagUsages())
			return err
		},
	}
}

// noArguments is a check for commands that take flags only.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("unexpected argument %q", args[0]).hinted("Run '%s --help' for what it takes.", c.CommandPath())
	}
	return nil
}

// addCompletionExamples gives the commands that cobra makes the examples that
// every other command has.
func addCompletionExamples(root *cobra.Command) {
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.Example = "  # Complete commands and flags in this bash\n  source <(" + root.Name() + " completion bash)"
		for _, shell := range c.Commands() {
			shell.Example = "  # Write the completion script to standard output\n  " + root.Name() + " completion " + shell.Name()
		}
	}
}
