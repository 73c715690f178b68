package kube_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingraft/ingraft/internal/kube"
)

// The table must be what the pinned k8s.io/api gives.
func TestSchemaTableIsFresh(t *testing.T) {
	want, err := exec.Command("go", "run", "gen_schema.go", "-stdout").Output()
	if err != nil {
		t.Fatalf("running the generator: %v", err)
	}
	got, err := os.ReadFile("schema_table.go")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("schema_table.go is stale, run go generate ./internal/kube:\n%s", d)
	}
}

func TestSchema(t *testing.T) {
	var names []string
	for _, f := range kube.TypeVolumeMount.Fields() {
		names = append(names, f.Name)
	}
	want := "name readOnly recursiveReadOnly mountPath subPath mountPropagation subPathExpr"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("fields of a VolumeMount: %s, want %s", got, want)
	}
	for _, c := range []struct {
		typ              kube.Type
		field            string
		wantType         string
		mergeKey         string
		merged, optional bool
	}{
		{kube.TypePod, "spec", "PodSpec", "", false, false},
		{kube.TypePodSpec, "containers", "list of Container", "name", true, false},
		{kube.TypePodSpec, "tolerations", "list of Toleration", "", false, false},
		{kube.TypeContainer, "ports", "list of ContainerPort", "containerPort", true, false},
		{kube.TypeContainer, "securityContext", "SecurityContext", "", false, true},
		{kube.TypeObjectMeta, "finalizers", "list of string", "", true, false},
		{kube.TypeObjectMeta, "labels", "map of string", "", false, false},
		{kube.TypeVolume, "emptyDir", "EmptyDirVolumeSource", "", false, true}, // of an embedded struct
		{kube.TypeResourceRequirements, "limits", "map of quantity", "", false, false},
		{kube.TypeDeploymentConfig, "spec", "DeploymentConfigSpec", "", false, false},
	} {
		f := c.typ.Field(c.field)
		if f == nil {
			t.Errorf("%s has no field %s", c.typ, c.field)
			continue
		}
		if f.Type.String() != c.wantType || f.MergeKey != c.mergeKey || f.Merged() != c.merged || f.Optional() != c.optional {
			t.Errorf("%s.%s: %s, merge key %q, merged %v, optional %v; want %+v",
				c.typ, c.field, f.Type, f.MergeKey, f.Merged(), f.Optional(), c)
		}
	}
	if kube.TypePod.Field("Spec") != nil || kube.TypeString.Field("x") != nil || len(kube.TypeAny.Fields()) != 0 {
		t.Error("fields that do not exist are found")
	}
}

func TestTypeOf(t *testing.T) {
	for _, c := range []struct {
		apiVersion, kind string
		want             kube.Type
	}{
		{"v1", "Pod", kube.TypePod},
		{"apps/v1beta1", "Deployment", kube.TypeDeployment},
		{"batch/v1beta1", "CronJob", kube.TypeCronJob},
		{"v1", "DeploymentConfig", kube.TypeDeploymentConfig},
		{"argoproj.io/v1alpha1", "Rollout", kube.TypeAny},
		{"apps.kruise.io/v1beta1", "StatefulSet", kube.TypeAny},
		{"v1", "Deployment", kube.TypeAny},
	} {
		if got := kube.TypeOf(kube.Ref{APIVersion: c.apiVersion, Kind: c.kind}); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.apiVersion, c.kind, got, c.want)
		}
	}
}
