package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/ingraft/ingraft/internal/chart/builtin"
	"github.com/ingraft/ingraft/internal/cluster"
	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/tmpl"
)

// setup is what a run of kube-inject works with.
type setup struct {
	// engine is nil where the configuration holds an error.
	engine runner
	// live is the engine where that is a webhook of the cluster.
	live     *liveHook
	native   func(pod *source.Node) bool
	findings diag.List
}

// piece is one part of the configuration, and where it came from.
type piece struct {
	text *source.Text
	// from says it to people: "file mesh.yaml".
	from string
	// kind is where it came from.
	kind pieceKind
}

type pieceKind uint8

const (
	fromFile pieceKind = iota
	fromCluster
	fromBuiltin
)

// pieces are the three parts that an engine is made of.
type pieces struct{ template, mesh, values piece }

// configure gets the configuration, piece by piece, and compiles it.
func (k *kubeInject) configure(ctx context.Context) (*setup, error) {
	if k.live.asked {
		live, err := k.connectLive(ctx)
		if err != nil {
			return nil, err
		}
		if k.format == "text" {
			fmt.Fprintf(k.Stderr, "asking webhook %s of configuration %s at %s\n", live.hook.Name, live.hook.Configuration, live.where)
		}
		return &setup{engine: live, live: live, native: func(*source.Node) bool { return false }}, nil
	}
	p, nodes, err := k.collect(ctx)
	if err != nil {
		return nil, err
	}
	set, list := k.load(p)
	if k.format == "text" {
		fmt.Fprintln(k.Stderr, p.String())
	}
	k.checkNativeVariable()
	k.warnOfMaps(p)
	s := &setup{native: k.nativeRule(nodes)}
	s.findings = append(s.findings, list...)
	if p.template.kind == fromFile && p.values.kind == fromBuiltin && set != nil && set.HasValues() {
		if foreign := k.foreignValues(set); foreign != nil {
			s.findings = append(s.findings, foreign)
			return s, nil
		}
		k.warn("the injection template is your own, but the values are the built-in defaults; give those of your mesh with --valuesFile")
	}
	if set == nil {
		return s, nil
	}
	if d := inject.CheckPolicy(set.Injection); d != nil {
		s.findings = append(s.findings, d)
	}
	if k.verbose && k.format == "text" {
		tellRelease(k.Stderr, &set.Detected)
	}
	engine, list := inject.Compile(set.Injection, set.Mesh, set.Values, inject.Options{Release: set.Detected.Release})
	s.findings = append(s.findings, list...)
	if !list.HasErrors() {
		s.engine = engine
	}
	return s, nil
}

// foreignValues refuses to give a template of an older release the built-in
// values, which are of the newest: what it makes of them would be a sidecar with
// the image of one release and the arguments of another. It returns nil for a
// template that asks for nothing of them.
func (k *kubeInject) foreignValues(set *config.Set) *diag.Diagnostic {
	if set.Detected.Release == release.Newest {
		return nil
	}
	for _, t := range set.Injection.Templates {
		for _, u := range release.Uses(t.Text, "{{", "}}") {
			if u.Kind != release.Field || u.Name != "Values" && u.Name != "ProxyImage" && u.Name != "ProxyInitImage" {
				continue
			}
			name := cluster.InjectorConfigMap
			if k.revision != "" {
				name += "-" + k.revision
			}
			return &diag.Diagnostic{
				Code: tmpl.CodeValues, Severity: diag.Error, Span: u.At,
				Message: fmt.Sprintf("template %q is of release %s and asks for values, but there are none: the built-in ones are of release %s", t.Name, set.Detected.Release, release.Newest),
				Fix: fmt.Sprintf("give those of the mesh with --valuesFile; its cluster has them: kubectl -n %s get configmap %s -o jsonpath='{.data.values}'; an empty file stands for none",
					k.globals.istioNamespace, name),
			}
		}
	}
	return nil
}

// warn tells what is worth knowing about how the command was called.
func (k *kubeInject) warn(format string, args ...any) {
	if k.format == "text" && k.warnings != "off" {
		fmt.Fprintf(k.Stderr, "warning: "+format+"\n", args...)
	}
}

// String says on one line what is used.
func (p *pieces) String() string {
	if p.template.from == p.mesh.from && p.mesh.from == p.values.from {
		return "using injection template, mesh config and values from " + p.template.from
	}
	return fmt.Sprintf("using injection template from %s, mesh config from %s, values from %s", p.template.from, p.mesh.from, p.values.from)
}

// collect gets the three pieces: from files, else from the cluster where one
// is configured, else the built-in ones. The source of nodes is nil where no
// cluster was asked.
func (k *kubeInject) collect(ctx context.Context) (*pieces, nodeSource, error) {
	p := &pieces{}
	missing := 0
	for _, f := range []struct {
		flag, file string
		to         *piece
	}{
		{"injectConfigFile", k.injectConfigFile, &p.template},
		{"meshConfigFile", k.meshConfigFile, &p.mesh},
		{"valuesFile", k.valuesFile, &p.values},
	} {
		if f.file == "" {
			missing++
			continue
		}
		data, err := os.ReadFile(k.path(f.file))
		if err != nil {
			return nil, nil, fmt.Errorf("reading --%s %s: %w", f.flag, f.file, because(err))
		}
		*f.to = piece{source.NewText(f.file, data), "file " + f.file, fromFile}
	}
	if k.valuesFile == "" && k.injectConfigFile != "" && holds(p.template.text, "values") {
		p.values = p.template // one ConfigMap has both
		missing--
	}
	if missing == 0 {
		return p, nil, k.checkClusterFlags()
	}
	nodes, asked, err := k.fromCluster(ctx, p)
	if err != nil || asked {
		return p, nodes, err
	}
	return p, nil, k.fromBuiltin(p)
}

// fromBuiltin fills the pieces that are missing with the built-in defaults.
func (k *kubeInject) fromBuiltin(p *pieces) error {
	injection, mesh, values, err := builtin.DefaultInjection(builtin.Injection{
		Revision: k.revision, IstioNamespace: k.globals.istioNamespace,
	})
	if err != nil {
		return fmt.Errorf("rendering the built-in configuration: %w", err)
	}
	for _, f := range []struct {
		name string
		data []byte
		to   *piece
	}{
		{"injection configuration", injection, &p.template},
		{"mesh configuration", mesh, &p.mesh},
		{"values", values, &p.values},
	} {
		if f.to.text == nil {
			*f.to = piece{source.NewText("built-in "+f.name, f.data), "the built-in defaults of Istio " + builtin.Tag, fromBuiltin}
		}
	}
	return nil
}

// nodeSource tells what is known about the nodes that pods will run on.
type nodeSource interface {
	// Native reports whether the node of that name, or every node where the
	// name is empty or unknown, runs native sidecars.
	Native(node string) bool
}

// nativeRule returns how to tell whether a pod gets a native sidecar.
func (k *kubeInject) nativeRule(nodes nodeSource) func(*source.Node) bool {
	native, decided := k.nativeWithoutNodes()
	if decided || nodes == nil {
		return func(*source.Node) bool { return native }
	}
	return func(pod *source.Node) bool { return nodes.Native(pod.Get("spec", "nodeName").Str()) }
}

const nativeVariable = "ENABLE_NATIVE_SIDECARS"

// registerNative adds the flags that nativeWithoutNodes reads.
func (k *kubeInject) registerNative(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&k.nativeSidecars, "native-sidecars", "auto", "make the sidecar a native one: true, false, or auto: as ENABLE_NATIVE_SIDECARS or --kube-version say; else as the cluster's nodes are; else false")
	f.StringVar(&k.kubeVersion, "kube-version", "", "version of Kubernetes that the pods will run on, for example 1.33")
}

func (k *kubeInject) checkNativeFlags() error {
	switch k.nativeSidecars {
	case "auto", "true", "false":
	default:
		return usagef("--native-sidecars %q is not auto, true or false", k.nativeSidecars)
	}
	_, err := parseKubeVersion(k.kubeVersion)
	return err
}

// checkNativeVariable warns of a value that the control plane takes for false.
func (k *kubeInject) checkNativeVariable() {
	if k.nativeSidecars != "auto" {
		return
	}
	switch value := k.getenv(nativeVariable); value {
	case "", "auto", "true", "false":
	default:
		k.warn("%s is %q, which counts as false: it is not auto, true or false", nativeVariable, value)
	}
}

// nativeWithoutNodes tells whether sidecars are native, where that is decided
// whatever nodes there are: by the flag, else by the control plane's variable,
// else by the version of Kubernetes.
func (k *kubeInject) nativeWithoutNodes() (native, decided bool) {
	switch k.nativeSidecars {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	switch k.getenv(nativeVariable) {
	case "", "auto":
	default:
		return k.getenv(nativeVariable) == "true", true
	}
	if minor, err := parseKubeVersion(k.kubeVersion); err == nil && minor > 0 {
		return minor >= nativeSince, true
	}
	return false, false
}

// engineEnv is the environment that the engine and templates see: that of the
// process, in which the flag for native sidecars replaces its variable.
func (k *kubeInject) engineEnv(name string) string {
	if name == nativeVariable && k.nativeSidecars != "auto" {
		return k.nativeSidecars
	}
	return k.getenv(name)
}
