package inject

import (
	"strings"

	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// ownerRules says how a release tells the workload of a bare pod.
type ownerRules struct {
	// newest tells that kube.OwnerOf has it right.
	newest bool
	// always tells that a pod is its own workload; podItself, that it is so for
	// the command line.
	always, podItself bool
	// anyReplicaSet tells that a ReplicaSet is a Deployment's even where the pod
	// has no hash.
	anyReplicaSet bool
	// cronDigits is the least number of digits, up to 10, that the name of a
	// CronJob's Job ends in; 0 where Jobs are taken for what they are.
	// cronVersion is the apiVersion given to CronJobs.
	cronDigits  int
	cronVersion string
	// configs tells that DeploymentConfigs are known.
	configs bool
}

func (o ownerRules) of(door Door, pod *source.Node) kube.Ref {
	owner := kube.OwnerOf(pod)
	if o.newest {
		return owner
	}
	meta := pod.Get("metadata")
	if o.always || o.podItself && door == CommandLine {
		return kube.Ref{APIVersion: "v1", Kind: "Pod", Namespace: owner.Namespace, Name: meta.Get("name").Scalar()}
	}
	var controller *source.Node
	for _, ref := range meta.Get("ownerReferences").Items() {
		if ref.Get("controller").IsTrue() {
			controller = ref
			break
		}
	}
	if controller == nil || meta.Get("generateName").Scalar() == "" {
		return owner
	}
	name := controller.Get("name").Scalar()
	switch {
	case owner.Kind == "Rollout", owner.Kind == "DeploymentConfig" && !o.configs:
		owner.Kind, owner.APIVersion, owner.Name = controller.Get("kind").Scalar(), controller.Get("apiVersion").Scalar(), name
	case owner.Kind == "CronJob":
		owner.APIVersion = o.cronVersion
		if digits := len(name) - len(strings.TrimRight(name, "0123456789")); o.cronDigits == 0 || digits < o.cronDigits {
			owner.Kind, owner.APIVersion, owner.Name = "Job", controller.Get("apiVersion").Scalar(), name
		}
	}
	if hash := meta.Get("labels", "pod-template-hash").Scalar(); o.anyReplicaSet && hash == "" && owner.Kind == "ReplicaSet" {
		owner.Kind, owner.Name = "Deployment", strings.TrimSuffix(owner.Name, "-")
	}
	return owner
}
