package inject

import (
	"strings"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// Injecting again starts from the pod as it was before: what the status
// annotation says an earlier injection added is taken out first, and what it
// changed and left a record of is put back. The mesh's injector does that for
// what templates see, but merges into the pod as it comes, so that remains of
// the earlier configuration stay (I-20, I-22).

// earlier is what is known of an earlier injection of a pod.
type earlier struct {
	status
	injected bool      // a status annotation is there
	saved    overrides // what the user wrote in place of injected containers
}

// strip returns the pod as it was before an earlier injection, and what that
// injection said about itself. The volumes and pull secrets that it added stay
// for now: see dropStale.
func strip(pod *source.Node) (*source.Node, earlier, diag.List) {
	var (
		was      earlier
		findings diag.List
	)
	if n := annotation(pod, annot.ProxyOverrides); n != nil {
		var bad *diag.Diagnostic
		if was.saved, bad = parseOverrides(n); bad != nil {
			return pod, was, diag.List{bad}
		}
	}
	n := annotation(pod, annot.SidecarStatus)
	if n == nil {
		return pod, was, nil
	}
	was.injected = true
	var err error
	if was.status, err = parseStatus(n.Scalar()); err != nil {
		was.status = guessStatus(pod)
		findings = append(findings, &diag.Diagnostic{
			Code: CodeStatusGarbage, Severity: diag.Warning, Span: n.Span(),
			Message: "annotation " + annot.SidecarStatus + " cannot be read: " + err.Error() + "; it is written anew",
			Fix:     "remove the annotation, which is injection's own",
		})
	}
	proxy, _ := findContainer(pod, proxyContainer)
	if proxy != nil && (contains(was.containers, proxyContainer) || contains(was.initContainers, proxyContainer)) {
		pod = restoreProbes(pod, proxy)
		pod = restorePrometheus(pod, proxy)
	} else if _, merged := variable(proxy, envPrometheus); !merged {
		// Metrics were merged where no template had a sidecar, and nothing was to be kept.
		pod = restorePrometheus(pod, nil)
	}
	pod = restoreContainers(pod, &was)
	pod = withoutAnnotations(pod, func(name string) bool { return name == annot.SidecarStatus || name == annot.ProxyOverrides })
	return pod, was, findings
}

// guessStatus tells what was injected into a pod whose status annotation
// cannot be read: the containers of the shipped templates, where they are
// evidently not the user's.
func guessStatus(pod *source.Node) status {
	var s status
	for _, c := range specList(pod, listContainers) {
		if looksInjected(c) {
			s.containers = append(s.containers, nameOf(c))
		}
	}
	for _, c := range specList(pod, listInitContainers) {
		if looksInjected(c) {
			s.initContainers = append(s.initContainers, nameOf(c))
		}
	}
	return s
}

func looksInjected(c *source.Node) bool {
	switch nameOf(c) {
	case proxyContainer:
		_, has := variable(c, "ISTIO_META_APP_CONTAINERS")
		return has
	case initContainer, validationContainer:
		args := c.Get("args").Items()
		return len(args) > 0 && args[0].Scalar() == "istio-iptables"
	}
	return false
}

// restoreContainers removes the containers that were injected. One that the
// user had too comes back as the user wrote it, in its place; the user's
// istio-proxy comes back among containers, from where native mode moves it
// again.
//
// A container of another name than the mesh's own that was not saved stays for
// now: it may be the user's, with a status that is wrong. See dropStale.
func restoreContainers(pod *source.Node, was *earlier) *source.Node {
	for _, part := range [...]struct {
		list     string
		injected []string
		saved    []*source.Node
	}{
		{listInitContainers, was.initContainers, was.saved.initContainers},
		{listContainers, was.containers, was.saved.containers},
	} {
		items := specList(pod, part.list)
		kept := make([]*source.Node, 0, len(items)+1)
		for _, c := range items {
			name := nameOf(c)
			i := find(part.saved, name)
			switch {
			case !contains(part.injected, name):
				kept = append(kept, c)
			case i >= 0 && (name != proxyContainer || part.list == listContainers):
				kept = append(kept, restoredOverride(part.saved[i]))
			case i < 0 && !isMeshContainer(name):
				kept = append(kept, c)
			}
		}
		if i := find(was.saved.initContainers, proxyContainer); i >= 0 && part.list == listContainers &&
			contains(was.initContainers, proxyContainer) && find(kept, proxyContainer) < 0 {
			c := restoredOverride(was.saved.initContainers[i])
			if !contains(was.keptContainers, proxyContainer) {
				c = classicProxy(c)
			}
			kept = append(kept, c)
		}
		pod = withSpecList(pod, part.list, kept)
	}
	return pod
}

// isMeshContainer tells the names that the shipped templates give containers.
func isMeshContainer(name string) bool {
	switch name {
	case proxyContainer, initContainer, validationContainer, coreDumpContainer:
		return true
	}
	return false
}

// restoredOverride gives a saved container its image again: image is a
// required field, and "auto" is not saved.
func restoredOverride(c *source.Node) *source.Node {
	if c.Get("image").Scalar() != "" {
		return c
	}
	return c.With("image", source.NewString(autoImage))
}

// seen is the pod as templates see it. A pod of a template lives where its
// workload does, whatever namespace the template has: nothing reads that.
func (in *injection) seen() *source.Node {
	pod, r := seenByTemplates(in.user, &in.was), in.request
	if own := pod.Get("metadata", "namespace").Scalar(); r.Door == CommandLine && r.NamespaceName != "" && own != "" && own != r.NamespaceName {
		pod = pod.WithAt(source.NewString(r.NamespaceName), "metadata", "namespace")
	}
	return pod
}

// seenByTemplates returns the pod as templates see it: without any container
// that an earlier injection added, with the saved ones, and without the undo
// record, which is nobody's setting.
func seenByTemplates(pod *source.Node, was *earlier) *source.Node {
	pod = withoutAnnotations(pod, func(name string) bool { return name == annot.UndoRecord })
	for _, part := range [...]struct {
		list     string
		injected []string
		saved    []*source.Node
	}{
		{listContainers, was.containers, was.saved.containers},
		{listInitContainers, was.initContainers, was.saved.initContainers},
	} {
		var kept []*source.Node
		for _, c := range specList(pod, part.list) {
			if name := nameOf(c); !contains(part.injected, name) || isMeshContainer(name) || find(part.saved, name) >= 0 {
				kept = append(kept, c)
			}
		}
		for _, c := range part.saved {
			if find(kept, nameOf(c)) < 0 && (nameOf(c) != proxyContainer || !was.injected) {
				kept = append(kept, c)
			}
		}
		pod = withSpecList(pod, part.list, kept)
	}
	return pod
}

// dropStale removes what else an earlier injection added, now that it is known
// what the templates add this time: volumes and pull secrets that they do not
// add any more, and containers that they make anew. A volume that a container
// still mounts stays, and what the user had too.
func dropStale(pod, templates *source.Node, was *earlier) *source.Node {
	drop := func(list string, is func(item, made *source.Node) bool) {
		added := specList(templates, list)
		var rest []*source.Node
		for _, item := range specList(pod, list) {
			var made *source.Node
			if i := find(added, nameOf(item)); i >= 0 {
				made = added[i]
			}
			if !is(item, made) {
				rest = append(rest, item)
			}
		}
		pod = withSpecList(pod, list, rest)
	}
	container := func(names []string) func(item, made *source.Node) bool {
		return func(item, made *source.Node) bool {
			return was.isLeft(nameOf(item), names) && made.Get("image").Scalar() != ""
		}
	}
	drop(listContainers, container(was.containers))
	drop(listInitContainers, container(was.initContainers))
	drop(listVolumes, func(item, made *source.Node) bool {
		name := nameOf(item)
		return made == nil && contains(was.volumes, name) && !contains(was.keptVolumes, name) && !isMounted(pod, name)
	})
	drop(listPullSecrets, func(item, made *source.Node) bool {
		name := nameOf(item)
		return made == nil && contains(was.pullSecrets, name) && !contains(was.keptPullSecrets, name)
	})
	return pod
}

// isLeft tells a container that an earlier injection says it added, and that
// was not taken out: see restoreContainers.
func (was *earlier) isLeft(name string, added []string) bool {
	return contains(added, name) && !isMeshContainer(name) &&
		find(was.saved.containers, name) < 0 && find(was.saved.initContainers, name) < 0
}

func isMounted(pod *source.Node, volume string) bool {
	for _, list := range [...]string{listContainers, listInitContainers} {
		for _, c := range specList(pod, list) {
			for _, mounts := range [...]string{"volumeMounts", "volumeDevices"} {
				if find(c.Get(mounts).Items(), volume) >= 0 {
					return true
				}
			}
		}
	}
	return false
}

// restorePrometheus puts back the scrape annotations that the metrics merge
// moved into a variable of the proxy.
func restorePrometheus(pod, proxy *source.Node) *source.Node {
	saved, merged := variable(proxy, envPrometheus)
	annotations := pod.Get("metadata", "annotations")
	if !merged && (annotations.Get(annot.PrometheusPath).Scalar() != mergedMetricsPath || annotations.Get(annot.PrometheusScrape).Scalar() != "true") {
		return pod // not what the merge wrote
	}
	pod = withoutAnnotations(pod, func(name string) bool {
		return name == annot.PrometheusPath || name == annot.PrometheusScrape || name == annot.PrometheusPort
	})
	config, err := parseJSON(saved)
	if err != nil {
		return pod
	}
	put := func(name, value string) {
		if value != "" {
			pod = withAnnotation(pod, name, value)
		}
	}
	put(annot.PrometheusScrape, config.Get("scrape").Str())
	if targets := config.Get("targets").Items(); len(targets) > 0 {
		list := make([]string, len(targets))
		for i, t := range targets {
			list[i] = t.Get("port").Str() + ":" + t.Get("path").Str()
		}
		put(annot.PrometheusScrapeTargets, strings.Join(list, ","))
		return pod
	}
	put(annot.PrometheusPath, config.Get("path").Str())
	put(annot.PrometheusPort, config.Get("port").Str())
	return pod
}
