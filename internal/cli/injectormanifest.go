package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ingraft/ingraft/deploy"
	"github.com/ingraft/ingraft/internal/chart"
)

// manifest is one run of the command injector manifest.
type manifest struct {
	*app
	image, revision, configRevision string
	// ownImage tells that --image was given.
	ownImage                      bool
	replicas                      int
	url, caFile, hookPath         string
	failurePolicy, webhookVersion string
	reinvocation                  string
	timeout                       int
	byDefault                     bool
	onError, nativeSidecars       string
	platform                      string
	events                        bool
	missedEvery                   time.Duration
}

// injectorNamespace is where an injector runs unless -n says otherwise.
const injectorNamespace = "ingraft-system"

func (a *app) injectorManifestCommand() *cobra.Command {
	m := &manifest{app: a}
	c := &cobra.Command{
		Use:   "manifest",
		Short: "Print the objects that run an injector in a cluster",
		Long: `manifest prints what kubectl applies to run an injector: Namespace, service account
and rights, Service, Deployment, disruption budget, autoscaler, and the webhook
configuration. They are the objects of the Helm chart in deploy/injector.

No image is published: make one ('make image'), and name it with --image.

With --url the webhook runs outside the cluster, and the webhook configuration is
all there is. -n says where the injector runs (` + injectorNamespace + `), -i where the control plane is.`,
		Example: `  # Inject where namespaces are labelled istio-injection=enabled
  ` + a.name + ` injector manifest --image registry.example.com/ingraft:0.1.0 | kubectl apply -f -

  # Beside an injector of the mesh, for what is labelled istio.io/rev=ingraft, with the mesh's configuration
  ` + a.name + ` injector manifest --image registry.example.com/ingraft:0.1.0 --revision ingraft --config-revision default

  # Call an injector on this machine
  ` + a.name + ` injector manifest --url https://192.0.2.1:15017/inject --ca-file ca.crt`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			m.ownImage = c.Flags().Changed("image")
			return m.run()
		},
	}
	f := c.Flags()
	f.StringVar(&m.image, "image", "ghcr.io/ingraft/ingraft:"+Version, "image of ingraft; the default one is not published: see 'make image'")
	f.StringVarP(&m.revision, "revision", "r", "", "revision that namespaces and pods ask for with label istio.io/rev; empty for the default one")
	f.StringVar(&m.configRevision, "config-revision", "", "revision of the control plane's ConfigMaps, default for those without; empty for --revision")
	f.IntVar(&m.replicas, "replicas", 2, "number of replicas")
	f.StringVar(&m.url, "url", "", "URL of a webhook outside the cluster, with its path")
	f.StringVar(&m.caFile, "ca-file", "", "file with the certificates to trust the webhook by, PEM")
	f.StringVar(&m.hookPath, "path", "/inject", "path of the webhook, which may set variables of the proxy: /inject/cluster/c1/net/n1")
	f.StringVar(&m.failurePolicy, "failure-policy", "Fail", "what becomes of a pod where the webhook does not answer: Fail (refused) or Ignore (made without a sidecar)")
	f.IntVar(&m.timeout, "timeout", 10, "how long the API server waits for an answer, in seconds, 1 to 30")
	f.StringVar(&m.reinvocation, "reinvocation-policy", "Never", "whether to ask again where a later webhook changes the pod: Never or IfNeeded")
	f.StringVar(&m.webhookVersion, "webhook-version", "v1", "version of the webhook configuration: v1, or v1beta1 for Kubernetes until 1.15")
	f.BoolVar(&m.byDefault, "namespaces-by-default", false, "inject also where neither namespace nor pod says anything")
	f.StringVar(&m.onError, "on-error", "deny", "what becomes of a pod that cannot be injected into: deny or allow")
	f.BoolVar(&m.events, "events", true, "write Events about pods that are denied or get warnings")
	f.DurationVar(&m.missedEvery, "missed-every", 5*time.Minute, "how often to count pods that should have a sidecar and do not, for a metric; 0 for never")
	f.StringVar(&m.nativeSidecars, "native-sidecars", "auto", "make the sidecar a native one: true, false, or auto: as the cluster's nodes are")
	f.StringVar(&m.platform, "platform", "", "openshift, where Namespaces have the users that proxies run as")
	return c
}

func (m *manifest) check() error {
	for _, f := range []struct{ flag, value, allowed string }{
		{"failure-policy", m.failurePolicy, "Fail or Ignore"},
		{"reinvocation-policy", m.reinvocation, "Never or IfNeeded"},
		{"webhook-version", m.webhookVersion, "v1 or v1beta1"},
		{"on-error", m.onError, "deny or allow"},
		{"native-sidecars", m.nativeSidecars, "auto, true or false"},
	} {
		if !oneOf(f.value, f.allowed) {
			return usagef("--%s %q is not %s", f.flag, f.value, f.allowed)
		}
	}
	switch {
	case m.platform != "" && m.platform != "openshift":
		return usagef("--platform %q is not openshift", m.platform)
	case m.timeout < 1 || m.timeout > 30:
		return usagef("--timeout %d is not 1 to 30 seconds", m.timeout)
	case m.missedEvery < 0 || m.missedEvery > 0 && m.missedEvery < leastMissedEvery:
		return usagef("--missed-every %s is less than %s", m.missedEvery, leastMissedEvery)
	case m.replicas < 1:
		return usagef("--replicas %d is less than one", m.replicas)
	case m.hookPath != "/inject" && !strings.HasPrefix(m.hookPath, "/inject/"):
		return usagef("--path %q is not /inject or below", m.hookPath)
	case m.caFile != "" && m.url == "":
		return usagef("--ca-file goes with --url").hinted("In a cluster ingraft makes its certificates, and keeps caBundle right.")
	}
	for flag, value := range map[string]string{"revision": m.revision, "config-revision": m.configRevision, "namespace": m.globals.namespace, "istioNamespace": m.globals.istioNamespace} {
		if value != "" && !isLabel(value) {
			return usagef("--%s %q is no name: lower case letters, digits and dashes", flag, value)
		}
	}
	if m.url != "" {
		// The API server's rules for webhooks.
		u, err := url.Parse(m.url)
		if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return usagef("--url %q is not https://host[:port]/path", m.url)
		}
	}
	if strings.ContainsAny(m.image, " \t\n\"'#{}[]") || m.image == "" {
		return usagef("--image %q is no image", m.image)
	}
	return nil
}

// oneOf reports whether a value is in a list for people: "a, b or c".
func oneOf(value, list string) bool {
	for word := range strings.FieldsSeq(strings.NewReplacer(",", " ", " or ", " ").Replace(list)) {
		if value == word {
			return true
		}
	}
	return false
}

// isLabel tells the names that namespaces and revisions have (RFC 1123).
func isLabel(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && (c != '-' || i == 0 || i == len(s)-1) {
			return false
		}
	}
	return s != "" && len(s) <= 63
}

func (m *manifest) run() error {
	if err := m.check(); err != nil {
		return err
	}
	namespace := m.globals.namespace
	if namespace == "" {
		namespace = injectorNamespace
	}
	values := map[string]any{
		"image": m.image, "replicas": m.replicas, "revision": m.revision, "configRevision": m.configRevision,
		"istioNamespace": m.globals.istioNamespace, "url": m.url, "path": m.hookPath,
		"failurePolicy": m.failurePolicy, "timeoutSeconds": m.timeout, "reinvocationPolicy": m.reinvocation,
		"webhookVersion": m.webhookVersion, "namespacesByDefault": m.byDefault, "onError": m.onError,
		"nativeSidecars": m.nativeSidecars, "platform": m.platform, "createNamespace": m.url == "", "events": m.events, "missedEvery": m.missedEvery.String(),
	}
	if m.caFile != "" {
		bundle, err := os.ReadFile(m.path(m.caFile))
		if err == nil {
			if block, _ := pem.Decode(bundle); block == nil || block.Type != "CERTIFICATE" {
				err = errors.New("it holds no certificate")
			}
		}
		if err != nil {
			return fmt.Errorf("reading --ca-file %s: %w", m.caFile, because(err))
		}
		values["caBundle"] = base64.StdEncoding.EncodeToString(bundle)
	}
	text, err := renderInjector(values, namespace)
	if err != nil {
		return err
	}
	if m.url == "" && !m.ownImage {
		fmt.Fprintf(m.Stderr, "note: no image of ingraft is published, so %s has to be made ('make image') and loaded into the cluster's machines; else name the one in your registry with --image\n", m.image)
	}
	_, err = m.Stdout.Write(text)
	return wroteStdout(err)
}

// injectorFiles are the templates of the chart in the order in which their
// objects are to be made: the webhook configuration comes last.
var injectorFiles = [...]string{"namespace", "rbac", "service", "deployment", "scaling", "webhook"}

// renderInjector renders the chart of the injector.
func renderInjector(values map[string]any, namespace string) ([]byte, error) {
	c, err := chart.Load(deploy.Chart, "injector")
	if err != nil {
		return nil, fmt.Errorf("loading the chart of the injector: %w", err)
	}
	out, err := c.Render(values, chart.Options{Release: chart.Release{Name: "ingraft", Namespace: namespace}})
	if err != nil {
		return nil, fmt.Errorf("rendering the chart of the injector: %w", err)
	}
	var b bytes.Buffer
	for _, name := range injectorFiles {
		text := strings.TrimSpace(out.Get("injector/templates/" + name + ".yaml"))
		if text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("---\n")
		}
		b.WriteString(text + "\n")
	}
	return b.Bytes(), nil
}
