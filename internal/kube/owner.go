package kube

import (
	"strings"

	"github.com/ingraft/ingraft/internal/source"
)

// OwnerOf tells which workload a pod belongs to, from nothing but the pod: its
// namespace and the workload's name, kind and apiVersion. The rules are those
// of the control plane (GetDeployMetaFromPod of release 1.31):
//
// A pod whose name was not generated is its own workload (Pod, v1). Otherwise
// the first owner reference with controller: true is the workload, except that
//   - a ReplicaSet whose name ends in the label pod-template-hash is a
//     Deployment's, with that hash cut off;
//   - a ReplicaSet whose name ends in the label rollouts-pod-template-hash is a
//     Rollout's (apiVersion v1alpha1);
//   - a ReplicationController with the label deploymentconfig on the pod is
//     that DeploymentConfig's;
//   - a Job whose name ends in a dash and 8 to 10 digits is a CronJob's
//     (apiVersion batch/v1).
//
// Values are read as the typed object would hold them: labels that are not
// strings count with their text.
func OwnerOf(pod *source.Node) Ref {
	meta := pod.Get("metadata")
	owner := Ref{
		APIVersion: "v1", Kind: "Pod",
		Namespace: meta.Get("namespace").Scalar(), Name: meta.Get("name").Scalar(),
	}
	controller := controllerOf(meta)
	if meta.Get("generateName").Scalar() == "" || controller == nil {
		return owner
	}
	podName := owner.Name
	owner.APIVersion = controller.Get("apiVersion").Scalar()
	owner.Kind = controller.Get("kind").Scalar()
	owner.Name = controller.Get("name").Scalar()
	label := func(key string) string { return meta.Get("labels", key).Scalar() }
	switch owner.Kind {
	case "ReplicaSet":
		if hash := label("pod-template-hash"); hash != "" && strings.HasSuffix(owner.Name, hash) {
			owner.Kind, owner.Name = "Deployment", strings.TrimSuffix(owner.Name, "-"+hash)
		} else if hash := label("rollouts-pod-template-hash"); hash != "" && strings.HasSuffix(owner.Name, hash) {
			owner.Kind, owner.Name = "Rollout", strings.TrimSuffix(owner.Name, "-"+hash)
			owner.APIVersion = "v1alpha1"
		}
	case "ReplicationController":
		if name := label("deploymentconfig"); name != "" {
			owner.Kind, owner.Name = "DeploymentConfig", name
		}
	case "Job":
		if name := cronJobName(owner.Name); name != "" {
			owner.Kind, owner.Name, owner.APIVersion = "CronJob", name, "batch/v1"
		}
	}
	if owner.Name == "" {
		owner.Name = podName
	}
	return owner
}

func controllerOf(meta *source.Node) *source.Node {
	for _, ref := range meta.Get("ownerReferences").Items() {
		if ref.Get("controller").IsTrue() {
			return ref
		}
	}
	return nil
}

// cronJobName cuts the time stamp off the name of a CronJob's Job: (.+)-\d{8,10}$.
// It returns "" where there is none.
func cronJobName(job string) string {
	name := strings.TrimRight(job, "0123456789")
	digits := len(job) - len(name)
	name, ok := strings.CutSuffix(name, "-")
	if !ok || digits < 8 || digits > 10 {
		return ""
	}
	return name[strings.LastIndexByte(name, '\n')+1:]
}
