package tmpl

import (
	"time"

	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
}

// Env is what a template may ask of the world. The caller of the engine
// resolves it; nothing below reads the environment or a clock.
type Env struct {
	// Getenv returns a variable of the injector's environment, "" if unset.
	Getenv func(name string) string
	// Now is the time that now, date and the like see.
	Now time.Time
}
