//go:build ignore

// Command gen_schema writes schema_table.go: what the Go types of k8s.io/api
// say about the fields of pods, of the objects that make them, and of those
// that an install has beside them.
//
//	go run gen_schema.go          writes schema_table.go
//	go run gen_schema.go -stdout  prints it
package main

import (
	"bytes"
	"fmt"
	"go/format"
	"log"
	"os"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// roots are the types that get a constant.
var roots = []any{
	corev1.Pod{},
	corev1.PodTemplateSpec{},
	corev1.PodTemplate{},
	corev1.ReplicationController{},
	appsv1.Deployment{},
	appsv1.StatefulSet{},
	appsv1.DaemonSet{},
	appsv1.ReplicaSet{},
	batchv1.Job{},
	batchv1.CronJob{},
	DeploymentConfig{},
	metav1.List{},
	metav1.ObjectMeta{},
	metav1.LabelSelector{},
	corev1.Namespace{},
	corev1.Node{},
	corev1.PodSpec{},
	corev1.Container{},
	corev1.Volume{},
	corev1.VolumeMount{},
	corev1.EnvVar{},
	corev1.Probe{},
	corev1.Lifecycle{},
	corev1.LocalObjectReference{},
	corev1.ResourceRequirements{},
	corev1.Service{},
	autoscalingv2.HorizontalPodAutoscaler{},
	policyv1.PodDisruptionBudget{},
}

// DeploymentConfig is OpenShift's apps.openshift.io/v1 DeploymentConfig, given
// by hand: importing its module for one type is not worth it.
type DeploymentConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              DeploymentConfigSpec   `json:"spec"`
	Status            DeploymentConfigStatus `json:"status"`
}

type DeploymentConfigSpec struct {
	Strategy             DeploymentConfigStrategy        `json:"strategy"`
	MinReadySeconds      int32                           `json:"minReadySeconds,omitempty"`
	Triggers             []DeploymentConfigTriggerPolicy `json:"triggers"`
	Replicas             int32                           `json:"replicas"`
	RevisionHistoryLimit *int32                          `json:"revisionHistoryLimit,omitempty"`
	Test                 bool                            `json:"test"`
	Paused               bool                            `json:"paused,omitempty"`
	Selector             map[string]string               `json:"selector,omitempty"`
	Template             *corev1.PodTemplateSpec         `json:"template,omitempty"`
}

type DeploymentConfigStrategy struct {
	Type                  string                         `json:"type,omitempty"`
	CustomParams          *CustomDeploymentConfigParams  `json:"customParams,omitempty"`
	RecreateParams        *RecreateDeploymentConfigParam `json:"recreateParams,omitempty"`
	RollingParams         *RollingDeploymentConfigParams `json:"rollingParams,omitempty"`
	Resources             corev1.ResourceRequirements    `json:"resources,omitempty"`
	Labels                map[string]string              `json:"labels,omitempty"`
	Annotations           map[string]string              `json:"annotations,omitempty"`
	ActiveDeadlineSeconds *int64                         `json:"activeDeadlineSeconds,omitempty"`
}

type CustomDeploymentConfigParams struct {
	Image       string          `json:"image,omitempty"`
	Environment []corev1.EnvVar `json:"environment,omitempty"`
	Command     []string        `json:"command,omitempty"`
}

type RecreateDeploymentConfigParam struct {
	TimeoutSeconds *int64                `json:"timeoutSeconds,omitempty"`
	Pre            *DeploymentConfigHook `json:"pre,omitempty"`
	Mid            *DeploymentConfigHook `json:"mid,omitempty"`
	Post           *DeploymentConfigHook `json:"post,omitempty"`
}

type RollingDeploymentConfigParams struct {
	UpdatePeriodSeconds *int64                `json:"updatePeriodSeconds,omitempty"`
	IntervalSeconds     *int64                `json:"intervalSeconds,omitempty"`
	TimeoutSeconds      *int64                `json:"timeoutSeconds,omitempty"`
	MaxUnavailable      *intstr.IntOrString   `json:"maxUnavailable,omitempty"`
	MaxSurge            *intstr.IntOrString   `json:"maxSurge,omitempty"`
	Pre                 *DeploymentConfigHook `json:"pre,omitempty"`
	Post                *DeploymentConfigHook `json:"post,omitempty"`
}

type DeploymentConfigHook struct {
	FailurePolicy string                   `json:"failurePolicy"`
	ExecNewPod    *ExecNewPodHook          `json:"execNewPod,omitempty"`
	TagImages     []DeploymentConfigTagImg `json:"tagImages,omitempty"`
}

type ExecNewPodHook struct {
	Command       []string        `json:"command"`
	Env           []corev1.EnvVar `json:"env,omitempty"`
	ContainerName string          `json:"containerName"`
	Volumes       []string        `json:"volumes,omitempty"`
}

type DeploymentConfigTagImg struct {
	ContainerName string                 `json:"containerName"`
	To            corev1.ObjectReference `json:"to"`
}

type DeploymentConfigTriggerPolicy struct {
	Type              string                           `json:"type,omitempty"`
	ImageChangeParams *DeploymentConfigImageChangeTrig `json:"imageChangeParams,omitempty"`
}

type DeploymentConfigImageChangeTrig struct {
	Automatic          bool                   `json:"automatic,omitempty"`
	ContainerNames     []string               `json:"containerNames,omitempty"`
	From               corev1.ObjectReference `json:"from"`
	LastTriggeredImage string                 `json:"lastTriggeredImage,omitempty"`
}

type DeploymentConfigStatus struct {
	LatestVersion       int64                       `json:"latestVersion"`
	ObservedGeneration  int64                       `json:"observedGeneration"`
	Replicas            int32                       `json:"replicas"`
	UpdatedReplicas     int32                       `json:"updatedReplicas"`
	AvailableReplicas   int32                       `json:"availableReplicas"`
	UnavailableReplicas int32                       `json:"unavailableReplicas"`
	Details             *DeploymentConfigDetails    `json:"details,omitempty"`
	Conditions          []DeploymentConfigCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
	ReadyReplicas       int32                       `json:"readyReplicas,omitempty"`
}

type DeploymentConfigDetails struct {
	Message string                  `json:"message,omitempty"`
	Causes  []DeploymentConfigCause `json:"causes"`
}

type DeploymentConfigCause struct {
	Type         string                           `json:"type"`
	ImageTrigger *DeploymentConfigImageTrigCauses `json:"imageTrigger,omitempty"`
}

type DeploymentConfigImageTrigCauses struct {
	From corev1.ObjectReference `json:"from"`
}

type DeploymentConfigCondition struct {
	Type               string      `json:"type"`
	Status             string      `json:"status"`
	LastUpdateTime     metav1.Time `json:"lastUpdateTime,omitempty"`
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`
	Reason             string      `json:"reason,omitempty"`
	Message            string      `json:"message,omitempty"`
}

// scalars are the types without fields, in the order of the constants of
// schema.go; kinds of Go types are looked up by kind, the rest by type.
var (
	scalars = []string{"any", "string", "bool", "int32", "int64", "quantity", "int-or-string", "time"}
	byKind  = map[reflect.Kind]int{reflect.Interface: 0, reflect.String: 1, reflect.Bool: 2, reflect.Int32: 3, reflect.Int64: 4}
	byType  = map[reflect.Type]int{
		reflect.TypeFor[runtime.RawExtension](): 0,
		reflect.TypeFor[metav1.FieldsV1]():      0,
		reflect.TypeFor[resource.Quantity]():    5,
		reflect.TypeFor[intstr.IntOrString]():   6,
		reflect.TypeFor[metav1.Time]():          7,
	}
)

type entry struct {
	t     reflect.Type
	elem  int
	lo    int
	count int
}

type schema struct {
	entries []entry
	index   map[reflect.Type]int
	fields  []string
}

func main() {
	log.SetFlags(0)
	s := &schema{entries: make([]entry, len(scalars)), index: map[reflect.Type]int{}}
	for _, root := range roots {
		s.id(reflect.TypeOf(root))
	}
	for i := len(scalars); i < len(s.entries); i++ { // grows while types are found
		e := &s.entries[i]
		switch e.t.Kind() {
		case reflect.Slice, reflect.Map:
			elem := s.id(e.t.Elem())
			s.entries[i].elem = elem
		default:
			lo := len(s.fields)
			var own []string
			s.walk(e.t, false, &own)
			s.fields = append(s.fields, own...)
			s.entries[i].lo, s.entries[i].count = lo, len(own)
		}
	}
	out, err := format.Source(s.text())
	if err != nil {
		log.Fatal("formatting schema_table.go: ", err)
	}
	if len(os.Args) > 1 && os.Args[1] == "-stdout" {
		os.Stdout.Write(out)
		return
	}
	if err := os.WriteFile("schema_table.go", out, 0o644); err != nil {
		log.Fatal("writing the table: ", err)
	}
}

// id returns the number of a type, a new one for a type not seen before.
func (s *schema) id(t reflect.Type) int {
	if n, ok := byType[t]; ok {
		return n
	}
	if n, ok := byKind[t.Kind()]; ok {
		return n
	}
	n, ok := s.index[t]
	if ok {
		return n
	}
	switch t.Kind() {
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			log.Fatalf("%v: a map whose keys are no strings", t)
		}
	case reflect.Slice:
		if k := t.Elem().Kind(); k == reflect.Pointer || k == reflect.Slice {
			log.Fatalf("%v: a list of what the table has no form for", t)
		}
	case reflect.Struct:
		if _, ok := reflect.PointerTo(t).MethodByName("UnmarshalJSON"); ok {
			log.Fatalf("%v decodes itself and is not in the table", t)
		}
	default:
		log.Fatalf("%v: a kind that the table has no form for", t)
	}
	n = len(s.entries)
	s.index[t] = n
	s.entries = append(s.entries, entry{t: t})
	return n
}

// walk appends the fields of a struct as encoding/json sees them: those of
// embedded structs in the place of the struct.
func (s *schema) walk(t reflect.Type, inline bool, out *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := strings.Split(f.Tag.Get("json"), ",")
		if tag[0] == "-" || !f.IsExported() {
			continue
		}
		if f.Anonymous && tag[0] == "" {
			s.walk(f.Type, true, out)
			continue
		}
		if tag[0] == "" {
			log.Fatalf("%v.%s has no JSON name", t, f.Name)
		}
		ft := f.Type
		var flags []string
		if inline {
			flags = append(flags, "inlined")
		}
		pointer := ft.Kind() == reflect.Pointer
		if pointer {
			ft = ft.Elem()
			flags = append(flags, "pointer")
		}
		omitempty, omitzero := false, false
		for _, opt := range tag[1:] {
			omitempty = omitempty || opt == "omitempty"
			omitzero = omitzero || opt == "omitzero"
			if opt == "string" {
				log.Fatalf("%v.%s: numbers in strings are not known here", t, f.Name)
			}
		}
		// encoding/json never takes a struct for empty.
		if !omitzero && (!omitempty || ft.Kind() == reflect.Struct && !pointer) {
			flags = append(flags, "always")
		}
		for _, strategy := range strings.Split(f.Tag.Get("patchStrategy"), ",") {
			switch strategy {
			case "":
			case "merge":
				flags = append(flags, "merge")
			case "retainKeys":
				flags = append(flags, "retainKeys")
			case "replace":
				flags = append(flags, "replaced")
			default:
				log.Fatalf("%v.%s: patch strategy %s is not known here", t, f.Name, strategy)
			}
		}
		text := "0"
		if flags != nil {
			text = strings.Join(flags, "|")
		}
		*out = append(*out, fmt.Sprintf("{%q, %q, %d, %s},", tag[0], f.Tag.Get("patchMergeKey"), s.id(ft), text))
	}
}

func (s *schema) text() []byte {
	var b bytes.Buffer
	b.WriteString("// Code generated by gen_schema.go from the types of k8s.io/api; DO NOT EDIT.\n\npackage kube\n\n")
	b.WriteString("// The types that have a name.\nconst (\n")
	names := map[string]bool{}
	for _, root := range roots {
		t := reflect.TypeOf(root)
		fmt.Fprintf(&b, "Type%s Type = %d\n", t.Name(), s.index[t])
	}
	b.WriteString(")\n\nvar typeTable = [...]typeInfo{\n")
	for _, name := range scalars {
		fmt.Fprintf(&b, "{name: %q},\n", name)
	}
	for i, e := range s.entries[len(scalars):] {
		switch {
		case e.t.Kind() == reflect.Slice:
			fmt.Fprintf(&b, "{kind: KindList, elem: %d}, // %d\n", e.elem, i+len(scalars))
		case e.t.Kind() == reflect.Map:
			fmt.Fprintf(&b, "{kind: KindMap, elem: %d}, // %d\n", e.elem, i+len(scalars))
		case names[e.t.Name()]:
			log.Fatalf("two types have the name %s", e.t.Name())
		default:
			names[e.t.Name()] = true
			fmt.Fprintf(&b, "{kind: KindStruct, name: %q, lo: %d, n: %d}, // %d\n", e.t.Name(), e.lo, e.count, i+len(scalars))
		}
	}
	b.WriteString("}\n\nvar fieldTable = [...]FieldInfo{\n")
	for i, e := range s.entries[len(scalars):] {
		if e.t.Kind() != reflect.Struct {
			continue
		}
		fmt.Fprintf(&b, "// %d: %v\n", i+len(scalars), e.t)
		for _, f := range s.fields[e.lo : e.lo+e.count] {
			b.WriteString(f + "\n")
		}
	}
	b.WriteString("}\n")
	return b.Bytes()
}
