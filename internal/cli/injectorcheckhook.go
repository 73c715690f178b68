package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ingraft/ingraft/internal/admit"
	"github.com/ingraft/ingraft/internal/cluster"
	"github.com/ingraft/ingraft/internal/source"
)

// soon is how long before its end a certificate is worth a warning: ingraft and
// the mesh replace theirs long before.
const soon = 7 * 24 * time.Hour

var (
	endpointSliceResource = schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}
	secretResource        = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
)

// configuration checks one webhook configuration, and what its webhooks lead to.
func (k *injectorCheck) configuration(ctx context.Context, name string) {
	var hooks []admit.Hook
	for _, h := range k.hooks {
		if h.Configuration == name {
			hooks = append(hooks, h)
		}
	}
	k.webhooks(name, hooks)
	var targets []string
	for i := range hooks {
		h := &hooks[i]
		target := h.Service + " " + h.URL + " " + h.CABundle
		if slices.Contains(targets, target) {
			continue
		}
		targets = append(targets, target)
		roots := k.bundle(h)
		var pods []*source.Node
		if h.Service != "" {
			pods = k.service(ctx, h, roots)
		} else {
			k.outside(ctx, h, roots)
		}
		k.configured(ctx, h, pods)
		k.rights(ctx, h, pods)
	}
}

// webhooks looks at what the configuration says itself.
func (k *injectorCheck) webhooks(name string, hooks []admit.Hook) {
	const check = "webhooks"
	found := len(k.findings)
	for i := range hooks {
		h := &hooks[i]
		object := name
		if len(hooks) > 1 {
			object += " " + h.Name
		}
		if a := h.Ask(source.NewMap(), nil); a.Verdict == admit.NotAsked && a.Rules[len(a.Rules)-1].Rule == "webhook: rules" {
			k.say("error", check, object, "it is not asked about new pods: "+a.Rules[len(a.Rules)-1].Evidence, "Let its rules list CREATE of pods of apiGroups [\"\"], apiVersions [v1].")
		}
		switch h.SideEffects {
		case "None", "NoneOnDryRun":
		default:
			k.say("warning", check, object, "sideEffects is "+strconv.Quote(h.SideEffects)+": kubectl's --dry-run=server fails where it is asked", "Set sideEffects to None.")
		}
		if len(h.ReviewVersions) > 0 && !slices.Contains(h.ReviewVersions, "v1") && !slices.Contains(h.ReviewVersions, "v1beta1") {
			k.say("error", check, object, "it understands no review that API servers send: admissionReviewVersions has "+strings.Join(h.ReviewVersions, ", "), "Write v1, v1beta1.")
		}
	}
	if ignoring := slices.IndexFunc(hooks, func(h admit.Hook) bool { return !h.Fails }); ignoring >= 0 {
		k.say("warning", check, name, "failurePolicy of "+hooks[ignoring].Name+" is Ignore: while the injector does not answer, pods are made without a sidecar, and nobody is told",
			"Set it to Fail, or look for such pods with 'ingraft injector missed -A'.")
	}
	if len(k.findings) == found {
		h := &hooks[0]
		k.say("ok", check, name, fmt.Sprintf("%s, revision %s, failurePolicy Fail, timeout %d s", plural(len(hooks), "webhook"), revisionOf(h), h.Timeout), "")
	}
}

func revisionOf(h *admit.Hook) string {
	if h.Revision == "" {
		return "default"
	}
	return h.Revision
}

// bundle looks at the certificates that the API server trusts the webhook by, and
// returns them; nil where there are none.
func (k *injectorCheck) bundle(h *admit.Hook) *x509.CertPool {
	const check = "caBundle"
	const keep = "Let the injector keep caBundle right (ingraft: --webhook-config; mesh: see that istiod runs and may patch it), or write the certificates of its authority into it."
	object := h.Configuration
	if h.CABundle == "" {
		if h.Service == "" {
			k.say("warning", check, object, "caBundle is empty: the webhook is trusted only if an authority of the API server's system signed its certificate", keep)
			return nil
		}
		k.say("error", check, object, "caBundle is empty: the API server does not trust the injector. Usual cause: the manifest was applied again, and nobody fills it in", keep)
		return nil
	}
	data, err := base64.StdEncoding.DecodeString(h.CABundle)
	var list []*x509.Certificate
	for rest := data; err == nil; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		var c *x509.Certificate
		if c, err = x509.ParseCertificate(block.Bytes); err == nil {
			list = append(list, c)
		}
	}
	if err == nil && len(list) == 0 {
		err = errors.New("it holds no certificate in PEM")
	}
	if err != nil {
		k.say("error", check, object, "caBundle cannot be read: "+err.Error(), keep)
		return nil
	}
	pool, last := x509.NewCertPool(), time.Time{}
	for _, c := range list {
		pool.AddCert(c)
		if c.NotAfter.After(last) {
			last = c.NotAfter
		}
	}
	switch now := k.Now(); {
	case now.After(last):
		k.say("error", check, object, "all certificates of caBundle have expired, the last one on "+day(last), keep)
	case now.Add(soon).After(last):
		k.say("warning", check, object, "the last certificate of caBundle expires on "+day(last), keep)
	default:
		k.say("ok", check, object, fmt.Sprintf("%s, the last one until %s", plural(len(list), "certificate"), day(last)), "")
	}
	return pool
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }

// service looks at the Service of a webhook, its endpoints, and the certificates
// that the pods serve with. It returns the pods.
func (k *injectorCheck) service(ctx context.Context, h *admit.Hook, roots *x509.CertPool) []*source.Node {
	const check = "service"
	namespace, name, _ := strings.Cut(h.Service, "/")
	service, err := k.client.Get(ctx, serviceResource, namespace, name)
	switch {
	case cluster.IsKind(err, cluster.NotFound):
		k.say("error", check, h.Service, "it does not exist, so that every pod that the webhook is asked about is refused, or made without a sidecar where failurePolicy is Ignore",
			"Apply the manifest of the injector again, or delete webhook configuration "+h.Configuration+".")
		return nil
	case err != nil:
		k.failed(ctx, check, h.Service, err)
	}
	var ports []string
	found := false
	for _, p := range service.Get("spec", "ports").Items() {
		n, _ := p.Get("port").Int()
		ports = append(ports, strconv.FormatInt(n, 10))
		found = found || n == h.Port
	}
	switch {
	case err != nil:
	case !found:
		k.say("error", check, h.Service, fmt.Sprintf("it has no port %d, which the webhook configuration names; it has %s", h.Port, strings.Join(append(ports, "none")[:max(1, len(ports))], ", ")),
			"Give the Service that port, or name its own in the webhook configuration.")
	default:
		k.say("ok", check, h.Service, fmt.Sprintf("port %d", h.Port), "")
	}
	var pods []*source.Node
	if selector := selectorOf(service); selector != "" {
		if pods, err = k.client.PodsOf(ctx, namespace, selector); err != nil {
			k.failed(ctx, "pods", h.Service, err)
		}
	}
	k.endpoints(ctx, h, pods)
	if service != nil {
		k.serving(ctx, h, service, pods, roots)
	}
	return pods
}

// endpoints counts the endpoints of a Service.
func (k *injectorCheck) endpoints(ctx context.Context, h *admit.Hook, pods []*source.Node) {
	const check = "endpoints"
	namespace, name, _ := strings.Cut(h.Service, "/")
	ready, all := 0, 0
	for slice, err := range k.client.List(ctx, endpointSliceResource, namespace, cluster.ListOptions{LabelSelector: "kubernetes.io/service-name=" + name}) {
		if err != nil {
			k.failed(ctx, check, h.Service, err)
			return
		}
		for _, e := range slice.Get("endpoints").Items() {
			all++
			if r := e.Get("conditions", "ready"); r.IsNull() || r.IsTrue() {
				ready++
			}
		}
	}
	if ready > 0 {
		k.say("ok", check, h.Service, fmt.Sprintf("%d of %d ready", ready, all), "")
		return
	}
	var why []string
	for _, p := range pods {
		if !podReady(p) && len(why) < 3 {
			why = append(why, nameOfObject(p)+": "+podTrouble(p))
		}
	}
	message := "no ready endpoint: there is none at all"
	switch {
	case all > 0:
		message = fmt.Sprintf("no ready endpoint: %d are there, and none is ready", all)
	case len(pods) == 0:
		message += ", and no pod that the Service selects"
	}
	if len(why) > 0 {
		message += " (" + strings.Join(why, "; ") + ")"
	}
	k.say("error", check, h.Service, message, "See that the injector's Deployment runs: kubectl -n "+namespace+" describe pods says why they are not ready.")
}

// podTrouble says why a pod is not ready, as kubectl get pods does.
func podTrouble(p *source.Node) string {
	for _, s := range p.Get("status", "containerStatuses").Items() {
		for _, state := range [...]string{"waiting", "terminated"} {
			if reason := s.Get("state", state, "reason").Str(); reason != "" {
				return reason
			}
		}
	}
	if phase := p.Get("status", "phase").Str(); phase != "Running" && phase != "" {
		return phase
	}
	return "not ready"
}

// maxServing is how many pods are asked for their certificate.
const maxServing = 5

// serving looks at the certificates that the pods of a Service serve with.
func (k *injectorCheck) serving(ctx context.Context, h *admit.Hook, service *source.Node, pods []*source.Node, roots *x509.CertPool) {
	const check = "certificate"
	asked := 0
	for _, p := range pods {
		if !podReady(p) || asked == maxServing {
			continue
		}
		asked++
		object := p.Get("metadata", "namespace").Str() + "/" + nameOfObject(p)
		port, ok := targetPort(service, p, h.Port)
		if !ok {
			continue // the Service was found wrong
		}
		conn, err := k.client.DialPod(ctx, p.Get("metadata", "namespace").Str(), nameOfObject(p), port)
		if cluster.IsKind(err, cluster.Forbidden) {
			k.stored(ctx, h, pods, roots, err)
			return
		}
		var chain []*x509.Certificate
		if err == nil {
			chain, err = peerCertificates(ctx, conn)
		}
		if err != nil {
			if ctx.Err() != nil {
				k.failed(ctx, check, object, err)
				return
			}
			k.say("error", check, object, fmt.Sprintf("port %d does not take a TLS connection: %v", port, err), "Look at the log of the pod: it says what keeps the injector from serving.")
			continue
		}
		k.certificate(object, h, chain, roots)
	}
}

// peerCertificates shakes hands, and returns the certificates that the other end
// shows. It trusts any: who is asked is what is to be found out.
func peerCertificates(ctx context.Context, conn net.Conn) ([]*x509.Certificate, error) {
	defer conn.Close()
	bounded, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	c := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}) //nolint:gosec // it is checked by certificate
	if err := c.HandshakeContext(bounded); err != nil {
		return nil, err
	}
	return c.ConnectionState().PeerCertificates, nil
}

// handshakeTime bounds a TLS handshake.
const handshakeTime = 10 * time.Second

// stored looks at the certificate in ingraft's Secret, where pods cannot be asked.
func (k *injectorCheck) stored(ctx context.Context, h *admit.Hook, pods []*source.Node, roots *x509.CertPool, denied error) {
	const check = "certificate"
	secret := podFlag(pods, "secret")
	if secret == "" {
		k.failed(ctx, check, h.Service, denied)
		return
	}
	namespace, _, _ := strings.Cut(h.Service, "/")
	object, err := k.client.Get(ctx, secretResource, namespace, secret)
	if err != nil {
		k.failed(ctx, check, h.Service, fmt.Errorf("%w, and %w", denied, err))
		return
	}
	data, err := base64.StdEncoding.DecodeString(object.Get("data", "tls.crt").Str())
	block, _ := pem.Decode(data)
	if err == nil && block == nil {
		err = errors.New("key tls.crt holds no certificate")
	}
	var leaf *x509.Certificate
	if err == nil {
		leaf, err = x509.ParseCertificate(block.Bytes)
	}
	if err != nil {
		k.say("error", check, "secret "+namespace+"/"+secret, err.Error(), "Delete the Secret while no replica runs: the injector makes another one.")
		return
	}
	k.certificate("secret "+namespace+"/"+secret, h, []*x509.Certificate{leaf}, roots)
}

// certificate judges what an injector serves with: its time, its names, and whether
// caBundle trusts it.
func (k *injectorCheck) certificate(object string, h *admit.Hook, chain []*x509.Certificate, roots *x509.CertPool) {
	const check = "certificate"
	if len(chain) == 0 {
		k.say("error", check, object, "it shows no certificate", "See what listens there.")
		return
	}
	leaf, now := chain[0], k.Now()
	name := serverName(h)
	if name == "" {
		if u, err := url.Parse(h.URL); err == nil {
			name = u.Hostname()
		}
	}
	bad := false
	say := func(status, message, fix string) {
		bad = true
		k.say(status, check, object, message, fix)
	}
	switch {
	case now.After(leaf.NotAfter):
		say("error", "it expired on "+day(leaf.NotAfter), "Look at the injector's log for why the certificate is not renewed.")
	case now.Before(leaf.NotBefore):
		say("error", "it is valid from "+day(leaf.NotBefore)+" on only", "Set the clocks right.")
	case now.Add(soon).After(leaf.NotAfter):
		say("warning", "it expires on "+day(leaf.NotAfter)+", and was not renewed yet", "Look at the injector's log for why the certificate is not renewed.")
	}
	if err := leaf.VerifyHostname(name); err != nil {
		say("error", fmt.Sprintf("it is not for %s, the name that the API server asks for, but for %s", name, strings.Join(namesOf(leaf), ", ")), "Give the injector a certificate for that name (ingraft: --dns-name).")
	}
	if roots != nil {
		between := x509.NewCertPool()
		for _, c := range chain[1:] {
			between.AddCert(c)
		}
		// Its time and its names were looked at.
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: leaf.NotBefore.Add(time.Second), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
			say("error", fmt.Sprintf("caBundle of %s does not trust it: it was issued by %q", h.Configuration, leaf.Issuer.String()), "Let the injector keep caBundle right, or write the certificates of its authority into it. Usual cause: two injectors share the webhook configuration, or its authority was made anew.")
		}
	}
	if !bad {
		k.say("ok", check, object, fmt.Sprintf("for %s, until %s", name, day(leaf.NotAfter)), "")
	}
}

func namesOf(c *x509.Certificate) []string {
	names := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		names = []string{"no name at all"}
	}
	return names
}

// outside looks at a webhook outside the cluster, from here.
func (k *injectorCheck) outside(ctx context.Context, h *admit.Hook, roots *x509.CertPool) {
	const check = "certificate"
	u, err := url.Parse(h.URL)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		k.say("error", "webhooks", h.Configuration, "its url "+strconv.Quote(h.URL)+" is not https://host[:port]/path", "Mend clientConfig.url.")
		return
	}
	address := u.Host
	if u.Port() == "" {
		address = net.JoinHostPort(u.Hostname(), "443")
	}
	bounded, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(bounded, "tcp", address)
	if err == nil {
		var chain []*x509.Certificate
		if chain, err = peerCertificates(bounded, conn); err == nil {
			k.certificate(h.URL, h, chain, roots)
			return
		}
	}
	if ctx.Err() != nil {
		k.failed(ctx, check, h.URL, err)
		return
	}
	k.say("warning", check, h.URL, "it cannot be reached from here: "+err.Error(), "See that the injector runs there. The API server may still reach it: the pod below tells.")
}

// podFlag returns the value of a flag that the pods of an injector of ingraft are
// run with, "" for none.
func podFlag(pods []*source.Node, flag string) string {
	for _, p := range pods {
		for _, c := range p.Get("spec", "containers").Items() {
			args := append(slices.Clone(c.Get("command").Items()), c.Get("args").Items()...)
			for i, a := range args {
				if value, ok := strings.CutPrefix(a.Str(), "--"+flag+"="); ok {
					return value
				}
				if a.Str() == "--"+flag && i+1 < len(args) {
					return args[i+1].Str()
				}
			}
		}
	}
	return ""
}
