package inject

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// PodSecurity is a level of the Pod Security Standards, in the version of a
// release of Kubernetes. The zero value stands for none that is known.
type PodSecurity struct{ policy api.LevelVersion }

// ParsePodSecurity reads LEVEL or LEVEL:VERSION, where VERSION is latest or
// that of a release: restricted:v1.30. The empty text is the zero PodSecurity.
func ParsePodSecurity(s string) (PodSecurity, error) {
	if s == "" {
		return PodSecurity{}, nil
	}
	level, version, hasVersion := strings.Cut(s, ":")
	if !hasVersion {
		version = "latest"
	}
	return newPodSecurity(level, version)
}

func newPodSecurity(level, version string) (PodSecurity, error) {
	l, err := api.ParseLevel(level)
	if err != nil {
		return PodSecurity{}, fmt.Errorf("reading level %q: it is not privileged, baseline or restricted", level)
	}
	v, err := api.ParseVersion(version)
	if err != nil {
		return PodSecurity{}, fmt.Errorf("reading version %q: it is neither latest nor of the form v1.30", version)
	}
	return PodSecurity{api.LevelVersion{Level: l, Version: v}}, nil
}

// judges tells whether the level forbids anything at all.
func (p PodSecurity) judges() bool {
	return p.policy.Level == api.LevelBaseline || p.policy.Level == api.LevelRestricted
}

// String returns the level, with its version where that is not the latest.
func (p PodSecurity) String() string {
	s := string(p.policy.Level)
	if v := p.policy.Version; s != "" && !v.Latest() {
		s += ":" + v.String()
	}
	return s
}

// podSecurityOf returns the level that a pod will be judged by, and where it
// comes from in words: the caller's, else that of the namespace's labels.
func podSecurityOf(r *Request) (p PodSecurity, from string) {
	if r.PodSecurity != (PodSecurity{}) {
		return r.PodSecurity, ""
	}
	labels := r.Namespace.Get("metadata", "labels")
	if labels.Get(annot.PodSecurityEnforce).IsNull() {
		return PodSecurity{}, ""
	}
	version := labels.Get(annot.PodSecurityEnforceVersion).Scalar()
	if version == "" {
		version = "latest"
	}
	p, err := newPodSecurity(labels.Get(annot.PodSecurityEnforce).Scalar(), version)
	if err != nil {
		return PodSecurity{}, "" // the API server does not take such a label
	}
	return p, " of namespace " + r.Namespace.Get("metadata", "name").Scalar()
}

// evaluator is Kubernetes' own judge. To make it takes 1 ms, which only those
// pay whose pods are judged.
var evaluator = sync.OnceValue(func() policy.Evaluator {
	e, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		panic(err) // the library refuses its own table
	}
	return e
})

// breach is one rule that a pod, or one of its containers, breaks.
type breach struct {
	container string // "" for the pod as a whole
	list      string // where the container stands
	rule      string // in the words of the judge
	detail    string
}

// breaches judges a pod, container by container.
func (p PodSecurity) breaches(pod *source.Node) []breach {
	var meta metav1.ObjectMeta
	var spec corev1.PodSpec
	if decodeJSON(pod.Get("metadata"), &meta) != nil || decodeJSON(pod.Get("spec"), &spec) != nil {
		return nil // the API server refuses it sooner
	}
	for i := range spec.Volumes {
		if v := &spec.Volumes[i].VolumeSource; *v == (corev1.VolumeSource{}) {
			v.EmptyDir = &corev1.EmptyDirVolumeSource{} // as the API server does, before it judges
		}
	}
	bare := spec
	bare.InitContainers, bare.Containers, bare.EphemeralContainers = nil, nil, nil
	var list []breach
	ofPod := map[breach]bool{}
	for _, r := range p.judge(&meta, &bare) {
		b := breach{rule: r.ForbiddenReason, detail: r.ForbiddenDetail}
		ofPod[b] = true
		list = append(list, b)
	}
	each := func(name, kind string, alone *corev1.PodSpec) {
		for _, r := range p.judge(&meta, alone) {
			if !ofPod[breach{rule: r.ForbiddenReason, detail: r.ForbiddenDetail}] {
				list = append(list, breach{name, kind, r.ForbiddenReason, r.ForbiddenDetail})
			}
		}
	}
	for i, c := range spec.InitContainers {
		alone := bare
		alone.InitContainers = spec.InitContainers[i : i+1]
		each(c.Name, listInitContainers, &alone)
	}
	for i, c := range spec.Containers {
		alone := bare
		alone.Containers = spec.Containers[i : i+1]
		each(c.Name, listContainers, &alone)
	}
	return list
}

func (p PodSecurity) judge(meta *metav1.ObjectMeta, spec *corev1.PodSpec) []policy.CheckResult {
	var broken []policy.CheckResult
	for _, r := range evaluator().EvaluatePod(p.policy, meta, spec) {
		if !r.Allowed {
			broken = append(broken, r)
		}
	}
	return broken
}

func decodeJSON(n *source.Node, into any) error {
	if n.IsNull() {
		return nil
	}
	return json.Unmarshal(source.AppendJSON(nil, n), into)
}

// advisePodSecurity tells what of the injected pod its Pod Security level
// forbids, container by container, and the setting that cures it (I-49).
func advisePodSecurity(in *injection, pod *source.Node) diag.List {
	level, from := podSecurityOf(in.request)
	if !level.judges() {
		return nil
	}
	var list diag.List
	for _, b := range level.breaches(pod) {
		who, at, fix := "the pod", source.Span{}, ""
		if b.container == "" {
			at, fix = in.podCure(pod, b)
		} else {
			who = "container " + quote(b.container)
			if find(specList(in.templates, b.list), b.container) >= 0 {
				fix = in.podSecurityCure(b)
			} else if items := specList(pod, b.list); find(items, b.container) >= 0 {
				c := items[find(items, b.container)]
				at, fix = c.Span(), containerCure(b)
				if ports := c.Get("ports"); b.rule == ruleHostPort && ports.Span().IsValid() {
					at = ports.Span()
				}
			}
		}
		what := b.rule
		if b.detail != "" {
			what += ": " + b.detail
		}
		list = append(list, warn(CodePodSecurity, at,
			who+" breaks Pod Security level "+level.String()+from+": "+what, fix))
	}
	return list
}

// Rules of the judge that are about something else than a securityContext.
const (
	ruleHostPort       = "hostPort"
	ruleHost           = "probe or lifecycle host"
	ruleHostNamespaces = "host namespaces"
	ruleHostPath       = "hostPath volumes"
	ruleVolumeTypes    = "restricted volume types"
)

// containerCure says what of a container of the pod's own keeps a rule.
func containerCure(b breach) string {
	switch b.rule {
	case ruleHostPort:
		return "remove hostPort from the container's ports, and reach the pod by a Service"
	case ruleHost:
		return "leave host out of the container's probes and lifecycle hooks, so that the pod is asked"
	}
	return "change the securityContext of the container, or of the pod"
}

// podCure says where the pod as a whole breaks a rule, and what keeps it.
func (in *injection) podCure(pod *source.Node, b breach) (source.Span, string) {
	spec := pod.Get("spec")
	switch b.rule {
	case ruleHostNamespaces:
		for _, key := range [...]string{"hostNetwork", "hostPID", "hostIPC"} {
			if f, ok := spec.Field(key); ok && f.Value.Scalar() == "true" {
				return f.KeySpan, "remove " + key
			}
		}
	case ruleHostPath, ruleVolumeTypes:
		for _, v := range specList(pod, listVolumes) {
			if field, has := sourceOf(v); !has || !strings.Contains(b.detail, quote(nameOf(v))) || b.rule == ruleHostPath && field.Key != "hostPath" {
				continue
			}
			if find(specList(in.templates, listVolumes), nameOf(v)) >= 0 && !in.isUsersVolume(nameOf(v)) {
				return source.Span{}, "change the injection template, which adds the volume"
			}
			return v.Span(), "use a volume of another type: emptyDir, configMap, secret, projected or persistentVolumeClaim"
		}
	default:
		if context := spec.Get("securityContext"); context.Span().IsValid() {
			return context.Span(), "change the securityContext of the pod"
		}
	}
	return source.Span{}, "change the pod, or the level of its namespace"
}

// podSecurityCure names the setting of the mesh that keeps an injected
// container from breaking a rule.
func (in *injection) podSecurityCure(b breach) string {
	const (
		useCNI   = "install the mesh's CNI plugin (values pilot.cni.enabled), which needs no privileges in the pod"
		noDump   = "set values global.proxy.enableCoreDump to false"
		redirect = "set annotation " + annot.SidecarInterceptionMode + " to REDIRECT: TPROXY needs a privileged sidecar"
	)
	switch b.rule {
	case "seccompProfile":
		return "set values global.proxy.seccompProfile to {type: RuntimeDefault}, or spec.securityContext.seccompProfile of the pod"
	case "privileged", "allowPrivilegeEscalation != false":
		if b.container == coreDumpContainer {
			return noDump
		}
		return "set values global.proxy.privileged to false"
	}
	switch b.container {
	case initContainer:
		return useCNI
	case coreDumpContainer:
		return noDump
	case proxyContainer:
		if in.interceptionMode() == "TPROXY" {
			return redirect
		}
	}
	return "change the injection template, or override the container in the pod"
}
