package manifest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// patcher changes the objects of a component as its k8s settings say.
type patcher struct {
	in       *instance
	revision string
	objects  []Object
	found    diag.List
}

// settingsOf tells which object a k8s setting is for, and where in it it goes.
// Kind "" stands for the workload of the component.
var settingsOf = [...]struct {
	name, kind string
	path       []string
	container  bool // the path begins at the component's container
}{
	{name: "affinity", path: []string{"spec", "template", "spec", "affinity"}},
	{name: "env", path: []string{"env"}, container: true},
	{name: "hpaSpec", kind: "HorizontalPodAutoscaler", path: []string{"spec"}},
	{name: "imagePullPolicy", path: []string{"imagePullPolicy"}, container: true},
	{name: "nodeSelector", path: []string{"spec", "template", "spec", "nodeSelector"}},
	{name: "podDisruptionBudget", kind: "PodDisruptionBudget", path: []string{"spec"}},
	{name: "podAnnotations", path: []string{"spec", "template", "metadata", "annotations"}},
	{name: "priorityClassName", path: []string{"spec", "template", "spec", "priorityClassName"}},
	{name: "readinessProbe", path: []string{"readinessProbe"}, container: true},
	{name: "replicaCount", path: []string{"spec", "replicas"}},
	{name: "resources", path: []string{"resources"}, container: true},
	{name: "strategy", path: []string{"spec", "strategy"}},
	{name: "tolerations", path: []string{"spec", "template", "spec", "tolerations"}},
	{name: "serviceAnnotations", kind: "Service", path: []string{"metadata", "annotations"}},
	{name: "service", kind: "Service", path: []string{"spec"}},
	{name: "securityContext", path: []string{"spec", "template", "spec", "securityContext"}},
}

// settings lays the k8s settings over the objects that they are for.
func (p *patcher) settings() {
	k8s := p.in.spec.Get("k8s")
	if k8s.Kind() != source.Map {
		return
	}
	for _, s := range settingsOf {
		f, ok := k8s.Field(s.name)
		if !ok {
			continue
		}
		value := f.Value
		if s.name == "service" && p.in.gateway && value.Kind() == source.Map {
			value = value.Without("ports") // the chart has made them
		}
		path := s.path
		if s.container {
			inner := source.NewMap(source.F("name", source.NewString(p.in.container)), source.F(path[0], value))
			path, value = []string{"spec", "template", "spec", "containers"}, source.NewList(inner)
		}
		patch := value
		for i := len(path) - 1; i >= 0; i-- {
			patch = source.NewMap(source.F(path[i], patch))
		}
		kind := s.kind
		if kind == "" {
			kind = p.in.kind
		}
		p.setting(f, kind, patch)
	}
}

// name is the name of the objects that k8s settings are for.
func (p *patcher) name() string {
	name := p.in.resource
	if p.in.name != "" {
		name = p.in.name
	}
	if p.in.key == "pilot" && p.revision != "" && p.revision != "default" {
		name += "-" + p.revision
	}
	return name
}

func (p *patcher) setting(f source.Field, kind string, patch *source.Node) {
	matched := false
	for i := range p.objects {
		o := &p.objects[i]
		if o.Kind != kind || o.Name != p.name() {
			continue
		}
		matched = true
		typ := typeOf(o.Ref)
		root, err := kube.Merge(kube.Normalize(o.Root, typ), patch, typ)
		var bad *kube.MergeError
		if errors.As(err, &bad) {
			p.found = append(p.found, finding(diag.Error, CodePath, bad.Span, "%s.k8s.%s: %s %s", p.in.where, f.Key, bad.Path, bad.Message))
			continue
		}
		if kind == "PodDisruptionBudget" && root.Get("spec", "maxUnavailable") != nil && root.Get("spec", "minAvailable") != nil {
			root = root.With("spec", root.Get("spec").Without("minAvailable")) // an object has one of the two
		}
		o.Root = root
	}
	if matched || f.Value.IsNull() {
		return
	}
	what := "no object"
	fix := ""
	switch {
	case kind == "HorizontalPodAutoscaler" && p.in.kind == "Deployment":
		what, fix = "no autoscaler", "set values."+strings.Join(p.in.values, ".")+".autoscaleEnabled=true"
	case kind == "PodDisruptionBudget" && p.in.kind == "Deployment":
		what, fix = "no disruption budget", "set k8s.hpaSpec.minReplicas, or replicaCount, above 1"
	case kind != "":
		what = "no " + kind
	}
	d := finding(diag.Warning, CodeNoMatch, keySpan(f), "%s.k8s.%s has no effect: component %s has %s", p.in.where, f.Key, p.in.component.name, what)
	d.Fix = fix
	p.found = append(p.found, d)
}

// typeOf returns the type of an object of an install.
func typeOf(ref kube.Ref) kube.Type {
	switch kube.Group(ref.APIVersion) + "/" + ref.Kind {
	case "/Service":
		return kube.TypeService
	case "autoscaling/HorizontalPodAutoscaler":
		return kube.TypeHorizontalPodAutoscaler
	case "policy/PodDisruptionBudget":
		return kube.TypePodDisruptionBudget
	}
	return kube.TypeOf(ref)
}

// overlays applies the overlays.
func (p *patcher) overlays() {
	for i, o := range p.in.spec.Get("k8s", "overlays").Items() {
		where := fmt.Sprintf("%s.k8s.overlays[%d]", p.in.where, i)
		kind, name := o.Get("kind").Str(), o.Get("name").Str()
		matched := false
		for j := range p.objects {
			if object := &p.objects[j]; object.Kind == kind && object.Name == name {
				matched = true
				p.overlay(object, o, where)
			}
		}
		if !matched {
			p.unmatched(o, where, kind, name)
		}
	}
}

func (p *patcher) unmatched(o *source.Node, where, kind, name string) {
	at := o.Get("name")
	if at == nil {
		at = o
	}
	d := finding(diag.Warning, CodeNoMatch, start(at), "%s has no effect: component %s has no %s %s", where, p.in.component.name, kind, name)
	var names, kinds []string
	for _, object := range p.objects {
		kinds = append(kinds, object.Kind)
		if object.Kind == kind {
			names = append(names, object.Name)
		}
	}
	switch near := diag.Nearest(name, names); {
	case near != "":
		d.Fix = "did you mean " + near + "?"
	case len(names) > 0:
		d.Fix = "there is " + strings.Join(names, ", ")
	default:
		if near := diag.Nearest(kind, kinds); near != "" {
			d.Fix = "did you mean kind " + near + "?"
		}
	}
	p.found = append(p.found, d)
}

// overlay applies the patches of an overlay to an object.
func (p *patcher) overlay(object *Object, o *source.Node, where string) {
	if version := o.Get("apiVersion"); version.Str() != "" && version.Str() != object.APIVersion {
		d := finding(diag.Warning, CodeNoMatch, version.Span(), "%s: %s %s has apiVersion %s, not %s", where, object.Kind, object.Name, object.APIVersion, version.Str())
		d.Fix = "write " + object.APIVersion
		p.found = append(p.found, d)
	}
	for i, patch := range o.Get("patches").Items() {
		path := patch.Get("path")
		w := overlayWalk{ref: object.Ref}
		root, why := w.put(object.Root, typeOf(object.Ref), parsePath(path.Str()), 0, patch.Get("value"))
		if why != "" {
			at := path
			if at == nil {
				at = patch
			}
			d := finding(diag.Error, CodePath, start(at), "%s.patches[%d]: %s", where, i, why)
			d.Fix = w.fix
			p.found = append(p.found, d)
			continue
		}
		object.Root, object.Ref = root, kube.RefOf(root)
	}
}
