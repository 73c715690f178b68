package inject

import (
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/tmpl"
)

// Releases 0.8 and 1.0: the command line injects whatever it gets; the webhook
// adds what the API server would add by default.

func gen0_8() Generation {
	return Generation{
		shape: release.Spec,
		rules: []rule{
			ruleHostNetwork, ruleWindows, ruleOwnNamespace, ruleLegalPolicy, ruleFuzzyAnnotationAtAdmission,
			rulePolicy, ruleCommandLine,
		},
		validate:   validatorOf(release.Oldest),
		mergeProxy: ignoreProxyConfig,
		proxyImage: imageOfMessage,
		former:     formerPod,
		native:     func(*Request) bool { return false },
		owner:      ownerRules{always: true},
		apply:      applySpec,
		judge:      judgeSpec,
		misfit:     "is no sidecar: ",
		proxyEnv:   noProxyEnv,
		specSteps: [2][]specStep{
			CommandLine: {
				{"append", appendTo(specLists[:3], nothingFirst)},
				{"status", writeStatus},
			},
			Admission: {
				{"defaults", setDefaults},
				{"earlier injection", removeEarlier},
				{"append", appendTo(specLists[:], nothingFirst)},
				{"status", writeStatus},
			},
		},
	}
}

var (
	ruleOwnNamespace = rule{
		"system namespace", "skips kube-system and kube-public, where the pod itself says that it lives there", &atAdmission, askOwnNamespace,
	}
	ruleFuzzyAnnotationAtAdmission = rule{
		"annotation sidecar.istio.io/inject",
		"injects at y, yes, true and on, in upper or lower case, skips at all else", &atAdmission, askFuzzyAnnotation,
	}
)

func askOwnNamespace(_ *Engine, r *Request) answer {
	n := r.Pod.Get("metadata", "namespace")
	return systemNamespace(n.Scalar(), n.Span())
}

func systemNamespace(ns string, at source.Span) answer {
	switch ns {
	case "":
		return answer{evidence: "the namespace is not known"}
	case "kube-system", "kube-public":
		return answer{
			decided: true, verdict: Skip, reason: SystemNamespace,
			message:  "namespace " + ns + " is the system's, where nothing is injected",
			evidence: "namespace " + ns, span: at,
		}
	}
	return answer{evidence: "namespace " + ns, span: at}
}

// ignoreProxyConfig leaves the mesh's proxy configuration as it is: pods had
// none of their own until 1.6.
func ignoreProxyConfig(mesh *config.Mesh, _ string) (*meshv1alpha1.ProxyConfig, diag.List) {
	return mesh.Config.GetDefaultConfig(), nil
}

func noProxyEnv(*Engine, *Request) map[string]string { return nil }

// formerPod is formerOf, where the metadata of a bare pod's workload is that of
// the pod.
func formerPod(in *injection) *tmpl.Former {
	f := formerOf(in)
	if in.request.OwnerMeta == nil {
		meta := in.request.Pod.Get("metadata")
		f.DeploymentMeta.Labels, f.DeploymentMeta.Annotations = textMap(meta.Get("labels")), textMap(meta.Get("annotations"))
	}
	return f
}

// setDefaults writes into the spec what the API server would add to it.
func setDefaults(a *appending, pod *source.Node) *source.Node {
	for _, list := range specLists[:2] {
		containers := a.spec.Get(list)
		items := containers.Items()
		for i, c := range items {
			items = replaced(items, i, withContainerDefaults(c))
		}
		if len(items) > 0 {
			a.spec = a.spec.With(list, containers.WithItems(items...))
		}
	}
	volumes := a.spec.Get(listVolumes)
	items := volumes.Items()
	for i, v := range items {
		items = replaced(items, i, withVolumeDefaults(v))
	}
	if len(items) > 0 {
		a.spec = a.spec.With(listVolumes, volumes.WithItems(items...))
	}
	return pod
}
