package config

import (
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
)

// The types of the mesh configuration that ingraft has are those of the newest
// release. This file knows what older ones had besides, and what they took for
// granted.

// Former holds the fields of a mesh configuration that later releases dropped,
// as far as injection ever read them.
type Former struct {
	Mesh  FormerMesh
	Proxy FormerProxy
}

// FormerMesh holds fields that MeshConfig had.
type FormerMesh struct {
	MixerCheckServer    string `protobuf:"bytes,1,opt,name=mixer_check_server,json=mixerCheckServer"`
	MixerReportServer   string `protobuf:"bytes,2,opt,name=mixer_report_server,json=mixerReportServer"`
	DisablePolicyChecks bool   `protobuf:"varint,3,opt,name=disable_policy_checks,json=disablePolicyChecks"`
	SdsUdsPath          string `protobuf:"bytes,20,opt,name=sds_uds_path,json=sdsUdsPath"`
	EnableSdsTokenMount bool   `protobuf:"varint,25,opt,name=enable_sds_token_mount,json=enableSdsTokenMount"`
	SdsUseK8SSaJwt      bool   `protobuf:"varint,29,opt,name=sds_use_k8s_sa_jwt,json=sdsUseK8sSaJwt"`
}

// FormerProxy holds fields that ProxyConfig had.
type FormerProxy struct {
	ParentShutdownDuration *durationpb.Duration `protobuf:"bytes,5,opt,name=parent_shutdown_duration,json=parentShutdownDuration"`
	ConnectTimeout         *durationpb.Duration `protobuf:"bytes,9,opt,name=connect_timeout,json=connectTimeout"`
	// Lightstep holds what its tracing settings had.
	Lightstep FormerLightstep
}

// FormerLightstep holds fields that the settings of Lightstep tracing had.
type FormerLightstep struct {
	Secure     bool   `protobuf:"varint,3,opt,name=secure"`
	CacertPath string `protobuf:"bytes,4,opt,name=cacert_path,json=cacertPath"`
}

// isFormerField tells the fields at any place of a mesh configuration that a
// release before the newest had.
func isFormerField(name string) bool {
	switch name {
	case "authPolicy", "cacertPath", "connectTimeout", "disableMixerHttpReports", "disablePolicyChecks",
		"disableReportBatch", "egressProxyAddress", "enableClientSidePolicyCheck", "enableSdsTokenMount",
		"mixerCheckServer", "mixerReportServer", "mtlsExcludedServices", "parentShutdownDuration",
		"policyCheckFailOpen", "rdsRefreshDelay", "reportBatchMaxEntries", "reportBatchMaxTime",
		"sdsRefreshDelay", "sdsUdsPath", "sdsUseK8sSaJwt", "secure", "sidecarToTelemetrySessionAffinity":
		return true
	}
	return false
}

// meshRules is how the mesh configuration of a span of releases is read.
type meshRules struct {
	// defaults completes the defaults of the newest release.
	defaults func(*Mesh)
	// zeroIsUnset tells that a zero within defaultConfig counts as not given.
	zeroIsUnset bool
	// strict tells that the checks of the newest release hold.
	strict bool
}

// meshRulesOf returns the rules of a release.
func meshRulesOf(r release.Release) meshRules {
	rules := meshRules{defaults: func(*Mesh) {}, strict: true}
	switch {
	case r.Before(release.V(1, 1)):
		rules.defaults = defaults0_8
	case r.Before(release.V(1, 6)):
		rules.defaults = defaults1_1
	case r.Before(release.V(1, 7)):
		rules.defaults = defaults1_6
	case r.Before(release.V(1, 8)):
		rules.defaults = defaults1_7
	case r.Before(release.V(1, 20)):
		rules.defaults = defaults1_8
	case r.Before(release.V(1, 22)):
		rules.defaults = defaults1_20
	}
	rules.zeroIsUnset = r.Before(release.V(1, 7))
	rules.strict = !r.Before(release.V(1, 9))
	return rules
}

// defaults1_20: spans went to Zipkin.
func defaults1_20(m *Mesh) {
	m.Config.DefaultConfig.Tracing = zipkin("zipkin.istio-system:9411")
}

// defaults1_8: the proxy had two worker threads.
func defaults1_8(m *Mesh) {
	defaults1_20(m)
	m.Config.DefaultConfig.Concurrency = wrapperspb.Int32(2)
	m.Former.Proxy.ParentShutdownDuration = durationpb.New(time.Minute)
}

// defaults1_7: every proxy got its certificates from a socket.
func defaults1_7(m *Mesh) {
	defaults1_8(m)
	m.Former.Mesh.SdsUdsPath = "unix:./etc/istio/proxy/SDS"
}

// defaults1_6: nothing was drained at the end.
func defaults1_6(m *Mesh) {
	defaults1_7(m)
	m.Config.DefaultConfig.TerminationDrainDuration = nil
	m.Config.DefaultConfig.ControlPlaneAuthPolicy = meshv1alpha1.AuthenticationPolicy_NONE
}

// defaults1_1: the control plane was pilot, and its certificates were files.
func defaults1_1(m *Mesh) {
	p := m.Config.DefaultConfig
	p.ConfigPath = "/etc/istio/proxy"
	p.DiscoveryAddress = "istio-pilot:15010"
	p.ControlPlaneAuthPolicy = meshv1alpha1.AuthenticationPolicy_NONE
	p.TerminationDrainDuration = nil
	p.StatusPort = 0
	m.Former.Proxy.ParentShutdownDuration = durationpb.New(time.Minute)
	m.Former.Proxy.ConnectTimeout = durationpb.New(time.Second)
	m.Config.EnablePrometheusMerge = nil
}

// defaults0_8: an old Envoy was given three seconds.
func defaults0_8(m *Mesh) {
	defaults1_1(m)
	p := m.Config.DefaultConfig
	p.DiscoveryAddress = "istio-pilot:15007"
	//lint:ignore SA1019 templates of those releases read it
	p.DiscoveryRefreshDelay = durationpb.New(time.Second)
	p.DrainDuration = durationpb.New(2 * time.Second)
	m.Former.Proxy.ParentShutdownDuration = durationpb.New(3 * time.Second)
}

func zipkin(address string) *meshv1alpha1.Tracing {
	return &meshv1alpha1.Tracing{Tracer: &meshv1alpha1.Tracing_Zipkin_{Zipkin: &meshv1alpha1.Tracing_Zipkin{Address: address}}}
}

// DefaultMesh returns the configuration of a mesh of a release whose file is
// empty. The caller owns it.
func DefaultMesh(r release.Release) *Mesh {
	m := &Mesh{Config: DefaultMeshConfig(), Release: r}
	meshRulesOf(r).defaults(m)
	return m
}

// ParseMeshOf is ParseMesh for a mesh of a release. Fields that the release had
// and newer ones do not are no findings.
func ParseMeshOf(text *source.Text, r release.Release) (*Mesh, diag.List) {
	if r.IsZero() || r == release.Newest {
		return ParseMesh(text)
	}
	doc, bad := open(text, keyMesh)
	if bad == nil {
		bad = notMesh(doc.root)
	}
	if bad != nil {
		return nil, diag.List{bad}
	}
	rules := meshRulesOf(r)
	m := DefaultMesh(r)
	m.Text, m.Root = doc.text, doc.root
	d := &decoder{diags: doc.duplicates}
	was := shallow(m.Config.DefaultConfig)
	d.mesh(m.Config, doc.root)
	if rules.zeroIsUnset {
		keepNonZero(m.Config.DefaultConfig, was)
	}
	m.Former.read(doc.root)
	if rules.strict && !d.diags.HasErrors() {
		c := checker{root: doc.root}
		c.mesh(m.Config)
		d.diags = append(d.diags, c.diags...)
	}
	d.diags = slices.DeleteFunc(d.diags, func(f *diag.Diagnostic) bool {
		return f.Code == CodeUnknown && isFormerField(fieldAt(f.Span))
	})
	if d.diags.HasErrors() {
		return nil, d.diags
	}
	return m, d.diags
}

// fieldAt returns the key that a finding is about.
func fieldAt(at source.Span) string {
	if !at.IsValid() {
		return ""
	}
	return string(at.Text.Data[at.Start:at.End])
}

// read takes the fields of a mesh configuration that the newest release does
// not have. What has the wrong type is left out.
func (f *Former) read(root *source.Node) {
	d := &decoder{}
	d.message(&f.Mesh, root)
	proxy := root.Get("defaultConfig")
	d.message(&f.Proxy, proxy)
	d.message(&f.Proxy.Lightstep, proxy.Get("tracing", "lightstep"))
}

// keepNonZero undoes zeros that a configuration gives for what is not zero by
// default.
func keepNonZero(p, was *meshv1alpha1.ProxyConfig) {
	if p.Concurrency.GetValue() == 0 {
		p.Concurrency = was.Concurrency
	}
	if p.StatNameLength == 0 {
		p.StatNameLength = was.StatNameLength
	}
	if p.ProxyAdminPort == 0 {
		p.ProxyAdminPort = was.ProxyAdminPort
	}
	if p.StatusPort == 0 {
		p.StatusPort = was.StatusPort
	}
	for _, f := range []struct{ now, was *string }{
		{&p.ConfigPath, &was.ConfigPath}, {&p.BinaryPath, &was.BinaryPath}, {&p.DiscoveryAddress, &was.DiscoveryAddress},
	} {
		if *f.now == "" {
			*f.now = *f.was
		}
	}
}

// ParseValuesOf is ParseValues for the values of a release. Until 1.7 the
// control plane did not look at their types; of later ones it refused what the
// newest release refuses, as far as is known, but it knew other fields.
func ParseValuesOf(text *source.Text, r release.Release) (*Values, diag.List) {
	if r.IsZero() || r == release.Newest {
		return ParseValues(text)
	}
	values, root, diags := readValues(text)
	if diags.HasErrors() || r.Before(release.V(1, 8)) {
		return values, diags
	}
	d := &decoder{diags: diags}
	d.values(root, 0)
	d.diags = slices.DeleteFunc(d.diags, func(f *diag.Diagnostic) bool { return f.Code == CodeUnknown })
	if d.diags.HasErrors() {
		return nil, d.diags
	}
	return values, d.diags
}

// readValues reads values without asking whether they make sense.
func readValues(text *source.Text) (*Values, *source.Node, diag.List) {
	doc, bad := open(text, keyValues)
	if bad != nil {
		return nil, nil, diag.List{bad}
	}
	root := doc.root
	if root == nil {
		root = source.NewMap()
	}
	if bad := notValues(root); bad != nil {
		return nil, nil, diag.List{bad}
	}
	if root.Kind() != source.Map {
		d := &decoder{}
		d.mistyped(root, "an object")
		return nil, nil, d.diags
	}
	values, _ := root.Any().(map[string]any)
	return &Values{Text: doc.text, Root: root, Map: values}, root, doc.duplicates
}

// Set is everything that injection is configured with.
type Set struct {
	Injection *Injection
	Mesh      *Mesh
	Values    *Values
	// Detected is the release that all of it was read as: the one asked for, or
	// else the one that it was evidently written for.
	Detected release.Detected
}

// HasValues tells that the release has values that templates read: those until
// 1.1 wrote them into the template.
func (s *Set) HasValues() bool { return !s.Detected.Release.Before(release.V(1, 2)) }

// Documents are the three documents of a configuration.
type Documents struct {
	Injection, Mesh, Values *source.Text
	// MeshIsDefault and ValuesAreDefault tell of a document that it stands in,
	// from the newest release, for one that is not there. Such values say nothing
	// of the release, and such a mesh gives way to the defaults of an older one.
	MeshIsDefault, ValuesAreDefault bool
}

// Load reads the three documents of a configuration. asked is the release that
// they are of, or the zero Release to find out. The Set is nil where there are
// errors.
func Load(injection, mesh, values *source.Text, asked release.Release) (*Set, diag.List) {
	return Documents{Injection: injection, Mesh: mesh, Values: values}.Load(asked)
}

// Load is the function Load.
func (docs Documents) Load(asked release.Release) (*Set, diag.List) {
	s := &Set{}
	var diags diag.List
	add := func(list diag.List) { diags = append(diags, list...) }
	var list diag.List
	s.Injection, list = ParseInjection(docs.Injection)
	add(list)
	s.Detected.Release = asked
	if asked.IsZero() && s.Injection != nil {
		var raw *Values
		if !docs.ValuesAreDefault {
			raw, _, _ = readValues(docs.Values)
		}
		s.Detected = Detect(s.Injection, raw)
	}
	if r := s.Detected.Release; docs.MeshIsDefault && !r.IsZero() && r != release.Newest {
		docs.Mesh = source.NewText("", nil)
	}
	s.Mesh, list = ParseMeshOf(docs.Mesh, s.Detected.Release)
	add(list)
	s.Values, list = ParseValuesOf(docs.Values, s.Detected.Release)
	add(list)
	if diags.HasErrors() {
		return nil, diags
	}
	return s, diags
}
