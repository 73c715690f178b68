package tmpl

import (
	"time"

	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// Data is the dot of an injection template. Names and types are those of the
// mesh's injector (SidecarTemplateData of release 1.31), so that any template
// written for it means the same here.
type Data struct {
	TypeMeta                 metav1.TypeMeta
	DeploymentMeta           types.NamespacedName
	ObjectMeta               metav1.ObjectMeta
	Spec                     corev1.PodSpec
	ProxyConfig              *meshv1alpha1.ProxyConfig
	MeshConfig               *meshv1alpha1.MeshConfig
	Values                   map[string]any
	Revision                 string
	NativeSidecars           bool
	ProxyImage               string
	ProxyInitImage           string
	ProxyUID                 int64
	ProxyGID                 int64
	InboundTrafficPolicyMode string
	CompliancePolicy         string

	former *Former
}

// Env is what a template may ask of the world. The caller of the engine
// resolves it; nothing below reads the environment or a clock.
type Env struct {
	// Getenv returns a variable of the injector's environment, "" if unset.
	// Nil means that every variable is unset.
	Getenv func(name string) string
	// Now is the time that now, date and the like see; its location is what
	// they call the local zone.
	Now time.Time
	// Zone finds a time zone by its IANA name, for dateInZone and the like;
	// nil knows UTC and Local only.
	Zone func(name string) (*time.Location, error)
	// ValuesName names the values document in findings: values.yaml; "" for
	// one without a name.
	ValuesName string
}

func (e Env) getenv(name string) string {
	if e.Getenv == nil {
		return ""
	}
	return e.Getenv(name)
}

// SetPod fills ObjectMeta and Spec from a pod's nodes: the parts that needs
// names, all else stays zero. A value of the wrong type is reported at its
// place in the pod.
func (d *Data) SetPod(pod *source.Node, needs Needs) *diag.Diagnostic {
	if err := decodeInto(&d.ObjectMeta, pod.Get("metadata"), needs.meta, "metadata"); err != nil {
		return err.diagnostic()
	}
	if err := decodeInto(&d.Spec, pod.Get("spec"), needs.spec, "spec"); err != nil {
		return err.diagnostic()
	}
	return nil
}
