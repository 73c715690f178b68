package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ingraft/ingraft/internal/admit"
	"github.com/ingraft/ingraft/internal/cluster"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// liveHook is a webhook of the cluster that pods are sent to in place of an
// engine: it is asked as an API server asks it, but for a dry run. It may be used
// by several goroutines.
type liveHook struct {
	hook *admit.Hook
	// url is where reviews are posted to, and where says it to people.
	url, where string
	client     *http.Client
	timeout    time.Duration
	ctx        context.Context
	// failed is why the webhook could not be asked. Nothing is written then, and
	// it is not asked again.
	failed atomic.Pointer[error]
}

// isInjection tells the webhooks that inject, the mesh's and ingraft's.
func isInjection(h *admit.Hook) bool {
	return strings.HasSuffix(h.Name, "sidecar-injector.istio.io") || strings.HasSuffix(h.Name, ".injector.ingraft.io")
}

// hooksOf reads the webhooks of objects as a list has them: the API server leaves
// out what all objects of a list are.
func hooksOf(objects ...*source.Node) ([]admit.Hook, diag.List) {
	typed := make([]*source.Node, len(objects))
	for i, object := range objects {
		typed[i] = object.With("apiVersion", source.NewString("admissionregistration.k8s.io/v1")).With("kind", source.NewString("MutatingWebhookConfiguration"))
	}
	return admit.ParseHooks(typed...)
}

// readHooks reads all webhooks of a cluster, in the order in which an API server
// calls them.
func readHooks(ctx context.Context, client *cluster.Client) ([]admit.Hook, diag.List, error) {
	var objects []*source.Node
	for object, err := range client.List(ctx, webhooks, "", cluster.ListOptions{}) {
		if err != nil {
			return nil, nil, err
		}
		objects = append(objects, object)
	}
	hooks, findings := hooksOf(objects...)
	return hooks, findings, nil
}

// connectLive finds the webhook that the flags name, and how to reach it.
func (k *kubeInject) connectLive(ctx context.Context) (*liveHook, error) {
	client, err := cluster.Connect(k.clusterConfig())
	if errors.Is(err, cluster.ErrNotConfigured) {
		return nil, &hintedError{fmt.Errorf("asking a webhook of the cluster: %w", err), "Name the cluster with --kubeconfig, or leave out the flags that ask for a webhook: " + strings.Join(liveFlags[:], ", ") + "."}
	}
	if err != nil {
		return nil, tellCluster(err)
	}
	h, err := k.findHook(ctx, client)
	if err != nil {
		return nil, tellCluster(err)
	}
	l := &liveHook{hook: h, timeout: k.live.timeout, ctx: ctx}
	transport := &http.Transport{MaxConnsPerHost: 4, TLSHandshakeTimeout: k.live.timeout, Proxy: http.ProxyFromEnvironment}
	l.client = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // as API servers
	}
	if transport.TLSClientConfig, err = k.liveTLS(h); err != nil {
		return nil, err
	}
	if err := k.reach(ctx, client, l, transport); err != nil {
		return nil, tellCluster(err)
	}
	return l, nil
}

// findHook returns the webhook of --webhookConfig, or of the revision.
func (k *kubeInject) findHook(ctx context.Context, client *cluster.Client) (*admit.Hook, error) {
	var hooks []admit.Hook
	var findings diag.List
	what := "webhook configuration " + k.live.webhookConfig
	if k.live.named {
		object, err := client.Get(ctx, webhooks, "", k.live.webhookConfig)
		if cluster.IsKind(err, cluster.NotFound) {
			if all, _, listErr := readHooks(ctx, client); listErr == nil {
				return nil, &hintedError{fmt.Errorf("%s does not exist; %s", what, configurationsOf(all)), "Name one of them with --webhookConfig."}
			}
		}
		if err != nil {
			return nil, err
		}
		hooks, findings = hooksOf(object)
	} else {
		if !k.revisionGiven {
			revision, err := k.defaultRevision(ctx, client)
			if err != nil {
				return nil, err
			}
			k.revision = revision
		}
		revision := k.revision
		if revision == "" {
			revision = "default"
		}
		what = "the webhook configurations of revision " + revision
		all, bad, err := readHooks(ctx, client)
		if err != nil {
			return nil, err
		}
		findings = bad
		for _, h := range all {
			if h.Revision == revision && isInjection(&h) {
				hooks = append(hooks, h)
			}
		}
		if len(hooks) == 0 {
			return nil, &hintedError{fmt.Errorf("%s: there are none; %s", what, configurationsOf(all)), "Name one of them with --webhookConfig."}
		}
		if several := configurations(hooks); len(several) > 1 {
			return nil, &hintedError{fmt.Errorf("%s: there are %s", what, strings.Join(several, " and ")), "Name one of them with --webhookConfig."}
		}
	}
	for i := range hooks {
		if isInjection(&hooks[i]) {
			return &hooks[i], nil
		}
	}
	switch {
	case len(hooks) > 0:
		return &hooks[0], nil
	case len(findings) > 0:
		return nil, fmt.Errorf("reading %s: %w", what, mistakes(findings))
	}
	return nil, fmt.Errorf("reading %s: it has no webhooks", what)
}

// configurations returns the names of the configurations of webhooks.
func configurations(hooks []admit.Hook) []string {
	var names []string
	for _, h := range hooks {
		if !slices.Contains(names, h.Configuration) {
			names = append(names, h.Configuration)
		}
	}
	return names
}

// configurationsOf says which configurations have webhooks that inject.
func configurationsOf(hooks []admit.Hook) string {
	names := configurations(slices.DeleteFunc(slices.Clone(hooks), func(h admit.Hook) bool { return !isInjection(&h) }))
	if len(names) == 0 {
		return "no webhook configuration of the cluster injects"
	}
	return "those that inject are " + strings.Join(names, ", ")
}

// liveTLS says whom to trust, and who asks.
func (k *kubeInject) liveTLS(h *admit.Hook) (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: k.live.insecure, ServerName: serverName(h)} //nolint:gosec // where the user says so
	if k.live.authority != "" {
		cfg.ServerName = k.live.authority
	}
	if h.CABundle != "" {
		bundle, err := base64.StdEncoding.DecodeString(h.CABundle)
		if err != nil {
			return nil, fmt.Errorf("reading caBundle of webhook %s: %w", h.Name, err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(bundle) {
			return nil, fmt.Errorf("reading caBundle of webhook %s: it holds no certificate", h.Name)
		}
	}
	if k.live.certDir == "" {
		return cfg, nil
	}
	// The names that the control plane's agents give to these files.
	dir := k.path(k.live.certDir)
	root, err := os.ReadFile(filepath.Join(dir, "root-cert.pem"))
	switch {
	case err == nil:
		if cfg.RootCAs == nil {
			cfg.RootCAs = x509.NewCertPool()
		}
		if !cfg.RootCAs.AppendCertsFromPEM(root) {
			return nil, fmt.Errorf("reading --cert-dir %s: root-cert.pem holds no certificate", k.live.certDir)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("reading --cert-dir %s: %w", k.live.certDir, because(err))
	}
	own, ownErr := tls.LoadX509KeyPair(filepath.Join(dir, "cert-chain.pem"), filepath.Join(dir, "key.pem"))
	switch {
	case ownErr == nil:
		cfg.Certificates = []tls.Certificate{own}
	case !errors.Is(ownErr, fs.ErrNotExist):
		return nil, fmt.Errorf("reading --cert-dir %s: cert-chain.pem and key.pem: %w", k.live.certDir, because(ownErr))
	case err != nil:
		return nil, fmt.Errorf("reading --cert-dir %s: it holds neither root-cert.pem nor cert-chain.pem and key.pem", k.live.certDir)
	}
	return cfg, nil
}

// serverName is the name that an API server wants in the certificate; "" for the
// host of the URL.
func serverName(h *admit.Hook) string {
	if h.Service == "" {
		return ""
	}
	namespace, name, _ := strings.Cut(h.Service, "/")
	return name + "." + namespace + ".svc"
}

// reach says where the webhook is, and how to get there: at --xds-address, else by
// its URL, else at a pod of its Service.
func (k *kubeInject) reach(ctx context.Context, client *cluster.Client, l *liveHook, transport *http.Transport) error {
	h := l.hook
	scheme := "https"
	if k.live.plaintext {
		scheme = "http"
	}
	if h.Service == "" && h.URL == "" {
		return fmt.Errorf("webhook %s of configuration %s has neither service nor url", h.Name, h.Configuration)
	}
	port, path := h.Port, "/"+strings.TrimPrefix(h.Path, "/")
	if h.Service == "" {
		u, err := url.Parse(h.URL)
		if err != nil || u.Host == "" {
			return fmt.Errorf("webhook %s of configuration %s: its url %q is none", h.Name, h.Configuration, h.URL)
		}
		if path, port = u.EscapedPath(), 443; u.Port() != "" {
			port, _ = strconv.ParseInt(u.Port(), 10, 64)
		}
		l.url, l.where = scheme+"://"+u.Host+path, h.URL
		if transport.TLSClientConfig.ServerName == "" {
			transport.TLSClientConfig.ServerName = u.Hostname()
		}
	}
	if k.live.portGiven {
		port = int64(k.live.xdsPort)
	}
	switch {
	case k.live.xdsAddress != "":
		address := k.live.xdsAddress
		if _, _, err := net.SplitHostPort(address); err != nil {
			address = net.JoinHostPort(strings.Trim(address, "[]"), strconv.FormatInt(port, 10))
		}
		l.url, l.where = scheme+"://"+address+path, address
	case h.Service != "":
		pod, target, err := k.podOf(ctx, client, h)
		if err != nil {
			return err
		}
		if k.live.portGiven {
			target = port
		}
		transport.Proxy = nil
		bounded := client.Within(k.live.timeout)
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return bounded.DialPod(ctx, pod.Namespace, pod.Name, target)
		}
		l.url = scheme + "://" + serverName(h) + path
		l.where = fmt.Sprintf("pod %s/%s port %d of service %s", pod.Namespace, pod.Name, target, h.Service)
	}
	return nil
}

var serviceResource = schema.GroupVersionResource{Version: "v1", Resource: "services"}

// podOf returns a pod that serves the webhook, ready if there is one, and its port.
func (k *kubeInject) podOf(ctx context.Context, client *cluster.Client, h *admit.Hook) (kube.Ref, int64, error) {
	namespace, name, _ := strings.Cut(h.Service, "/")
	service, err := client.Get(ctx, serviceResource, namespace, name)
	if err != nil {
		return kube.Ref{}, 0, err
	}
	selector := k.live.xdsLabel
	if selector == "" {
		selector = selectorOf(service)
	}
	if selector == "" {
		return kube.Ref{}, 0, &hintedError{fmt.Errorf("service %s selects no pods, so that it is not known where the webhook is", h.Service), "Give its address with --xds-address, or the labels of its pods with --xds-label."}
	}
	pods, err := client.PodsOf(ctx, namespace, selector)
	if err != nil {
		return kube.Ref{}, 0, err
	}
	pods = slices.DeleteFunc(pods, func(p *source.Node) bool { return p.Get("status", "phase").Str() != "Running" })
	if len(pods) == 0 {
		return kube.Ref{}, 0, &hintedError{fmt.Errorf("no pod of service %s runs: none with labels %s in namespace %s", h.Service, selector, namespace), "'ingraft injector check' says more."}
	}
	slices.SortStableFunc(pods, func(a, b *source.Node) int { return boolToInt(podReady(b)) - boolToInt(podReady(a)) })
	pod := pods[0]
	target, ok := targetPort(service, pod, h.Port)
	if !ok && !k.live.portGiven {
		return kube.Ref{}, 0, &hintedError{fmt.Errorf("service %s has no port %d that leads to one of pod %s", h.Service, h.Port, pod.Get("metadata", "name").Str()), "'ingraft injector check' says more."}
	}
	return kube.Ref{Namespace: namespace, Name: pod.Get("metadata", "name").Str()}, target, nil
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// selectorOf returns the selector of a Service as a text, "" for none.
func selectorOf(service *source.Node) string {
	set := labels.Set{}
	for _, f := range service.Get("spec", "selector").Fields() {
		set[f.Key] = f.Value.Scalar()
	}
	return set.String()
}

// podReady tells a pod whose condition Ready is true.
func podReady(pod *source.Node) bool {
	for _, c := range pod.Get("status", "conditions").Items() {
		if c.Get("type").Str() == "Ready" {
			return c.Get("status").Str() == "True"
		}
	}
	return false
}

// targetPort returns the port of a pod that a port of its Service leads to.
func targetPort(service, pod *source.Node, port int64) (int64, bool) {
	for _, p := range service.Get("spec", "ports").Items() {
		if n, _ := p.Get("port").Int(); n != port {
			continue
		}
		target := p.Get("targetPort")
		if target.IsNull() {
			return port, true
		}
		if n, ok := target.Int(); ok {
			return n, true
		}
		for _, list := range [...]string{"containers", "initContainers"} {
			for _, c := range pod.Get("spec", list).Items() {
				for _, cp := range c.Get("ports").Items() {
					if n, ok := cp.Get("containerPort").Int(); ok && cp.Get("name").Str() == target.Str() {
						return n, true
					}
				}
			}
		}
	}
	return 0, false
}

// err returns why the webhook could not be asked.
func (l *liveHook) err() error {
	if e := l.failed.Load(); e != nil {
		return *e
	}
	return nil
}

// OwnerOf tells the workload of a pod, as webhooks do.
func (l *liveHook) OwnerOf(_ inject.Door, pod *source.Node) kube.Ref { return kube.OwnerOf(pod) }

// Run asks the webhook about a pod.
func (l *liveHook) Run(r *inject.Request) *inject.Result {
	result := &inject.Result{Pod: r.Pod}
	if l.err() != nil {
		result.Diagnostics = diag.List{{Severity: diag.Error, Message: "the webhook could not be asked"}}
		return result
	}
	asked, undress := dress(r)
	answer, err := l.ask(asked, r.NamespaceName)
	if err == nil && answer.patch != nil {
		result.Pod, err = kube.ApplyPatch(asked, "patch of "+l.hook.Name, answer.patch)
		if err != nil {
			err = fmt.Errorf("applying the patch of webhook %s: %w", l.hook.Name, err)
		}
	}
	if err != nil {
		l.failed.CompareAndSwap(nil, &err)
		return &inject.Result{Pod: r.Pod, Diagnostics: diag.List{{Severity: diag.Error, Message: err.Error()}}}
	}
	for _, w := range answer.warnings {
		result.Diagnostics = append(result.Diagnostics, &diag.Diagnostic{Severity: diag.Warning, Message: "webhook " + l.hook.Name + ": " + w})
	}
	result.Decision = inject.Decision{Verdict: inject.Inject, Reason: "webhook", Message: "webhook " + l.hook.Name + " injects"}
	switch {
	case !answer.allowed:
		result.Diagnostics = append(result.Diagnostics, &diag.Diagnostic{
			Severity: diag.Error, Message: "webhook " + l.hook.Name + " denies the pod: " + answer.message,
		})
		result.Pod = r.Pod
	case answer.patch == nil:
		const evidence = "it allows the pod as it is"
		result.Decision = inject.Decision{
			Reason: "webhook", Message: "webhook " + l.hook.Name + " allows the pod as it is",
			Rules: []inject.Consulted{{Rule: "webhook " + l.hook.Name, Decided: true, Evidence: evidence}},
		}
		result.Pod = r.Pod
	default:
		result.Pod = undress(result.Pod)
	}
	return result
}

// dress makes of a pod template the pod that its controller would make, as far as
// a webhook reads it: with kind, namespace, and the owner that names the workload.
// undress takes all that off again, and what servers that decode a pod add to it
// without meaning.
func dress(r *inject.Request) (pod *source.Node, undress func(*source.Node) *source.Node) {
	s := source.NewString
	added := map[string]*source.Node{}
	meta := r.Pod.Get("metadata")
	add := func(key string, value *source.Node) {
		if meta.Get(key).IsNull() {
			added[key] = value
		}
	}
	if r.NamespaceName != "" {
		add("namespace", s(r.NamespaceName))
	}
	if r.Owner.Kind != "" && r.Owner.Kind != "Pod" && meta.Get("name").IsNull() {
		add("generateName", s(r.Owner.Name+"-"))
		add("ownerReferences", source.NewList(source.NewMap(
			source.F("apiVersion", s(r.Owner.APIVersion)), source.F("kind", s(r.Owner.Kind)), source.F("name", s(r.Owner.Name)),
			source.F("uid", s("")), source.F("controller", source.NewBool(true)))))
	}
	dressed := meta
	if meta.IsNull() {
		dressed = source.NewMap()
	}
	for _, key := range [...]string{"namespace", "generateName", "ownerReferences"} {
		if added[key] != nil {
			dressed = dressed.With(key, added[key])
		}
	}
	pod = r.Pod.With("metadata", dressed)
	return pod, func(n *source.Node) *source.Node {
		m := n.Get("metadata")
		for key, value := range added {
			if m.Get(key).Equal(value) {
				m = m.Without(key)
			}
		}
		if _, had := meta.Field("creationTimestamp"); !had && m.Get("creationTimestamp").IsNull() {
			m = m.Without("creationTimestamp")
		}
		if meta == nil && m.Len() == 0 {
			n = n.Without("metadata")
		} else {
			n = n.With("metadata", m)
		}
		return withoutEmpty(r.Pod, n)
	}
}

// withoutEmpty leaves out the empty objects that typed servers write where there
// was nothing: status, and resources of containers.
func withoutEmpty(was, now *source.Node) *source.Node {
	if f, ok := now.Field("status"); ok && f.Value.Len() == 0 && was.Get("status") == nil {
		now = now.Without("status")
	}
	for _, list := range [...]string{"containers", "initContainers"} {
		items := slices.Clone(now.Get("spec", list).Items())
		changed := false
		for i, c := range items {
			if f, ok := c.Field("resources"); ok && f.Value.Kind() == source.Map && f.Value.Len() == 0 && !hadResources(was, list, c) {
				items[i], changed = c.Without("resources"), true
			}
		}
		if changed {
			now = now.WithAt(now.Get("spec", list).WithItems(items...), "spec", list)
		}
	}
	return now
}

func hadResources(was *source.Node, list string, container *source.Node) bool {
	for _, c := range was.Get("spec", list).Items() {
		if c.Get("name").Str() == container.Get("name").Str() {
			_, ok := c.Field("resources")
			return ok
		}
	}
	return false
}

// liveAnswer is what a webhook says about a pod.
type liveAnswer struct {
	allowed  bool
	message  string
	patch    []byte // nil for none
	warnings []string
}

// maxAnswer bounds the answer of a webhook, in bytes: twice what the largest
// object has, for a patch in base64.
const maxAnswer = 16 << 20

// ask sends the review of a pod.
func (l *liveHook) ask(pod *source.Node, namespace string) (*liveAnswer, error) {
	ctx, cancel := context.WithTimeout(l.ctx, l.timeout)
	defer cancel()
	uid := rand.Text()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url, bytes.NewReader(reviewOf(l.hook, uid, pod, namespace)))
	if err != nil {
		return nil, fmt.Errorf("asking webhook %s: %w", l.hook.Name, err)
	}
	request.Header.Set("Content-Type", "application/json")
	doing := "asking webhook " + l.hook.Name + " at " + l.where
	response, err := l.client.Do(request)
	if err != nil {
		return nil, l.unanswered(ctx, doing, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, l.unanswered(ctx, doing, err)
	case len(body) > maxAnswer:
		return nil, fmt.Errorf("%s: its answer has more than %d bytes", doing, maxAnswer)
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: it answers %s: %s", doing, response.Status, excerpt(string(body)))
	}
	answer, err := readAnswer(body, uid)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return answer, nil
}

// unanswered says why no answer came, and what may be done about it.
func (l *liveHook) unanswered(ctx context.Context, doing string, err error) error {
	if l.ctx.Err() != nil {
		return l.ctx.Err()
	}
	var request *url.Error // names the URL once more
	if errors.As(err, &request) {
		err = request.Err
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("no answer within %s", l.timeout)
	}
	_, hint := causeOfCall(err.Error(), l.hook)
	var known *cluster.Error
	if hint == "" && errors.As(err, &known) {
		hint = known.Fix
	}
	return &hintedError{fmt.Errorf("%s: %w", doing, err), hint}
}

// reviewOf writes an AdmissionReview of a new pod, in a version that the webhook
// understands.
func reviewOf(h *admit.Hook, uid string, pod *source.Node, namespace string) []byte {
	s := source.NewString
	version := "admission.k8s.io/v1"
	if len(h.ReviewVersions) > 0 && !slices.Contains(h.ReviewVersions, "v1") {
		version = "admission.k8s.io/v1beta1"
	}
	gvk := func(key, value string) *source.Node {
		return source.NewMap(source.F("group", s("")), source.F("version", s("v1")), source.F(key, s(value)))
	}
	if pod.Get("kind").IsNull() {
		pod = pod.With("apiVersion", s("v1")).With("kind", s("Pod"))
	}
	return source.AppendJSON(nil, source.NewMap(
		source.F("kind", s("AdmissionReview")), source.F("apiVersion", s(version)),
		source.F("request", source.NewMap(
			source.F("uid", s(uid)), source.F("kind", gvk("kind", "Pod")), source.F("resource", gvk("resource", "pods")),
			source.F("requestKind", gvk("kind", "Pod")), source.F("requestResource", gvk("resource", "pods")),
			source.F("name", s(pod.Get("metadata", "name").Str())), source.F("namespace", s(namespace)), source.F("operation", s("CREATE")),
			source.F("userInfo", source.NewMap()), source.F("object", pod), source.F("oldObject", source.NewNull()),
			source.F("dryRun", source.NewBool(true)), source.F("options", source.NewNull())))))
}

// readAnswer reads an AdmissionReview with a response.
func readAnswer(body []byte, uid string) (*liveAnswer, error) {
	doc, err := source.Parse(source.NewText("answer", body))
	if err != nil || doc.Root.Get("kind").Str() != "AdmissionReview" || doc.Root.Get("response").Kind() != source.Map {
		return nil, fmt.Errorf("its answer is no AdmissionReview: %s", excerpt(string(body)))
	}
	r := doc.Root.Get("response")
	// Releases before 1.5 do not repeat the uid, which v1beta1 does not want.
	if got := r.Get("uid").Str(); got != uid && got != "" {
		return nil, errors.New("its answer is to another review")
	}
	a := &liveAnswer{allowed: r.Get("allowed").IsTrue(), message: r.Get("status", "message").Str()}
	if a.message == "" {
		a.message = "it does not say why"
	}
	for _, w := range r.Get("warnings").Items() {
		a.warnings = append(a.warnings, w.Str())
	}
	if p := r.Get("patch"); !p.IsNull() && p.Str() != "" {
		if kind := r.Get("patchType").Str(); kind != "JSONPatch" {
			return nil, fmt.Errorf("its patch is of type %q, not JSONPatch", kind)
		}
		if a.patch, err = base64.StdEncoding.DecodeString(p.Str()); err != nil {
			return nil, fmt.Errorf("its patch is no base64: %w", err)
		}
		if bytes.Equal(bytes.TrimSpace(a.patch), []byte("[]")) || bytes.Equal(bytes.TrimSpace(a.patch), []byte("{}")) {
			a.patch = nil
		}
	}
	return a, nil
}
