package kube_test

import (
	"testing"

	"github.com/ingraft/ingraft/internal/kube"
)

func TestOwnerOf(t *testing.T) {
	owned := func(kind, name, labels string) string {
		return `{metadata: {generateName: x-, namespace: ns, labels: {` + labels + `}, ownerReferences: [
			{kind: Other, name: first, apiVersion: o/v1}, {controller: false, kind: Other, name: second, apiVersion: o/v1},
			{controller: true, kind: ` + kind + `, name: "` + name + `", apiVersion: own/v1}]}}`
	}
	ref := func(apiVersion, kind, name string) kube.Ref {
		return kube.Ref{APIVersion: apiVersion, Kind: kind, Namespace: "ns", Name: name}
	}
	for _, c := range []struct {
		name, pod string
		want      kube.Ref
	}{
		{"bare", `{metadata: {name: p, namespace: ns}}`, ref("v1", "Pod", "p")},
		{"generated without owner", `{metadata: {generateName: p-, namespace: ns}}`, ref("v1", "Pod", "")},
		{"owner but a name of its own", `{metadata: {name: p, namespace: ns, ownerReferences: [{controller: true, kind: K, name: k}]}}`, ref("v1", "Pod", "p")},
		{"controller", owned("StatefulSet", "s", ""), ref("own/v1", "StatefulSet", "s")},
		{"deployment", owned("ReplicaSet", "d-abc", "pod-template-hash: abc"), ref("own/v1", "Deployment", "d")},
		{"hash is a number", owned("ReplicaSet", "d-5", "pod-template-hash: 5"), ref("own/v1", "Deployment", "d")},
		{"hash without a dash stays", owned("ReplicaSet", "dabc", "pod-template-hash: abc"), ref("own/v1", "Deployment", "dabc")},
		{"hash of another", owned("ReplicaSet", "d-abc", "pod-template-hash: abd"), ref("own/v1", "ReplicaSet", "d-abc")},
		{"no hash", owned("ReplicaSet", "d-abc", `pod-template-hash: ""`), ref("own/v1", "ReplicaSet", "d-abc")},
		{"rollout", owned("ReplicaSet", "r-abc", "rollouts-pod-template-hash: abc"), ref("v1alpha1", "Rollout", "r")},
		{"deployment config", owned("ReplicationController", "c-1", "deploymentconfig: c"), ref("own/v1", "DeploymentConfig", "c")},
		{"replication controller", owned("ReplicationController", "c-1", ""), ref("own/v1", "ReplicationController", "c-1")},
		{"cron job, 8 digits", owned("Job", "j-12345678", ""), ref("batch/v1", "CronJob", "j")},
		{"cron job, 10 digits", owned("Job", "j-1-1234567890", ""), ref("batch/v1", "CronJob", "j-1")},
		{"job, 7 digits", owned("Job", "j-1234567", ""), ref("own/v1", "Job", "j-1234567")},
		{"job, 11 digits", owned("Job", "j-12345678901", ""), ref("own/v1", "Job", "j-12345678901")},
		{"job, digits only", owned("Job", "-12345678", ""), ref("own/v1", "Job", "-12345678")},
		{"job, no dash", owned("Job", "j12345678", ""), ref("own/v1", "Job", "j12345678")},
		{"owner without a name", `{metadata: {generateName: p-, name: p, namespace: ns, ownerReferences: [{controller: true, kind: K, apiVersion: a/v1}]}}`, ref("a/v1", "K", "p")},
	} {
		if got := kube.OwnerOf(parse(t, c.pod)); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
	if got := kube.OwnerOf(nil); got != (kube.Ref{APIVersion: "v1", Kind: "Pod"}) {
		t.Errorf("no pod: %+v", got)
	}
}
