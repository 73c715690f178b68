package manifest

import (
	"slices"

	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/kube"
)

// shape says what stands at a place of an IstioOperator: which fields, and of
// which form. Its facts are the Go types of the installer of release 1.31.
type shape struct {
	kind   shapeKind
	fields []shapeField
	elem   *shape
	// typ finds the type of a shapeKube.
	typ func() kube.Type
	// idle tells that nothing reads the field.
	idle string
}

type shapeField struct {
	name string
	*shape
}

type shapeKind uint8

const (
	shapeAny shapeKind = iota
	shapeText
	shapeTag   // text, or a number that is meant as text
	shapeFlag  // true or false
	shapeCount // a whole number from 0
	shapeObject
	shapeList
	shapeKube   // what a type of Kubernetes holds
	shapeMesh   // a mesh configuration
	shapeValues // values
)

func (s *shape) field(name string) *shape {
	for _, f := range s.fields {
		if f.name == name {
			return f.shape
		}
	}
	return nil
}

func (s *shape) names() []string {
	var names []string
	for _, f := range s.fields {
		names = append(names, f.name)
	}
	return names
}

var (
	anything = &shape{kind: shapeAny}
	text     = &shape{kind: shapeText}
	tag      = &shape{kind: shapeTag}
	flag     = &shape{kind: shapeFlag}
)

// of makes the shape of a value of a type of Kubernetes.
func of(typ func() kube.Type) *shape { return &shape{kind: shapeKube, typ: typ} }

// podField makes the shape of what a field of a pod's spec holds; container
// that of a field of a container.
func podField(name string) *shape { return of(podType(name)) }

func containerField(name string) *shape { return of(containerType(name)) }

func metaField(name string) *shape {
	return of(func() kube.Type { return kube.TypeObjectMeta.Field(name).Type })
}

func specOf(typ kube.Type) func() kube.Type {
	return func() kube.Type { return typ.Field("spec").Type }
}

var overlayShape = &shape{kind: shapeList, elem: &shape{kind: shapeObject, fields: []shapeField{
	{"apiVersion", text},
	{"kind", text},
	{"name", text},
	{"patches", &shape{kind: shapeList, elem: &shape{kind: shapeObject, fields: []shapeField{
		{"path", text},
		{"value", anything},
	}}}},
}}}

// resourcesShape is what stands under k8s.
var resourcesShape = &shape{kind: shapeObject, fields: []shapeField{
	{"affinity", podField("affinity")},
	{"env", containerField("env")},
	{"hpaSpec", of(specOf(kube.TypeHorizontalPodAutoscaler))},
	{"imagePullPolicy", text},
	{"nodeSelector", metaField("labels")},
	{"podDisruptionBudget", of(specOf(kube.TypePodDisruptionBudget))},
	{"podAnnotations", metaField("annotations")},
	{"priorityClassName", text},
	{"readinessProbe", containerField("readinessProbe")},
	{"replicaCount", &shape{kind: shapeCount}},
	{"resources", containerField("resources")},
	{"service", of(specOf(kube.TypeService))},
	{"strategy", of(func() kube.Type { return kube.TypeDeployment.Field("spec").Type.Field("strategy").Type })},
	{"tolerations", podField("tolerations")},
	{"serviceAnnotations", metaField("annotations")},
	{"securityContext", podField("securityContext")},
	{"volumes", idle(podField("volumes"), "add the volume with an overlay of the Deployment or DaemonSet")},
	{"volumeMounts", idle(containerField("volumeMounts"), "add the mount with an overlay of the Deployment or DaemonSet")},
	{"overlays", overlayShape},
}}

// idle returns a shape of a field that the installer knows and never reads.
func idle(s *shape, instead string) *shape {
	c := *s
	c.idle = instead
	return &c
}

var componentFields = []shapeField{
	{"enabled", flag},
	{"namespace", text},
	{"hub", text},
	{"tag", tag},
	{"k8s", resourcesShape},
}

var (
	componentShape = &shape{kind: shapeObject, fields: componentFields}
	gatewaysShape  = &shape{kind: shapeList, elem: &shape{kind: shapeObject, fields: append(componentFields[:len(componentFields):len(componentFields)],
		shapeField{"name", text},
		shapeField{"label", metaField("labels")},
	)}}
)

var specShape = &shape{kind: shapeObject, fields: []shapeField{
	{"profile", text},
	{"installPackagePath", text},
	{"hub", text},
	{"tag", tag},
	{"namespace", idle(text, "set values.global.istioNamespace")},
	{"revision", text},
	{"compatibilityVersion", text},
	{"meshConfig", &shape{kind: shapeMesh}},
	{"components", &shape{kind: shapeObject, fields: []shapeField{
		{"base", &shape{kind: shapeObject, fields: []shapeField{{"enabled", flag}, {"k8s", resourcesShape}}}},
		{"pilot", componentShape},
		{"cni", componentShape},
		{"ztunnel", componentShape},
		{"istiodRemote", idle(componentShape, "use profile remote")},
		{"ingressGateways", gatewaysShape},
		{"egressGateways", gatewaysShape},
	}}},
	{"values", &shape{kind: shapeValues}},
	{"unvalidatedValues", anything},
}}

// formAt returns the form of what stands at a path of the specification.
func formAt(steps []step) config.Form {
	s := specShape
	for i, at := range steps {
		rest := steps[i:]
		switch s.kind {
		case shapeMesh:
			return config.MeshForm(keysOf(rest)...)
		case shapeValues:
			return valuesForm(keysOf(rest))
		case shapeKube:
			return kubeForm(s.typ(), rest)
		case shapeList:
			if at.kind == isKey {
				return config.Anything
			}
			s = s.elem
		case shapeObject:
			if s = s.field(at.key); s == nil || at.kind != isKey {
				return config.Anything
			}
		default:
			return config.Anything
		}
	}
	switch s.kind {
	case shapeText, shapeTag:
		return config.Text
	case shapeFlag:
		return config.Flag
	case shapeCount:
		return config.Number
	case shapeObject, shapeMesh, shapeValues:
		return config.Object
	case shapeList:
		return config.Array
	case shapeKube:
		return kubeForm(s.typ(), nil)
	}
	return config.Anything
}

func kubeForm(typ kube.Type, steps []step) config.Form {
	for _, at := range steps {
		switch typ.Kind() {
		case kube.KindStruct:
			info := typ.Field(at.key)
			if info == nil {
				return config.Anything
			}
			typ = info.Type
		case kube.KindMap, kube.KindList:
			typ = typ.Elem()
		default:
			return config.Anything
		}
	}
	switch typ.Kind() {
	case kube.KindStruct, kube.KindMap:
		return config.Object
	case kube.KindList:
		return config.Array
	}
	switch typ {
	case kube.TypeString, kube.TypeTime:
		return config.Text
	case kube.TypeBool:
		return config.Flag
	case kube.TypeInt32, kube.TypeInt64:
		return config.Number
	}
	return config.Anything
}

// valuesForm returns the form of a setting of the values. What charts put into
// annotations, labels, variables and images is text, whatever it looks like;
// the schema of the values does not say so.
func valuesForm(keys []string) config.Form {
	if len(keys) == 0 {
		return config.Object
	}
	if keys[0] == "meshConfig" {
		return config.MeshForm(keys[1:]...)
	}
	form := config.ValuesForm(keys...)
	if last := len(keys) - 1; form == config.Anything && (isTag(keys[last]) || last > 0 && holdsTexts(keys[last-1])) {
		return config.Text
	}
	return form
}

func isTag(key string) bool { return key == "tag" }

// holdsTexts tells the objects of the values whose fields are texts.
func holdsTexts(key string) bool { return slices.Contains(textMaps[:], key) }

var textMaps = [...]string{
	"annotations", "daemonSetLabels", "defaultNodeSelector", "deploymentLabels", "env", "injectedAnnotations", "labels",
	"nodeSelector", "podAnnotations", "podLabels", "proxyMetadata", "serviceAccountAnnotations", "serviceAnnotations",
	"sidecarInjectorWebhookAnnotations",
}
