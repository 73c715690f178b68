package inject

import (
	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// checkTypes finds values of the pod that Kubernetes' types cannot hold. At
// admission the API server has read the pod already, and numbers do not pass
// for strings.
func checkTypes(r *Request) diag.List {
	return kube.Checker{Strict: r.Door == Admission}.Check(r.Pod, kube.TypePod)
}

// checkAnnotations judges the annotations of a pod.
func checkAnnotations(pod *source.Node) diag.List {
	return annot.Validate(pod.Get("metadata", "annotations"), config.CheckProxyConfig)
}

// strictly checks what templates make: it is merged as it is, without the
// conversion from YAML to typed values that makes strings of numbers.
var strictly = kube.Checker{Strict: true}
