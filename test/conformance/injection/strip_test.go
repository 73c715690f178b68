package injection

import (
	"encoding/json"
	"slices"
	"strings"
)

// stripped returns an object whose pods are what they were before an earlier
// injection, as far as its marks tell. The peer means to inject again as if
// for the first time (it strips what the templates see), but merges into the
// pod as it comes: injecting the stripped pod is what it means. ok tells that
// there was something to strip. Volumes and pull secrets go too where volumes
// says so, but for those that are still to be there, a list for each pod.
func stripped(o object, volumes bool, still [][]string) (object, bool) {
	o = copyTree(o).(object)
	found := false
	for i, w := range workloadsOf(o) {
		var names []string
		if i < len(still) {
			names = still[i]
		}
		found = stripPod(w.template, volumes, names) || found
	}
	return o, found
}

// claimed lists for each pod of an injected object the volumes and pull secrets
// that its status names.
func claimed(o outcome) [][]string {
	if o.refused {
		return nil
	}
	t, err := tree(o.object)
	if err != nil {
		return nil
	}
	var all [][]string
	for _, w := range workloadsOf(t) {
		var status struct{ Volumes, ImagePullSecrets []string }
		_ = json.Unmarshal([]byte(podOf(w.template).Annotations[statusAnnotation]), &status) // none where it cannot be read
		all = append(all, append(status.Volumes, status.ImagePullSecrets...))
	}
	return all
}

func stripPod(pod object, volumes bool, still []string) bool {
	meta, _ := pod["metadata"].(object)
	annotations, _ := meta["annotations"].(object)
	spec, _ := pod["spec"].(object)
	text, ok := annotations[statusAnnotation].(string)
	if !ok {
		return false
	}
	if spec == nil {
		spec = object{}
		pod["spec"] = spec
	}
	var status struct {
		InitContainers, Containers, Volumes, ImagePullSecrets []string
		Kept                                                  struct{ Volumes, ImagePullSecrets, Containers []string }
	}
	if json.Unmarshal([]byte(text), &status) != nil || strings.Contains(text, "[null]") {
		delete(annotations, statusAnnotation) // nothing that could be told from it
		return true
	}
	var saved struct{ InitContainers, Containers []any }
	if text, ok := annotations["proxy.istio.io/overrides"].(string); ok && json.Unmarshal([]byte(text), &saved) != nil {
		return false
	}
	delete(annotations, statusAnnotation)
	if left, leftInits := remaining(status.Containers, saved.Containers), remaining(status.InitContainers, saved.InitContainers); len(left)+len(leftInits) > 0 {
		// These stay, but templates do not see them.
		annotations[statusAnnotation] = string(mustJSON(object{"containers": left, "initContainers": leftInits}))
	}
	if len(saved.InitContainers)+len(saved.Containers) > 0 {
		delete(annotations, "proxy.istio.io/overrides")
	}
	proxy := object{}
	for _, c := range append(items(spec, "initContainers"), items(spec, "containers")...) {
		if c["name"] == "istio-proxy" {
			proxy = c
		}
	}
	restoreFrom(proxy, annotations, spec)
	spec["containers"] = put(items(spec, "containers"), status.Containers, saved.Containers)
	inits := put(items(spec, "initContainers"), status.InitContainers, saved.InitContainers)
	// The user's proxy goes back to where users write it.
	for i, c := range inits {
		if c := c.(object); c["name"] == "istio-proxy" && slices.Contains(status.InitContainers, "istio-proxy") {
			inits = slices.Delete(inits, i, i+1)
			spec["containers"] = append(spec["containers"].([]any), amongContainers(c, status.Kept.Containers))
			break
		}
	}
	spec["initContainers"] = inits
	for _, c := range saved.InitContainers {
		c, _ := c.(object)
		if c["name"] == "istio-proxy" && slices.Contains(status.InitContainers, "istio-proxy") && !hasProxy(inits) && !hasProxy(spec["containers"].([]any)) {
			back := put([]object{c}, []string{"istio-proxy"}, []any{c})[0].(object)
			spec["containers"] = append(spec["containers"].([]any), amongContainers(back, status.Kept.Containers))
		}
	}
	if volumes {
		spec["volumes"] = take(items(spec, "volumes"), status.Volumes, append(slices.Clone(still), status.Kept.Volumes...))
		spec["imagePullSecrets"] = take(items(spec, "imagePullSecrets"), status.ImagePullSecrets, append(slices.Clone(still), status.Kept.ImagePullSecrets...))
	}
	return true
}

// amongContainers takes from an istio-proxy what made it a sidecar among the init
// containers, where the user did not write it among the containers with that.
func amongContainers(c object, kept []string) object {
	if c["restartPolicy"] == "Always" && !slices.Contains(kept, "istio-proxy") {
		delete(c, "restartPolicy")
	}
	return c
}

func items(m object, list string) []object {
	all, _ := m[list].([]any)
	var out []object
	for _, e := range all {
		if e, ok := e.(object); ok {
			out = append(out, e)
		}
	}
	return out
}

// remaining returns those of the injected containers that are neither the
// mesh's own nor saved.
func remaining(injected []string, saved []any) []string {
	return slices.DeleteFunc(slices.Clone(injected), func(name string) bool {
		return slices.Contains(meshContainers, name) || slices.ContainsFunc(saved, func(s any) bool {
			c, _ := s.(object)
			return c["name"] == name
		})
	})
}

// take returns the items without those that were injected.
func take(all []object, injected, kept []string) []any {
	left := []any{}
	for _, e := range all {
		name, _ := e["name"].(string)
		if !slices.Contains(injected, name) || slices.Contains(kept, name) {
			left = append(left, e)
		}
	}
	return left
}

// meshContainers are the names of the containers of the shipped templates.
var meshContainers = []string{"istio-proxy", "istio-init", "istio-validation", "enable-core-dump"}

// put returns the containers without those of the mesh that were injected; of
// these, one that was saved comes back as it was saved.
func put(all []object, injected []string, saved []any) []any {
	kept := []any{}
	for _, c := range all {
		name, _ := c["name"].(string)
		if !slices.Contains(injected, name) {
			kept = append(kept, c)
			continue
		}
		was := !slices.Contains(meshContainers, name)
		for _, s := range saved {
			if s, ok := s.(object); ok && s["name"] == name {
				s = copyTree(s).(object)
				if s["image"] == nil {
					s["image"] = "auto"
				}
				kept, was = append(kept, s), false
			}
		}
		if was {
			kept = append(kept, c)
		}
	}
	return kept
}

// restoreFrom puts back what the proxy's environment holds of the pod: probes
// that were sent to the agent, and metrics annotations.
func restoreFrom(proxy, annotations, spec object) {
	probers := map[string]object{}
	scrape := map[string]any{}
	for _, e := range items(proxy, "env") {
		text, _ := e["value"].(string)
		switch e["name"] {
		case "ISTIO_KUBE_APP_PROBERS":
			_ = json.Unmarshal([]byte(text), &probers) // none where it cannot be read
		case "ISTIO_PROMETHEUS_ANNOTATIONS":
			_ = json.Unmarshal([]byte(text), &scrape)
		}
	}
	for _, list := range []string{"containers", "initContainers"} {
		for _, c := range items(spec, list) {
			name, _ := c["name"].(string)
			restoreHandler(c, "readinessProbe", probers["/app-health/"+name+"/readyz"], "/app-health/"+name+"/readyz")
			restoreHandler(c, "livenessProbe", probers["/app-health/"+name+"/livez"], "/app-health/"+name+"/livez")
			restoreHandler(c, "startupProbe", probers["/app-health/"+name+"/startupz"], "/app-health/"+name+"/startupz")
			if l, ok := c["lifecycle"].(object); ok {
				restoreHandler(l, "preStop", probers["/app-lifecycle/"+name+"/prestopz"], "/app-lifecycle/"+name+"/prestopz")
				restoreHandler(l, "postStart", probers["/app-lifecycle/"+name+"/poststartz"], "/app-lifecycle/"+name+"/poststartz")
			}
		}
	}
	if annotations["prometheus.io/path"] != "/stats/prometheus" || annotations["prometheus.io/scrape"] != "true" {
		return
	}
	for _, key := range []string{"path", "port", "scrape"} {
		delete(annotations, "prometheus.io/"+key)
		if v, ok := scrape[key].(string); ok && v != "" {
			annotations["prometheus.io/"+key] = v
		}
	}
	targets, _ := scrape["targets"].([]any)
	var list []string
	for _, t := range targets {
		t, _ := t.(object)
		port, _ := t["port"].(string)
		path, _ := t["path"].(string)
		list = append(list, port+":"+path)
	}
	if list != nil {
		annotations["prometheus.istio.io/scrape-targets"] = strings.Join(list, ",")
		delete(annotations, "prometheus.io/path")
		delete(annotations, "prometheus.io/port")
	}
}

func restoreHandler(c object, key string, was object, url string) {
	now, _ := c[key].(object)
	get, _ := now["httpGet"].(object)
	if was == nil || get == nil || get["path"] != url {
		return
	}
	delete(now, "httpGet")
	for _, kind := range []string{"httpGet", "tcpSocket", "grpc"} {
		if a, ok := was[kind].(object); ok {
			now[kind] = a
		}
	}
}
