package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/chart/builtin"
	"github.com/ingraft/ingraft/internal/cluster"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// kubeInject is one run of the command kube-inject.
type kubeInject struct {
	*app
	files    []string
	writing  writing
	strict   bool
	podPaths []string
	format   string
	// warnings is off, on or error.
	warnings    string
	keepGoing   bool
	podSecurity string
	// canonical and noRecord are those of injector.
	canonical, noRecord bool

	meshConfigFile, injectConfigFile, valuesFile string
	meshConfigMap, injectConfigMap               string
	// revision is that of the control plane, "" for the one called default.
	revision      string
	revisionGiven bool
	// injectMapGiven and meshMapGiven tell that the flags with the names of
	// ConfigMaps were given.
	injectMapGiven, meshMapGiven bool
	nativeSidecars, kubeVersion  string
	// generation is the release that the configuration is of, as given.
	generation string
	verbose    bool

	operatorFile string
	live         liveInjector
}

// liveInjector holds the flags by which a webhook of the cluster is asked in place
// of the engine: which one, and how it is reached.
type liveInjector struct {
	webhookConfig                            string
	xdsAddress, xdsLabel, authority, certDir string
	xdsPort                                  int
	insecure, plaintext                      bool
	timeout                                  time.Duration

	// named and portGiven tell that --webhookConfig and --xds-port were given;
	// asked, that a webhook is to be asked.
	named, portGiven, asked bool
}

func (a *app) kubeInjectCommand() *cobra.Command {
	k := &kubeInject{app: a}
	n := a.name
	c := &cobra.Command{
		Use:   "kube-inject",
		Short: "Inject the mesh's sidecar into Kubernetes manifests",
		Long: `kube-inject adds the mesh's sidecar to every workload of a manifest, as the
mesh's webhook would when the pods are made. Everything that is no workload
passes through as it is, so whole applications can be given at once.

Injection template, mesh configuration and values come, each by itself, from
the file that a flag names; else, where a kubeconfig is configured, from the
cluster's ConfigMaps; else from the built-in defaults of Istio ` + builtin.Tag + `. With all
three given as files no cluster is asked. With --webhookConfig a webhook of the
cluster, the mesh's or ingraft's, is asked for the patches instead.

All documents are read and checked, and nothing is written unless every one
of them is sound; with --keep-going the sound ones are.`,
		Example: `  # Inject into a manifest and apply it
  ` + n + ` kube-inject -f deployment.yaml | kubectl apply -f -

  # Update a workload of the cluster
  kubectl get deployment -o yaml | ` + n + ` kube-inject -f - | kubectl apply -f -

  # Inject into all manifests of a folder, and keep the result in a file
  ` + n + ` kube-inject -f k8s/ -o injected.yaml

  # Take template, mesh configuration and values out of a cluster ...
  kubectl -n istio-system get configmap istio-sidecar-injector -o jsonpath='{.data.config}' > inject.yaml
  kubectl -n istio-system get configmap istio -o jsonpath='{.data.mesh}' > mesh.yaml
  kubectl -n istio-system get configmap istio-sidecar-injector -o jsonpath='{.data.values}' > values.json

  # ... and use them where there is no cluster
  ` + n + ` kube-inject -f deployment.yaml --injectConfigFile inject.yaml --meshConfigFile mesh.yaml --valuesFile values.json

  # Fail when a workload cannot get a sidecar
  ` + n + ` kube-inject --strict -f deployment.yaml

  # Check a folder in a pipeline: whatever is worth a warning fails
  ` + n + ` kube-inject -f k8s/ --warnings error --diagnostics sarif >/dev/null 2>findings.sarif

  # Ask whether the pods may run where Pod Security is restricted
  ` + n + ` kube-inject -f deployment.yaml --pod-security restricted

  # Inject into a kind of your own, whose pods are made from spec.worker
  ` + n + ` kube-inject -f farm.yaml --pod-path Farm.example.com=spec.worker`,
		Args: func(c *cobra.Command, args []string) error {
			return onlyFlags(args)
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if err := k.check(c); err != nil {
				return err
			}
			return k.run(c.Context())
		},
	}
	f := c.Flags()
	f.StringArrayVarP(&k.files, "filename", "f", nil, "file, folder or pattern to read, - for standard input (repeatable, or separated by commas)")
	k.writing.register(f)
	f.StringVar(&k.writing.patch, "patch", "", "write a patch for each injected object instead of the result: json (RFC 6902), strategic, or kustomize, a folder for -o")
	f.BoolVar(&k.canonical, "canonical", false, "write every document anew, injected or not, with sorted keys and without comments, rather than keep their text")
	f.BoolVar(&k.noRecord, "no-undo-record", false, "leave out the annotation "+annot.UndoRecord+", which uninject needs to give back the original exactly")
	f.StringVar(&k.injectConfigFile, "injectConfigFile", "", "file with the injection template: key config of the ConfigMap, the ConfigMap (its key values counts too), or a bare template")
	f.StringVar(&k.injectConfigMap, "injectConfigMapName", cluster.InjectorConfigMap, "ConfigMap with injection template (key config) and values (key values)")
	_ = f.MarkHidden("injectConfigMapName")
	f.StringVar(&k.meshConfigFile, "meshConfigFile", "", "file with the mesh configuration; wins over --meshConfigMapName")
	f.StringVar(&k.meshConfigMap, "meshConfigMapName", cluster.MeshConfigMap, "ConfigMap with the mesh configuration (key mesh)")
	f.StringVar(&k.valuesFile, "valuesFile", "", "file with the values of the install, JSON or YAML")
	f.StringVarP(&k.revision, "revision", "r", "", "revision of the control plane")
	f.StringVar(&k.generation, "generation", "", "release that the configuration is of, as in 1.9; empty to tell it from the configuration")
	f.BoolVarP(&k.verbose, "verbose", "v", false, "say which release the configuration is of, and what tells")
	f.BoolVar(&k.strict, "strict", false, "exit 1, and write nothing, when a workload is skipped")
	k.registerNative(c)
	f.StringArrayVar(&k.podPaths, "pod-path", nil, "where a kind keeps its pod template: Kind.group=dotted.path (repeatable)")
	f.StringVar(&k.format, "diagnostics", "text", "format of what is found in the input, on standard error: text, json or sarif")
	k.registerWarnings(c)
	f.BoolVar(&k.keepGoing, "keep-going", false, "write the documents that are sound, and exit 1, where others have errors; those are left out, but stay as they are where every input gets a file in a folder")
	f.StringVar(&k.podSecurity, "pod-security", "", "Pod Security level to judge the pods by, as in restricted or baseline:v1.30; wins over the labels of Namespaces in the input")
	f.StringVar(&k.operatorFile, "operatorFileName", "", "accepted for istioctl's sake only: give --meshConfigFile and --valuesFile instead")
	k.live.register(c)
	registerFormerFlags(c)
	return c
}

func (l *liveInjector) register(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&l.webhookConfig, "webhookConfig", "istio-sidecar-injector", "MutatingWebhookConfiguration of the cluster whose webhook to ask for the patch, the mesh's or ingraft's, instead of rendering here; where only the flags below ask for one, that of --revision")
	f.StringVar(&l.xdsAddress, "xds-address", "", "host, or host:port, to reach the webhook at; empty for its URL, or a pod of its Service")
	f.StringVar(&l.xdsLabel, "xds-label", "", "labels of the pods to reach the webhook at, instead of its Service's: app=istiod")
	f.IntVar(&l.xdsPort, "xds-port", 15012, "port to reach the webhook at; where it is not given, the one that webhook configuration and Service say")
	f.StringVar(&l.authority, "authority", "", "name that the webhook's certificate has to have; empty for its Service's or URL's")
	f.StringVar(&l.certDir, "cert-dir", "", "folder with certificates for the webhook: root-cert.pem to trust beside caBundle, cert-chain.pem and key.pem to show")
	f.BoolVar(&l.insecure, "insecure", false, "do not check the webhook's certificate")
	f.BoolVar(&l.plaintext, "plaintext", false, "ask the webhook without TLS")
	f.DurationVar(&l.timeout, "timeout", 30*time.Second, "how long to wait for an answer of the webhook")
}

// liveFlags ask for a webhook of the cluster.
var liveFlags = [...]string{"--webhookConfig", "--xds-address", "--xds-label", "--authority", "--cert-dir", "--insecure", "--plaintext"}

// liveInjectorAsked returns the first flag given that asks for a webhook, or what set
// the webhook's address in its place; "" where nothing does. (In istioctl the
// address alone decides whom to ask, so that variables like ISTIOCTL_INSECURE,
// which are meant for other commands, say nothing to kube-inject.)
func (k *kubeInject) liveInjectorAsked(c *cobra.Command) string {
	for _, flag := range liveFlags {
		if f := c.Flags().Lookup(flag[2:]); f.Changed && (f.Value.String() != f.DefValue || f.Name == "webhookConfig") {
			return flag
		}
	}
	if k.live.xdsAddress != "" {
		return k.defaulted["xds-address"]
	}
	return ""
}

// checkLive finds out whether a webhook is to be asked.
func (k *kubeInject) checkLive(c *cobra.Command) error {
	l := &k.live
	asked := k.liveInjectorAsked(c)
	l.named, l.portGiven = c.Flags().Changed("webhookConfig"), c.Flags().Changed("xds-port")
	switch {
	case asked == "":
		return nil
	case k.injectConfigFile != "": // istioctl asks nobody either where the template is in a file
		if l.named {
			k.warn("--injectConfigFile gives the template, so that --webhookConfig says nothing: no webhook is asked")
		}
		return nil
	case l.named && l.webhookConfig == "":
		return usagef("--webhookConfig is empty").hinted("Name a MutatingWebhookConfiguration.")
	case l.timeout <= 0:
		return usagef("--timeout %s is not above zero", l.timeout).hinted("Write for example 30s.")
	case l.xdsPort < 1 || l.xdsPort > 65535:
		return usagef("--xds-port %d is no port", l.xdsPort)
	case l.plaintext && (l.insecure || l.certDir != ""):
		return usagef("--plaintext is without TLS, and does not go with --insecure or --cert-dir")
	}
	if _, err := labels.Parse(l.xdsLabel); err != nil {
		return usagef("--xds-label %q is no label selector", l.xdsLabel).hinted("Write for example app=istiod.")
	}
	for _, name := range [...]string{"meshConfigFile", "injectConfigMapName", "meshConfigMapName", "valuesFile", "generation", "native-sidecars", "kube-version"} {
		if c.Flags().Changed(name) {
			k.warn("--%s says nothing to the webhook that %s asks for: it has its own configuration", name, asked)
		}
	}
	l.asked = true
	return nil
}

// check refuses flags that cannot be honoured.
func (k *kubeInject) check(c *cobra.Command) error {
	if k.operatorFile != "" {
		return usagef("--operatorFileName is not in this version of ingraft").
			hinted("Give its meshConfig with --meshConfigFile and its values with --valuesFile.")
	}
	if err := checkFormerFlags(c); err != nil {
		return err
	}
	if err := k.checkGeneration(); err != nil {
		return err
	}
	if err := k.checkNativeFlags(); err != nil {
		return err
	}
	if err := checkDiagnosticsFormat(k.format); err != nil {
		return err
	}
	switch k.writing.patch {
	case "", "json", "strategic", "kustomize":
	default:
		return usagef("--patch %q is not json, strategic or kustomize", k.writing.patch)
	}
	if k.canonical && (k.writing.diff || k.writing.patch != "") {
		return usagef("--canonical goes with neither --diff nor --patch")
	}
	if err := checkWarnings(k.warnings); err != nil {
		return err
	}
	if _, err := inject.ParsePodSecurity(k.podSecurity); err != nil {
		return usagef("--pod-security: %v", err).hinted("Write privileged, baseline or restricted, and a version behind a colon if it is not the latest: restricted:v1.30.")
	}
	if _, err := kube.ParsePodPaths(k.podPaths); err != nil {
		return usagef("--pod-path: %v", err)
	}
	if err := k.checkLive(c); err != nil {
		return err
	}
	k.injectMapGiven, k.meshMapGiven = c.Flags().Changed("injectConfigMapName"), c.Flags().Changed("meshConfigMapName")
	k.revisionGiven = k.revision != ""
	if k.revisionGiven && !isLabel(k.revision) {
		return notAName("revision", k.revision)
	}
	if k.revision == "default" {
		k.revision = ""
	}
	return nil
}

func checkDiagnosticsFormat(format string) error {
	switch format {
	case "text", "json", "sarif":
		return nil
	}
	return usagef("--diagnostics %q is not text, json or sarif", format)
}

// onlyFlags refuses arguments of commands whose inputs are given by -f.
func onlyFlags(args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usagef("unexpected argument %q", args[0]).
		hinted("Every input needs its own -f; write patterns in quotes: -f '*.yaml'.")
}

// inputs finds the inputs that the values of -f name.
func (a *app) inputs(names []string) (*inputSet, error) {
	list, err := a.findInputs(names)
	if err != nil {
		return nil, err
	}
	return &inputSet{app: a, list: list, room: spoolLimit}, nil
}

// nativeSince is the minor release of Kubernetes from which on the control
// plane takes native sidecars for granted.
const nativeSince = 33

// parseKubeVersion returns the minor release of a version of Kubernetes, 0 for
// none.
func parseKubeVersion(version string) (minor int, err error) {
	if version == "" {
		return 0, nil
	}
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) >= 2 && parts[0] == "1" {
		minor, err = strconv.Atoi(strings.TrimSuffix(parts[1], "+"))
		if err == nil && minor >= 0 {
			return minor, nil
		}
	}
	return 0, usagef("--kube-version %q is no version of Kubernetes", version).hinted("Write for example 1.33 or v1.33.2.")
}

func (k *kubeInject) run(ctx context.Context) error {
	inputs, err := k.inputs(k.files)
	if err != nil {
		return err
	}
	defer inputs.close()
	out, err := k.writing.open(k.app, inputs)
	if err != nil {
		return err
	}
	defer out.close()
	podPaths, err := kube.ParsePodPaths(k.podPaths)
	if err != nil {
		return err
	}
	podSecurity, err := inject.ParsePodSecurity(k.podSecurity)
	if err != nil {
		return err
	}

	report := &injectReport{app: k.app, format: k.format, strict: k.strict, warnings: k.warnings, keepGoing: k.keepGoing}
	defer report.notes.close()
	setup, err := k.configure(ctx)
	if err != nil {
		return err
	}
	report.add(setup.findings)
	if setup.engine == nil {
		return report.print()
	}
	if err := inputs.keepAll(ctx); err != nil {
		return err
	}
	around, err := inputs.surroundings(ctx)
	if err != nil {
		return err
	}
	work := &injector{
		engine: setup.engine, podPaths: podPaths, revision: k.revision,
		namespace: k.globals.namespace, namespaces: around.namespaces,
		proxyConfigs: inject.NewProxyConfigs(around.proxyConfigs, k.globals.namespace),
		native:       setup.native, getenv: k.engineEnv, now: k.Now(), podSecurity: podSecurity,
		canonical: k.canonical, joined: k.writing.joined, noRecord: k.noRecord, patch: k.writing.patch,
	}
	s := &stream{
		inputs: inputs, work: work.document, skip: report.skip, weigh: report.weigh, keepGoing: k.keepGoing,
		out: out,
	}
	if err := s.run(ctx); err != nil {
		return err
	}
	if setup.live != nil && setup.live.err() != nil {
		return setup.live.err()
	}
	report.findings = append(report.findings, s.findings...)
	report.copied = copies(out)
	report.dropped, report.written = s.dropped, k.keepGoing && !report.unmet() && !out.empty()
	outcome := report.print()
	if outcome != nil && !(errors.Is(outcome, errReported) && report.written) {
		return outcome
	}
	if err := out.finish(ctx); err != nil {
		return err
	}
	return outcome
}

// surroundings are the objects of the inputs that injection into others asks
// for. They may stand anywhere, also after the workloads that they concern.
type surroundings struct {
	namespaces   map[string]*source.Node // by name
	proxyConfigs []*source.Node
}

func (s *inputSet) surroundings(ctx context.Context) (*surroundings, error) {
	found := &surroundings{namespaces: map[string]*source.Node{}}
	for _, in := range s.list {
		r, closeInput, err := s.open(in)
		if err != nil {
			return nil, err
		}
		holds, err := containsWord(r, "Namespace", "ProxyConfig")
		closeInput()
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", in.name, because(err))
		}
		if !holds {
			continue
		}
		err = s.documents(in, func(doc *source.Document, err error) bool {
			if err != nil || doc.Root == nil {
				return ctx.Err() == nil // told when it is worked on
			}
			for o := range kube.Objects(doc.Root) {
				switch {
				case o.Ref.Kind == "Namespace" && o.Ref.APIVersion == "v1":
					found.namespaces[o.Ref.Name] = o.Node
				case inject.IsProxyConfig(o.Ref):
					found.proxyConfigs = append(found.proxyConfigs, o.Node)
				}
			}
			return ctx.Err() == nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, ctx.Err()
}
