package tmpl

import (
	"google.golang.org/protobuf/types/known/durationpb"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ingraft/ingraft/internal/config"
)

// Former is what templates of older releases see besides the Data.
type Former struct {
	// DeploymentMeta is the metadata of the workload. Only its name and
	// namespace are there since 1.22, and they are those of the Data, whatever
	// they are here.
	DeploymentMeta metav1.ObjectMeta
	// EstimatedConcurrency is the number of worker threads of the proxy (1.10 to
	// 1.17).
	EstimatedConcurrency int
	// Config holds the fields of mesh and proxy configuration that were dropped.
	Config config.Former
}

// SetFormer gives the data what only templates of older releases see.
func (d *Data) SetFormer(f *Former) { d.former = f }

func (d *Data) formerOrNone() *Former {
	f := Former{}
	if d.former != nil {
		f = *d.former
	}
	f.DeploymentMeta.Name, f.DeploymentMeta.Namespace = d.DeploymentMeta.Name, d.DeploymentMeta.Namespace
	return &f
}

func (d *Data) formerConfig() config.Former {
	if d.former == nil {
		return config.Former{}
	}
	return d.former.Config
}

func (d *Data) concurrency() int {
	if d.former == nil {
		return 0
	}
	return d.former.EstimatedConcurrency
}

// data21 is the dot of releases until 1.21.
type data21 struct {
	*Data
	DeploymentMeta       metav1.ObjectMeta
	EstimatedConcurrency int
}

func dotUntil21(d *Data) any {
	f := d.formerOrNone()
	return &data21{Data: d, DeploymentMeta: f.DeploymentMeta, EstimatedConcurrency: f.EstimatedConcurrency}
}

// data16 is the dot of releases 1.7 to 1.16, whose proxy configuration told how
// long the proxy's old process lives on when it restarts.
type data16 struct {
	*data21
	ProxyConfig *proxyConfig16
}

type proxyConfig16 struct {
	*meshv1alpha1.ProxyConfig
	ParentShutdownDuration *durationpb.Duration
}

func dotUntil16(d *Data) any {
	f := d.formerOrNone()
	d21 := &data21{Data: d, DeploymentMeta: f.DeploymentMeta, EstimatedConcurrency: f.EstimatedConcurrency}
	return &data16{d21, &proxyConfig16{d.ProxyConfig, f.Config.Proxy.ParentShutdownDuration}}
}

// GetParentShutdownDuration returns how long the old process lives on.
func (p *proxyConfig16) GetParentShutdownDuration() *durationpb.Duration {
	return p.ParentShutdownDuration
}

// data6 is the dot of releases until 1.6, whose mesh and proxy configuration
// had other fields.
type data6 struct {
	*Data
	DeploymentMeta metav1.ObjectMeta
	ProxyConfig    *proxyConfig6
	MeshConfig     *meshConfig6
}

type meshConfig6 struct {
	*meshv1alpha1.MeshConfig
	config.FormerMesh
}

type proxyConfig6 struct {
	*meshv1alpha1.ProxyConfig
	config.FormerProxy
	// Concurrency was a plain number.
	Concurrency int32
}

// ServiceCluster is a field of a oneof since 1.7.
func (p *proxyConfig6) ServiceCluster() string { return p.ProxyConfig.GetServiceCluster() }

// GetConcurrency returns the number of worker threads.
func (p *proxyConfig6) GetConcurrency() int32 { return p.Concurrency }

// GetTracing returns the settings of tracing, those of older releases included.
func (p *proxyConfig6) GetTracing() *tracing6 {
	return &tracing6{p.ProxyConfig.GetTracing(), &p.FormerProxy.Lightstep}
}

type tracing6 struct {
	*meshv1alpha1.Tracing
	former *config.FormerLightstep
}

// GetLightstep returns the settings of Lightstep, nil where there are none.
func (t *tracing6) GetLightstep() *lightstep6 {
	l := t.Tracing.GetLightstep() //nolint:staticcheck // templates of those releases read it
	if l == nil {
		return nil
	}
	return &lightstep6{l, *t.former}
}

type lightstep6 struct {
	*meshv1alpha1.Tracing_Lightstep
	config.FormerLightstep
}

// GetAddress returns the address of the collector.
func (l *lightstep6) GetAddress() string {
	if l == nil {
		return ""
	}
	return l.Tracing_Lightstep.GetAddress()
}

// GetAccessToken returns the token for the collector.
func (l *lightstep6) GetAccessToken() string {
	if l == nil {
		return ""
	}
	return l.Tracing_Lightstep.GetAccessToken()
}

// GetSecure reports whether the collector is spoken to over TLS.
func (l *lightstep6) GetSecure() bool { return l != nil && l.Secure }

// GetCacertPath returns the path of the collector's CA certificate.
func (l *lightstep6) GetCacertPath() string {
	if l == nil {
		return ""
	}
	return l.CacertPath
}

func dotUntil6(d *Data) any {
	f := d.formerOrNone()
	p := &proxyConfig6{ProxyConfig: d.ProxyConfig, FormerProxy: f.Config.Proxy, Concurrency: d.ProxyConfig.GetConcurrency().GetValue()}
	return &data6{Data: d, DeploymentMeta: f.DeploymentMeta, ProxyConfig: p, MeshConfig: &meshConfig6{d.MeshConfig, f.Config.Mesh}}
}
