package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ingraft/ingraft/internal/certs"
	"github.com/ingraft/ingraft/internal/cluster"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/metrics"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/upkeep"
	"github.com/ingraft/ingraft/internal/webhook"
)

// serve is one run of the command injector serve.
type serve struct {
	*kubeInject
	listen, monitoring string
	certFile, keyFile  string
	caFile             string
	names              []string
	onError, cacheSize string
	drain              time.Duration
	pprof              bool
	// secret and webhookConfigs name what is kept in the cluster.
	secret         string
	webhookConfigs []string
	// events says to write Events, and missedEvery how often to count pods that were
	// missed, 0 for never.
	events      bool
	missedEvery time.Duration
	// configRevision is the revision of the ConfigMaps, where it is another than
	// that of the injector.
	configRevision string

	cacheBytes int64
	log        *slog.Logger
	registry   metrics.Registry
	handler    *webhook.Handler
	reloader   *webhook.Reloader
	// serving is the certificate to serve with.
	serving      atomic.Pointer[tls.Certificate]
	certificates *metrics.Counters
	// ctx ends what goes on in the background.
	ctx context.Context
	// cluster is nil where there is none, or nothing of it is needed.
	cluster *watched
	// loaded is what the configuration was made of last.
	loaded *pieces
	// engine is the one in use.
	engine atomic.Pointer[inject.Engine]
	// keeper keeps what is in the cluster; nil where nothing is.
	keeper *upkeep.Keeper
}

// drainTime is how long an injector that ends goes on serving: what a
// cluster needs to tell everybody that a pod is gone.
const drainTime = 10 * time.Second

// graceTime bounds the wait for answers under way: an API server waits for 30
// seconds at most.
const graceTime = 30 * time.Second

// lookInterval is how often files are looked at: what changes is applied within
// two seconds.
const lookInterval = time.Second

func (a *app) injectorServeCommand() *cobra.Command {
	s := &serve{kubeInject: &kubeInject{app: a, warnings: "on"}}
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve the admission webhook that injects the sidecar into new pods",
		Long: `serve answers the reviews of an API server, as kube-inject answers for files: with
the same engine, and so with the same pod.

The configuration comes from files, which are watched; else, where a cluster is
configured or the command runs in a pod, from the ConfigMaps of the control
plane, which are watched, too; else from the built-in defaults. One that is
broken is refused, and the one before stays. The certificate comes from files,
which are watched; else ingraft makes an authority of its own, and keeps it in
the Secret that --secret names, for all replicas, or in memory.

/inject and below take reviews; /healthz, /readyz and /metrics are on the
monitoring port. The log is JSON, on standard error, one line an admission.`,
		Example: `  # Serve with the certificate of cert-manager and the control plane's mounted ConfigMaps
  ` + a.name + ` injector serve --tls-cert-file tls.crt --tls-key-file tls.key \
    --injectConfigFile /etc/istio/inject/config --valuesFile /etc/istio/inject/values --meshConfigFile /etc/istio/config/mesh

  # In a pod: with the control plane's ConfigMaps, and a certificate of its own
  ` + a.name + ` injector serve --secret ingraft-injector --webhook-config ingraft-injector --dns-name ingraft-injector.ingraft.svc

  # Try it on this machine
  ` + a.name + ` injector serve --listen 127.0.0.1:15017 --ca-file ca.crt`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := s.check(); err != nil {
				return err
			}
			return s.run(c.Context())
		},
	}
	s.registerConfig(c)
	f := c.Flags()
	f.StringVar(&s.listen, "listen", ":15017", "address of the webhook")
	f.StringVar(&s.monitoring, "monitoring-listen", ":15014", "address of health and metrics; empty for none")
	f.StringVar(&s.certFile, "tls-cert-file", "", "file with the certificate to serve with, PEM")
	f.StringVar(&s.keyFile, "tls-key-file", "", "file with its key, PEM")
	f.StringVar(&s.caFile, "ca-file", "", "file to write the certificates of ingraft's own authority to, PEM")
	f.StringSliceVar(&s.names, "dns-name", nil, "name or IP address for ingraft's own certificate, beside localhost (repeatable)")
	f.StringVar(&s.configRevision, "config-revision", "", "revision of the ConfigMaps, default for those without; empty for --revision")
	f.StringVar(&s.secret, "secret", "", "Secret, in --namespace, to keep ingraft's own certificate in; and Lease by which replicas agree who does")
	f.StringSliceVar(&s.webhookConfigs, "webhook-config", nil, "MutatingWebhookConfiguration whose caBundle to keep right (repeatable)")
	f.BoolVar(&s.events, "events", false, "write Events about pods that are denied or get warnings, bounded in rate")
	f.DurationVar(&s.missedEvery, "missed-every", 0, "how often to count pods that should have a sidecar and do not, for a metric; 0 for never")
	f.StringVar(&s.onError, "on-error", "deny", "what becomes of a pod that cannot be injected into: deny, or allow: it is made as it is, with a warning")
	f.StringVar(&s.cacheSize, "cache-size", "32Mi", "memory for answers to replicas, 0 for none")
	f.DurationVar(&s.drain, "drain", drainTime, "how long to go on serving once told to end")
	f.BoolVar(&s.pprof, "pprof", false, "serve profiles on the monitoring port, at /debug/pprof/")
	s.registerNative(c)
	return c
}

func (s *serve) check() error {
	if err := s.checkGeneration(); err != nil {
		return err
	}
	if err := s.checkNativeFlags(); err != nil {
		return err
	}
	if s.onError != "deny" && s.onError != "allow" {
		return usagef("--on-error %q is not deny or allow", s.onError)
	}
	size, err := resource.ParseQuantity(s.cacheSize)
	if err != nil || size.Sign() < 0 {
		return usagef("--cache-size %q is no amount of memory", s.cacheSize).hinted("Write for example 32Mi.")
	}
	s.cacheBytes = size.Value()
	if (s.certFile == "") != (s.keyFile == "") {
		return usagef("--tls-cert-file and --tls-key-file go together")
	}
	if s.certFile != "" && (s.caFile != "" || len(s.names) > 0) {
		return usagef("--ca-file and --dns-name are about a certificate of ingraft's own, but --tls-cert-file gives another")
	}
	if s.certFile != "" && s.secret != "" {
		return usagef("--secret is about a certificate of ingraft's own, but --tls-cert-file gives another")
	}
	if s.caFile != "" && s.secret != "" {
		return usagef("--ca-file and --secret are two places for one thing").hinted("The Secret has it as ca.crt.")
	}
	if len(s.webhookConfigs) > 0 && s.secret == "" {
		return usagef("--webhook-config needs --secret, which says what its caBundle has to be")
	}
	s.revisionGiven = s.revision != ""
	if s.drain < 0 {
		return usagef("--drain is negative")
	}
	if s.missedEvery < 0 || s.missedEvery > 0 && s.missedEvery < leastMissedEvery {
		return usagef("--missed-every %s is less than %s", s.missedEvery, leastMissedEvery).hinted("All pods of the cluster are read each time: write for example 5m, or 0 for never.")
	}
	return nil
}

func (s *serve) run(ctx context.Context) error {
	s.log = s.logger()
	background, stop := context.WithCancel(ctx)
	defer stop()
	s.ctx = background
	if err := s.findCluster(); err != nil {
		return err
	}
	options := webhook.Options{
		Log: s.log, Metrics: webhook.NewMetrics(&s.registry), AllowOnError: s.onError == "allow",
		CacheBytes: int(s.cacheBytes), Now: s.Now,
	}
	if s.events {
		options.Notice = s.cluster.notices()
	}
	s.handler = webhook.New(options)
	s.reloader = &webhook.Reloader{Load: s.load, Handler: s.handler, Log: s.log, Now: s.Now}
	s.registerMetrics()
	files := webhook.NewFiles(s.paths(s.injectConfigFile, s.meshConfigFile, s.valuesFile)...)
	if err := s.reloader.Reload(ctx); err != nil {
		return fmt.Errorf("loading the configuration: %w", err)
	}
	hook, err := net.Listen("tcp", s.listen)
	if err != nil {
		return fmt.Errorf("listening on --listen %s: %w", s.listen, err)
	}
	defer hook.Close()
	keep, resign, err := s.certificate(hook.Addr())
	if err != nil {
		return err
	}
	server := &webhook.Server{
		Hook: s.handler, Webhook: hook, Metrics: &s.registry, Pprof: s.pprof, Log: s.log, Drain: s.drain, Grace: graceTime,
		Certificate: func() (*tls.Certificate, error) {
			if c := s.serving.Load(); c != nil {
				return c, nil
			}
			return nil, errNoCertificate
		},
		Ready: func() error {
			switch c := s.serving.Load(); {
			case !s.handler.Installed():
				return errors.New("there is no configuration yet")
			case c == nil:
				return errNoCertificate
			case s.Now().After(c.Leaf.NotAfter):
				return errors.New("its certificate has expired")
			}
			return nil
		},
	}
	started := []any{"webhook", hook.Addr().String()}
	if s.monitoring != "" {
		if server.Monitoring, err = net.Listen("tcp", s.monitoring); err != nil {
			return fmt.Errorf("listening on --monitoring-listen %s: %w", s.monitoring, err)
		}
		defer server.Monitoring.Close()
		started = append(started, "monitoring", server.Monitoring.Addr().String())
	}
	if s.missedEvery > 0 {
		s.cluster.countMissed(background)
	}
	s.log.Info("serving", started...)

	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.watch(background, files, keep)
	}()
	err = server.Run(ctx)
	stop()
	<-ended
	resign()
	s.log.Info("ended")
	return err
}

var errNoCertificate = errors.New("there is no certificate yet")

// findCluster connects to the cluster where something is to come from it, or
// to be kept in it.
func (s *serve) findCluster() error {
	for _, needs := range []struct {
		given bool
		what  string
	}{
		{s.secret != "", "keeping a certificate in --secret " + s.secret},
		{s.events, "writing --events"},
		{s.missedEvery > 0, "counting pods for --missed-every"},
	} {
		if !needs.given || s.cluster != nil {
			continue
		}
		var err error
		if s.cluster, err = s.connect(); err != nil {
			return err
		}
		if s.cluster == nil {
			return &hintedError{fmt.Errorf("%s: %w", needs.what, cluster.ErrNotConfigured), "Give --kubeconfig, or run it in a pod with a service account."}
		}
	}
	if s.cluster != nil || s.injectConfigFile != "" {
		return nil
	}
	var err error
	s.cluster, err = s.connect()
	return err
}

// paths returns files as they are found from the folder that the command runs
// in, empty ones left out.
func (s *serve) paths(files ...string) []string {
	var out []string
	for _, f := range files {
		if f != "" {
			out = append(out, s.path(f))
		}
	}
	return out
}

// watch looks after files and certificates until the context ends.
func (s *serve) watch(ctx context.Context, files *webhook.Files, keep func()) {
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	var objects chan struct{}
	if s.cluster != nil {
		objects = s.cluster.changed
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-objects:
			if p, err := s.pieces(ctx); err == nil && p.same(s.loaded) {
				continue
			}
			_ = s.reloader.Reload(ctx) // it has told
		case <-tick.C:
			if files.Changed() {
				_ = s.reloader.Reload(ctx)
			}
			keep()
		}
	}
}

func (s *serve) registerMetrics() {
	s.reloader.Register(&s.registry)
	s.certificates = s.registry.Counters("ingraft_certificate_reloads_total", "Serving certificates that were made or loaded, by result (applied, refused).", "result")
	s.registry.Gauge("ingraft_certificate_expiry_timestamp_seconds", "When the serving certificate ends, in seconds since 1970.", func() (float64, bool) {
		c := s.serving.Load()
		if c == nil {
			return 0, false
		}
		return float64(c.Leaf.NotAfter.Unix()), true
	})
	s.registry.Gauge("ingraft_replica_cache_bytes", "Memory that the cache of replicas takes, in bytes.", func() (float64, bool) {
		size, _ := s.handler.CacheUsed()
		return float64(size), true
	})
	s.registry.Gauge("ingraft_replica_cache_entries", "Answers in the cache of replicas.", func() (float64, bool) {
		_, entries := s.handler.CacheUsed()
		return float64(entries), true
	})
	started := float64(s.Now().Unix())
	s.registry.Gauge("process_start_time_seconds", "When the process started, in seconds since 1970.", func() (float64, bool) { return started, true })
}

// logger returns a logger that writes JSON, at the level that the flags say.
func (s *serve) logger() *slog.Logger {
	level := slog.LevelInfo
	for entry := range strings.SplitSeq(s.globals.logging.level, ",") {
		if scope, name := splitScope(entry); scope == "default" || scope == "all" {
			switch name {
			case "debug":
				level = slog.LevelDebug
			case "warn":
				level = slog.LevelWarn
			case "error", "fatal":
				level = slog.LevelError
			case "none":
				level = slog.LevelError + 1
			}
		}
	}
	return slog.New(slog.NewJSONHandler(s.Stderr, &slog.HandlerOptions{Level: level}))
}

// pieces gets the parts of the configuration: from files, else from the
// cluster, else the built-in ones.
func (s *serve) pieces(ctx context.Context) (*pieces, error) {
	if s.injectConfigFile != "" {
		return s.ownFiles(s.injectConfigFile, s.meshConfigFile, s.valuesFile)
	}
	p := &pieces{}
	err := s.ownPieces(p)
	if err == nil && s.cluster != nil {
		err = s.cluster.readPieces(ctx, p)
	}
	if err == nil {
		err = s.fromBuiltin(p)
	}
	return p, err
}

// load gets the configuration, and compiles it.
func (s *serve) load(ctx context.Context) (*webhook.Installation, error) {
	p, err := s.pieces(ctx)
	if err != nil {
		return nil, err
	}
	s.loaded = p
	set, list := s.kubeInject.load(p)
	if set == nil {
		return nil, mistakes(list)
	}
	engine, found := inject.Compile(set.Injection, set.Mesh, set.Values, inject.Options{Release: set.Detected.Release, Eager: true})
	if engine == nil {
		return nil, mistakes(found)
	}
	for _, d := range append(list, found...) {
		s.log.Warn("the configuration", "finding", d.Error(), "fix", d.Fix)
	}
	native, _ := s.nativeWithoutNodes()
	s.engine.Store(engine)
	i := &webhook.Installation{
		Engine: engine, Revision: s.revision, Getenv: s.engineEnv,
		Native: func(*source.Node) bool { return native },
	}
	if w := s.cluster; w != nil {
		if err := w.learn(ctx, set); err != nil {
			return nil, err
		}
		if w.nodes.Load() != nil {
			i.Native = func(pod *source.Node) bool { return w.nodes.Load().Native(pod.Get("spec", "nodeName").Str()) }
		}
		if w.proxies != nil {
			i.ProxyConfigs = w.proxies.current.Load
		}
		if w.spaces != nil {
			i.Namespace = w.spaces.get
		}
	}
	return i, nil
}

// ownPieces reads mesh configuration and values from files where these are
// given without an injection configuration.
func (s *serve) ownPieces(p *pieces) error {
	for _, f := range []struct {
		name string
		to   *piece
	}{{s.meshConfigFile, &p.mesh}, {s.valuesFile, &p.values}} {
		if f.name == "" {
			continue
		}
		data, err := os.ReadFile(s.path(f.name))
		if err != nil {
			return fmt.Errorf("reading %s: %w", f.name, because(err))
		}
		*f.to = piece{source.NewText(f.name, data), "file " + f.name, fromFile}
	}
	return nil
}

// mistakes is an error that tells all errors of a list.
func mistakes(list diag.List) error {
	var all []error
	for _, d := range list {
		if d.Severity == diag.Error {
			all = append(all, d)
		}
	}
	return errors.Join(all...)
}

// certificate gets the certificate to serve with. It returns what is to be
// called from time to time to keep it fresh, and what at the end.
func (s *serve) certificate(addr net.Addr) (keep, resign func(), err error) {
	if s.certFile != "" {
		keep, err = s.certificateOfFiles()
		return keep, func() {}, err
	}
	names := append([]string{"localhost"}, s.names...)
	ips := []string{"127.0.0.1", "::1"}
	if tcp, ok := addr.(*net.TCPAddr); ok && !tcp.IP.IsUnspecified() && !slices.Contains(ips, tcp.IP.String()) && s.secret == "" {
		ips = append(ips, tcp.IP.String())
	}
	names = append(names, ips...)
	if s.secret != "" {
		k := s.cluster.newKeeper(names)
		s.keeper = k
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			k.Run(s.ctx)
		}()
		return func() {}, func() {
			<-ended
			bounded, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), resignTime)
			defer cancel()
			if err := k.Resign(bounded); err != nil {
				s.log.Warn("giving the Lease back", "error", err.Error())
			}
		}, nil
	}
	keep, err = s.certificateOfItsOwn(names)
	return keep, func() {}, err
}

// resignTime bounds the last request of an injector that ends.
const resignTime = 3 * time.Second

// certificateOfItsOwn makes certificates and keeps them in memory.
func (s *serve) certificateOfItsOwn(names []string) (keep func(), err error) {
	var state *certs.State
	renew := func() error {
		next, err := certs.DefaultPolicy.Next(state, names, s.Now())
		if err != nil || next == state {
			return err
		}
		if s.caFile != "" {
			if err := (&target{path: s.path(s.caFile)}).replace(bytes.NewReader(next.Bundle())); err != nil {
				return fmt.Errorf("writing --ca-file %s: %w", s.caFile, because(err))
			}
		}
		state = next
		s.serve(state.Serving())
		return nil
	}
	if err := renew(); err != nil {
		return nil, err
	}
	return func() {
		if err := renew(); err != nil {
			s.certificates.With("refused").Add(1)
			s.log.Error("the certificate is not renewed", "error", err.Error())
		}
	}, nil
}

// serve makes a certificate the one that is served with.
func (s *serve) serve(c *tls.Certificate) {
	s.serving.Store(c)
	s.certificates.With("applied").Add(1)
	s.log.Info("serving with a new certificate", "expires", c.Leaf.NotAfter, "names", c.Leaf.DNSNames)
}

func (s *serve) certificateOfFiles() (keep func(), err error) {
	files := webhook.NewFiles(s.path(s.certFile), s.path(s.keyFile))
	read := func() error {
		c, err := tls.LoadX509KeyPair(s.path(s.certFile), s.path(s.keyFile))
		if err != nil {
			return fmt.Errorf("reading --tls-cert-file %s and --tls-key-file %s: %w", s.certFile, s.keyFile, because(err))
		}
		s.serve(&c)
		return nil
	}
	if err := read(); err != nil {
		return nil, err
	}
	return func() {
		if !files.Changed() {
			return
		}
		if err := read(); err != nil {
			s.certificates.With("refused").Add(1)
			s.log.Error("the certificate is refused; the one before stays", "error", err.Error())
		}
	}, nil
}
