package manifest

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// Summary tells what objects put into a cluster.
type Summary struct {
	Objects    int              `json:"objects"`
	Namespaces []string         `json:"namespaces"`
	Kinds      []KindCount      `json:"kinds"`
	Components []ComponentCount `json:"components"`
	CRDs       []CRDGroup       `json:"crds"`
	Webhooks   []Webhook        `json:"webhooks"`
	Access     []Access         `json:"access"`
	Workloads  []Workload       `json:"workloads"`
	Requests   Resources        `json:"requests"`
	Ports      []Port           `json:"ports"`
	Images     []Image          `json:"images"`
}

// KindCount counts the objects of a kind.
type KindCount struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	// ClusterScoped tells that the kind lives in no namespace, as far as that
	// is known: of Kubernetes' own kinds, and of those whose CRD is among the
	// objects.
	ClusterScoped bool `json:"clusterScoped"`
	Count         int  `json:"count"`
}

// ComponentCount counts the objects of a part of the mesh.
type ComponentCount struct {
	// Name is that of the label of the operator, else the chart's
	// of Helm's label, else empty.
	Name    string      `json:"name"`
	Objects int         `json:"objects"`
	Kinds   []KindCount `json:"kinds"`
}

// CRDGroup lists the custom resources of an API group.
type CRDGroup struct {
	Group     string     `json:"group"`
	Resources []Resource `json:"resources"`
}

// Resource is a custom resource.
type Resource struct {
	Plural   string            `json:"plural"`
	Kind     string            `json:"kind"`
	Scope    string            `json:"scope"`
	Versions []ResourceVersion `json:"versions"`
}

// ResourceVersion is a version of a custom resource.
type ResourceVersion struct {
	Name       string `json:"name"`
	Served     bool   `json:"served"`
	Storage    bool   `json:"storage"`
	Deprecated bool   `json:"deprecated,omitempty"`
}

// Workload is what makes pods.
type Workload struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Replicas is how many pods there are at first; nil for one on each node.
	Replicas *int64 `json:"replicas"`
	// MaxReplicas is how many an autoscaler makes of them at most, 0 without one.
	MaxReplicas int64 `json:"maxReplicas,omitempty"`
	// Requests and Limits are those of one pod.
	Requests Resources `json:"requests"`
	Limits   Resources `json:"limits"`
}

// Resources are amounts of CPU and memory, as Kubernetes writes quantities;
// empty for none.
type Resources struct {
	CPU    string `json:"cpu"`
	Memory string `json:"memory"`
}

// Port is a port of a Service.
type Port struct {
	Namespace string `json:"namespace"`
	Service   string `json:"service"`
	Type      string `json:"type"`
	Name      string `json:"name"`
	Port      int64  `json:"port"`
	Target    string `json:"target"`
	Protocol  string `json:"protocol"`
}

// Image is a container image, and what runs it.
type Image struct {
	Image  string   `json:"image"`
	UsedBy []string `json:"usedBy"`
}

// Summarise tells what objects put into a cluster. Lists count as their items.
func Summarise(objects []*source.Node) *Summary {
	s := &Summary{}
	var all []*source.Node
	for _, root := range objects {
		for o := range kube.Objects(root) {
			if o.Ref.Kind != "" {
				all = append(all, o.Node)
			}
		}
	}
	s.Objects = len(all)
	s.CRDs = crdGroups(all)
	scopes := s.scopes()
	s.Kinds = countKinds(all, scopes)
	s.Components = countComponents(all, scopes)
	s.Namespaces = namespaces(all)
	s.Webhooks = webhooks(all)
	s.Access = access(all)
	s.Workloads, s.Requests = workloads(all)
	s.Ports = ports(all)
	s.Images = Images(all)
	return s
}

// isClusterScoped tells the kinds of Kubernetes that live in no namespace.
func isClusterScoped(group, kind string) bool {
	switch group + "/" + kind {
	case "/Namespace", "/Node", "/PersistentVolume", "apiextensions.k8s.io/CustomResourceDefinition",
		"rbac.authorization.k8s.io/ClusterRole", "rbac.authorization.k8s.io/ClusterRoleBinding",
		"admissionregistration.k8s.io/MutatingWebhookConfiguration", "admissionregistration.k8s.io/ValidatingWebhookConfiguration",
		"admissionregistration.k8s.io/ValidatingAdmissionPolicy", "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding",
		"admissionregistration.k8s.io/MutatingAdmissionPolicy", "admissionregistration.k8s.io/MutatingAdmissionPolicyBinding",
		"apiregistration.k8s.io/APIService", "storage.k8s.io/StorageClass", "storage.k8s.io/CSIDriver", "scheduling.k8s.io/PriorityClass",
		"node.k8s.io/RuntimeClass", "networking.k8s.io/IngressClass", "gateway.networking.k8s.io/GatewayClass",
		"certificates.k8s.io/CertificateSigningRequest", "security.openshift.io/SecurityContextConstraints":
		return true
	}
	return false
}

// scopes returns which custom kinds live in no namespace, by group and kind.
func (s *Summary) scopes() map[string]bool {
	m := map[string]bool{}
	for _, g := range s.CRDs {
		for _, r := range g.Resources {
			m[g.Group+"/"+r.Kind] = r.Scope == "Cluster"
		}
	}
	return m
}

func countKinds(all []*source.Node, scopes map[string]bool) []KindCount {
	list := []KindCount{}
	index := map[[2]string]int{}
	for _, o := range all {
		key := [2]string{o.Get("kind").Str(), o.Get("apiVersion").Str()}
		i, ok := index[key]
		if !ok {
			i = len(list)
			index[key] = i
			group := kube.Group(key[1])
			list = append(list, KindCount{Kind: key[0], APIVersion: key[1], ClusterScoped: isClusterScoped(group, key[0]) || scopes[group+"/"+key[0]]})
		}
		list[i].Count++
	}
	slices.SortFunc(list, func(a, b KindCount) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.APIVersion, b.APIVersion))
	})
	return list
}

// componentOf returns the name of the part of the mesh that an object belongs
// to.
func componentOf(o *source.Node) string {
	labels := o.Get("metadata", "labels")
	if name := labels.Get(annot.OperatorComponent).Scalar(); name != "" {
		return name
	}
	name := labels.Get(annot.HelmChart).Scalar()
	for i := range len(name) { // istiod-1.31.0: the version begins with a digit
		if name[i] == '-' && i+1 < len(name) && name[i+1] >= '0' && name[i+1] <= '9' {
			return name[:i]
		}
	}
	return name
}

func countComponents(all []*source.Node, scopes map[string]bool) []ComponentCount {
	by := map[string][]*source.Node{}
	for _, o := range all {
		name := componentOf(o)
		by[name] = append(by[name], o)
	}
	list := make([]ComponentCount, 0, len(by))
	for name, objects := range by {
		list = append(list, ComponentCount{name, len(objects), countKinds(objects, scopes)})
	}
	slices.SortFunc(list, func(a, b ComponentCount) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

func namespaces(all []*source.Node) []string {
	list := []string{}
	for _, o := range all {
		list = append(list, o.Get("metadata", "namespace").Str())
		if o.Get("kind").Str() == "Namespace" {
			list = append(list, nameOf(o))
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

func nameOf(o *source.Node) string { return o.Get("metadata", "name").Scalar() }

func crdGroups(all []*source.Node) []CRDGroup {
	list := []CRDGroup{}
	for _, o := range all {
		if o.Get("kind").Str() != "CustomResourceDefinition" {
			continue
		}
		spec := o.Get("spec")
		r := Resource{Plural: spec.Get("names", "plural").Str(), Kind: spec.Get("names", "kind").Str(), Scope: spec.Get("scope").Str()}
		for _, v := range spec.Get("versions").Items() {
			r.Versions = append(r.Versions, ResourceVersion{v.Get("name").Str(), v.Get("served").IsTrue(), v.Get("storage").IsTrue(), v.Get("deprecated").IsTrue()})
		}
		group := spec.Get("group").Str()
		i := slices.IndexFunc(list, func(g CRDGroup) bool { return g.Group == group })
		if i < 0 {
			i = len(list)
			list = append(list, CRDGroup{Group: group})
		}
		list[i].Resources = append(list[i].Resources, r)
	}
	slices.SortFunc(list, func(a, b CRDGroup) int { return cmp.Compare(a.Group, b.Group) })
	for _, g := range list {
		slices.SortFunc(g.Resources, func(a, b Resource) int { return cmp.Compare(a.Plural, b.Plural) })
	}
	return list
}

// amounts adds up CPU and memory.
type amounts struct{ cpu, memory resource.Quantity }

func (a *amounts) add(n *source.Node) {
	for key, to := range map[string]*resource.Quantity{"cpu": &a.cpu, "memory": &a.memory} {
		if q, err := resource.ParseQuantity(n.Get(key).Scalar()); err == nil {
			to.Add(q)
		}
	}
}

func (a *amounts) times(n int64) {
	for _, q := range []*resource.Quantity{&a.cpu, &a.memory} {
		one := q.DeepCopy()
		*q = resource.Quantity{Format: q.Format}
		for range min(n, 10000) {
			q.Add(one)
		}
	}
}

func (a *amounts) plus(b *amounts) {
	a.cpu.Add(b.cpu)
	a.memory.Add(b.memory)
}

func (a *amounts) strings() Resources {
	text := func(q *resource.Quantity) string {
		if q.IsZero() {
			return ""
		}
		return q.String()
	}
	return Resources{text(&a.cpu), text(&a.memory)}
}

// podTemplate returns the pod template of an object that makes pods, nil for
// others.
func podTemplate(o *source.Node) *source.Node {
	switch o.Get("kind").Str() {
	case "Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "Job":
		return o.Get("spec", "template")
	case "CronJob":
		return o.Get("spec", "jobTemplate", "spec", "template")
	case "Pod":
		return o
	}
	return nil
}

// workloads lists what makes pods, and adds up what these request at first; of
// workloads with a pod on each node, one.
func workloads(all []*source.Node) ([]Workload, Resources) {
	list := []Workload{}
	var total amounts
	for _, o := range all {
		pod := podTemplate(o)
		if pod == nil {
			continue
		}
		w := Workload{Kind: o.Get("kind").Str(), Namespace: o.Get("metadata", "namespace").Str(), Name: nameOf(o)}
		if w.Kind != "DaemonSet" {
			replicas := int64(1)
			if n, ok := o.Get("spec", "replicas").Int(); ok {
				replicas = n
			}
			if scaler := scalerOf(all, w); scaler != nil {
				if n, ok := scaler.Get("spec", "minReplicas").Int(); ok {
					replicas = max(replicas, n)
				}
				w.MaxReplicas, _ = scaler.Get("spec", "maxReplicas").Int()
			}
			w.Replicas = &replicas
		}
		var requests, limits amounts
		for _, c := range pod.Get("spec", "containers").Items() {
			requests.add(c.Get("resources", "requests"))
			limits.add(c.Get("resources", "limits"))
		}
		w.Requests, w.Limits = requests.strings(), limits.strings()
		if w.Replicas != nil {
			requests.times(*w.Replicas)
		}
		total.plus(&requests)
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b Workload) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	})
	return list, total.strings()
}

// scalerOf returns the autoscaler of a workload.
func scalerOf(all []*source.Node, w Workload) *source.Node {
	for _, o := range all {
		target := o.Get("spec", "scaleTargetRef")
		if o.Get("kind").Str() == "HorizontalPodAutoscaler" && o.Get("metadata", "namespace").Str() == w.Namespace &&
			target.Get("kind").Str() == w.Kind && target.Get("name").Scalar() == w.Name {
			return o
		}
	}
	return nil
}

func ports(all []*source.Node) []Port {
	list := []Port{}
	for _, o := range all {
		if o.Get("kind").Str() != "Service" || kube.Group(o.Get("apiVersion").Str()) != "" {
			continue
		}
		for _, p := range o.Get("spec", "ports").Items() {
			number, _ := p.Get("port").Int()
			list = append(list, Port{
				Namespace: o.Get("metadata", "namespace").Str(), Service: nameOf(o), Type: cmp.Or(o.Get("spec", "type").Str(), "ClusterIP"),
				Name: p.Get("name").Scalar(), Port: number, Protocol: cmp.Or(p.Get("protocol").Str(), "TCP"),
				Target: cmp.Or(p.Get("targetPort").Scalar(), strconv.FormatInt(number, 10)),
			})
		}
	}
	slices.SortStableFunc(list, func(a, b Port) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Service, b.Service))
	})
	return list
}

// placeholderImage is what pods have that the webhook gives another image.
const placeholderImage = "auto"

// Images lists the images that the pods of objects run, by name. Pods whose
// image the webhook sets are left out: that is told by the configuration of
// the injection.
func Images(all []*source.Node) []Image {
	by := map[string][]string{}
	for _, o := range all {
		pod := podTemplate(o)
		for _, key := range [...]string{"initContainers", "containers"} {
			for _, c := range pod.Get("spec", key).Items() {
				if image := c.Get("image").Scalar(); image != "" && image != placeholderImage {
					by[image] = append(by[image], o.Get("kind").Str()+" "+strings.TrimPrefix(o.Get("metadata", "namespace").Str()+"/"+nameOf(o), "/")+" ("+c.Get("name").Scalar()+")")
				}
			}
		}
	}
	list := []Image{}
	for image, users := range by {
		slices.Sort(users)
		list = append(list, Image{image, slices.Compact(users)})
	}
	slices.SortFunc(list, func(a, b Image) int { return cmp.Compare(a.Image, b.Image) })
	return list
}
