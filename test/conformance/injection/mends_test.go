package injection

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"istio.io/istio/pkg/kube/inject"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// mending is a pod of the peer's that is being made what it should be.
type mending struct {
	s situation
	// before is the pod as it went in, pod the peer's result.
	before, pod *corev1.Pod
	// own is the pod as it went into ingraft.
	own *corev1.Pod
	// keptVolumes names the volumes whose source is the user's.
	keptVolumes []string
	// names collects the differences that were mended.
	names map[string]bool
}

func (m *mending) note(name string) { m.names[name] = true }

// mends are the deliberate differences within a pod. Each changes what the
// peer made into what docs/differences.md says, and notes by which name.
var mends = []struct {
	names []string
	do    func(*mending)
}{
	{[]string{nameProxies}, mendProxies},
	{[]string{nameHandlers}, mendHandlers},
	{[]string{nameNoStatusPort}, mendStatusPort},
	{[]string{nameBypassed, nameUnknownPort, nameAgentPort, nameNoStatusPort}, mendProbes},
	{[]string{nameAgain}, mendProbers},
	{[]string{nameSaved}, mendSaved},
	{[]string{nameAgain}, mendSavedPolicy},
	{[]string{nameVolume}, mendVolumes},
	{[]string{nameStatus}, mendStatus},
}

// The names of the differences within a pod; see documented.
const (
	nameProxies      = "two istio-proxy containers"
	nameNoStatusPort = "no status port"
	nameBypassed     = "probe not redirected"
	nameUnknownPort  = "probe on an unknown port name"
	nameAgentPort    = "probe on the agent's port"
	nameAgain        = "injecting again"
	nameSaved        = "the user's own istio-proxy survives"
	nameVolume       = "two sources in a volume"
	nameHandlers     = "two handlers in a probe"
	nameStatus       = "names that the status must not claim"
)

// mendProxies makes one container of two that are called istio-proxy, one
// among the containers and one among the init containers: the API server
// refuses both. The one of the templates stays where it is, and what the other
// says wins. See "Two istio-proxy containers" in docs/differences.md.
func mendProxies(m *mending) {
	spec := &m.pod.Spec
	classic := slices.IndexFunc(spec.Containers, isProxy)
	native := slices.IndexFunc(spec.InitContainers, isProxy)
	if classic < 0 || native < 0 {
		return
	}
	users := func(list []corev1.Container) *corev1.Container {
		if i := slices.IndexFunc(list, isProxy); i >= 0 {
			return &list[i]
		}
		return nil
	}
	stays, goes := &spec.InitContainers[native], spec.Containers[classic]
	list, save := "containers", users(m.before.Spec.Containers)
	mine := users(m.before.Spec.InitContainers)
	if mine != nil && !m.templatesAreNative() || mine == nil && spec.InitContainers[native].Image == "" {
		stays, goes, list, save = &spec.Containers[classic], spec.InitContainers[native], "initContainers", mine
		goes.RestartPolicy = nil
	}
	below := *stays
	auto := goes.Image == "auto"
	if auto {
		goes.Image = ""
	}
	last := m.setLast()
	goes.Env = slices.DeleteFunc(slices.Clone(goes.Env), func(e corev1.EnvVar) bool { return list == "initContainers" && last[e.Name] })
	if mine != nil && list == "initContainers" {
		// As ever, the template is put over the user's container, and that over it.
		below = overlaid(goes, below)
	}
	*stays = overlaid(below, goes)
	if auto && stays.Image == "" {
		stays.Image = "auto" // no template has an image
	}
	m.note(nameProxies)
	if list == "containers" {
		spec.Containers = slices.Delete(spec.Containers, classic, classic+1)
	} else {
		spec.InitContainers = slices.Delete(spec.InitContainers, native, native+1)
		inClassicOrder(spec.InitContainers)
	}
	m.editStatus(func(status map[string]any) {
		names, _ := status[list].([]any)
		status[list] = slices.DeleteFunc(names, func(n any) bool { return n == "istio-proxy" })
	})
	if save != nil && list == "initContainers" {
		c := save.DeepCopy()
		c.RestartPolicy = nil
		if c.Image == "auto" {
			c.Image = ""
		}
		m.save(*c)
	}
	if save == nil && list == "initContainers" && goes.Image == "" {
		m.claimForUsers()
	}
	m.saveOnce(list)
}

// claimForUsers tells of a sidecar that a template without an image has among
// the init containers, and the user among the containers, where it stays: that
// is the list in which it is claimed and saved.
func (m *mending) claimForUsers() {
	m.editStatus(func(status map[string]any) {
		if names, _ := status["containers"].([]any); !slices.Contains(names, any("istio-proxy")) {
			status["containers"] = append(names, "istio-proxy")
		}
	})
	var kept inject.ParsedContainers
	text, ok := m.pod.Annotations["proxy.istio.io/overrides"]
	if !ok || json.Unmarshal([]byte(text), &kept) != nil || slices.ContainsFunc(kept.Containers, isProxy) {
		return
	}
	if i := slices.IndexFunc(kept.InitContainers, isProxy); i >= 0 {
		kept.Containers = append(kept.Containers, kept.InitContainers[i])
		kept.InitContainers = slices.Delete(kept.InitContainers, i, i+1)
		m.pod.Annotations["proxy.istio.io/overrides"] = string(mustJSON(kept))
	}
}

// saveOnce keeps of a sidecar that was saved in both lists the one in the list
// where it stays.
func (m *mending) saveOnce(goes string) {
	var kept inject.ParsedContainers
	text, ok := m.pod.Annotations["proxy.istio.io/overrides"]
	if !ok || json.Unmarshal([]byte(text), &kept) != nil || !slices.ContainsFunc(kept.InitContainers, isProxy) || !slices.ContainsFunc(kept.Containers, isProxy) {
		return
	}
	if goes == "containers" {
		kept.Containers = slices.DeleteFunc(kept.Containers, isProxy)
	} else {
		kept.InitContainers = slices.DeleteFunc(kept.InitContainers, isProxy)
	}
	m.pod.Annotations["proxy.istio.io/overrides"] = string(mustJSON(kept))
}

// save adds a container of the user's to those that the annotation keeps, in
// the order in which the templates have them.
func (m *mending) save(c corev1.Container) {
	var kept inject.ParsedContainers
	var status struct{ InitContainers, Containers []string }
	if text, ok := m.pod.Annotations["proxy.istio.io/overrides"]; ok && json.Unmarshal([]byte(text), &kept) != nil {
		return
	}
	if json.Unmarshal([]byte(m.pod.Annotations[statusAnnotation]), &status) != nil {
		return
	}
	// What was saved and is not needed by any template is not saved again.
	kept.Containers = slices.DeleteFunc(kept.Containers, func(c corev1.Container) bool { return !slices.Contains(status.Containers, c.Name) })
	kept.InitContainers = slices.DeleteFunc(kept.InitContainers, func(c corev1.Container) bool { return !slices.Contains(status.InitContainers, c.Name) })
	kept.Containers = append(kept.Containers, c)
	slices.SortStableFunc(kept.Containers, func(a, b corev1.Container) int {
		return slices.Index(status.Containers, a.Name) - slices.Index(status.Containers, b.Name)
	})
	m.pod.Annotations["proxy.istio.io/overrides"] = string(mustJSON(kept))
}

// setLast names the variables that are set when all is merged, whatever the
// user's container says: those of the request's path, cluster and network. The
// peer sets them in a sidecar among containers, if there is one.
func (m *mending) setLast() map[string]bool {
	names := map[string]bool{}
	for name := range proxyEnv(m.s.Path) {
		names[name] = true
	}
	var values struct {
		Global struct {
			Network      string
			MultiCluster struct{ ClusterName string }
		}
	}
	if json.Unmarshal([]byte(m.s.bench.setting.values), &values) == nil {
		names["ISTIO_META_CLUSTER_ID"] = names["ISTIO_META_CLUSTER_ID"] || values.Global.MultiCluster.ClusterName != ""
		names["ISTIO_META_NETWORK"] = names["ISTIO_META_NETWORK"] || values.Global.Network != ""
	}
	if m.before.Labels["topology.istio.io/network"] != "" {
		names["ISTIO_META_NETWORK"] = true
	}
	return names
}

// inClassicOrder puts the init containers of the mesh where they go without a
// native sidecar: the check first, redirection last.
func inClassicOrder(inits []corev1.Container) {
	rank := func(c corev1.Container) int {
		return map[string]int{"istio-validation": -1, "istio-init": 1, "enable-core-dump": 2}[c.Name]
	}
	slices.SortStableFunc(inits, func(a, b corev1.Container) int { return rank(a) - rank(b) })
}

// mendSaved saves the user's own containers also where the pod carries a status
// annotation already: see "The user's own istio-proxy survives" in
// docs/differences.md.
func mendSaved(m *mending) {
	if _, again := m.before.Annotations[statusAnnotation]; !again {
		return
	}
	var was, now struct{ InitContainers, Containers []string }
	_ = json.Unmarshal([]byte(m.before.Annotations[statusAnnotation]), &was) // nothing where it cannot be read
	if json.Unmarshal([]byte(m.pod.Annotations[statusAnnotation]), &now) != nil {
		return
	}
	pick := func(names, old []string, of func(string) *corev1.Container) (list []corev1.Container) {
		for _, name := range names {
			c := of(name)
			if c == nil || slices.Contains(old, name) {
				continue
			}
			c = c.DeepCopy()
			if c.Image == "auto" {
				c.Image = ""
			}
			list = append(list, *c)
		}
		return list
	}
	var saved inject.ParsedContainers
	saved.Containers = pick(now.Containers, was.Containers, func(name string) *corev1.Container {
		return inject.FindContainer(name, m.before.Spec.Containers)
	})
	saved.InitContainers = pick(now.InitContainers, was.InitContainers, func(name string) *corev1.Container {
		return inject.FindContainerFromPod(name, m.before)
	})
	if len(saved.AllContainers()) == 0 {
		return
	}
	m.pod.Annotations["proxy.istio.io/overrides"] = string(mustJSON(saved))
	m.note(nameSaved)
}

// mendSavedPolicy saves a native istio-proxy of the user's with the restart policy
// that it was saved with. Where it comes back it stands among the containers,
// and without that.
func mendSavedPolicy(m *mending) {
	saved := func(pod *corev1.Pod) (all inject.ParsedContainers, at int) {
		text, ok := pod.Annotations["proxy.istio.io/overrides"]
		if !ok || json.Unmarshal([]byte(text), &all) != nil {
			return all, -1
		}
		return all, slices.IndexFunc(all.InitContainers, isProxy)
	}
	was, i := saved(m.own)
	now, j := saved(m.pod)
	if i < 0 || j < 0 || m.own.Annotations[statusAnnotation] == "" || was.InitContainers[i].RestartPolicy == nil || now.InitContainers[j].RestartPolicy != nil {
		return
	}
	now.InitContainers[j].RestartPolicy = was.InitContainers[i].RestartPolicy
	m.pod.Annotations["proxy.istio.io/overrides"] = string(mustJSON(now))
	m.note(nameAgain)
}

// mendStatusPort sends probes to the status port that the pod's annotation
// gives with blanks around it, which the peer reads as 0: see "No status port"
// in docs/differences.md.
func mendStatusPort(m *mending) {
	text := m.pod.Annotations["status.sidecar.istio.io/port"]
	port, err := strconv.Atoi(strings.TrimSpace(text))
	if _, plain := strconv.Atoi(text); err != nil || plain == nil {
		return
	}
	m.appContainers(func(now, before *corev1.Container) {
		fix := func(get *corev1.HTTPGetAction) {
			if get != nil && strings.HasPrefix(get.Path, "/app-") && get.Port == intstr.FromInt32(0) {
				get.Port = intstr.FromInt32(int32(port))
				m.note(nameNoStatusPort)
			}
		}
		for _, p := range []*corev1.Probe{now.ReadinessProbe, now.LivenessProbe, now.StartupProbe} {
			if p != nil {
				fix(p.HTTPGet)
			}
		}
		if l := now.Lifecycle; l != nil {
			for _, h := range []*corev1.LifecycleHandler{l.PreStop, l.PostStart} {
				if h != nil {
					fix(h.HTTPGet)
				}
			}
		}
	})
}

// templatesAreNative tells that the templates made the sidecar a native one.
func (m *mending) templatesAreNative() bool {
	var status struct{ InitContainers []string }
	return json.Unmarshal([]byte(m.pod.Annotations[statusAnnotation]), &status) == nil && slices.Contains(status.InitContainers, "istio-proxy")
}

// inAnyOrder puts what was merged of two sidecars into one order: what is said
// of that one container does not go as far as the order of its variables,
// mounts and ports.
func inAnyOrder(pod *corev1.Pod) {
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		if i := slices.IndexFunc(list, isProxy); i >= 0 {
			slices.SortStableFunc(list[i].Env, func(a, b corev1.EnvVar) int { return strings.Compare(a.Name, b.Name) })
			slices.SortStableFunc(list[i].VolumeMounts, func(a, b corev1.VolumeMount) int { return strings.Compare(a.MountPath, b.MountPath) })
			slices.SortStableFunc(list[i].Ports, func(a, b corev1.ContainerPort) int { return int(a.ContainerPort - b.ContainerPort) })
		}
	}
}

// overlaid merges a container over another.
func overlaid(below, over corev1.Container) (c corev1.Container) {
	merged, err := strategicpatch.StrategicMergePatch(mustJSON(below), mustJSON(over), corev1.Container{})
	if err != nil || json.Unmarshal(merged, &c) != nil {
		return corev1.Container{}
	}
	return c
}

func isProxy(c corev1.Container) bool { return c.Name == "istio-proxy" }

// editStatus changes the status annotation.
func (m *mending) editStatus(f func(status map[string]any)) {
	var status map[string]any
	if json.Unmarshal([]byte(m.pod.Annotations[statusAnnotation]), &status) != nil {
		return
	}
	f(status)
	m.pod.Annotations[statusAnnotation] = string(mustJSON(status))
}

// appContainers calls f with each container of the pod that is not the proxy,
// and with the container of that name as it went in.
func (m *mending) appContainers(f func(now, before *corev1.Container)) {
	for _, list := range []struct{ now, before []corev1.Container }{
		{m.pod.Spec.Containers, m.before.Spec.Containers}, {m.pod.Spec.InitContainers, m.before.Spec.InitContainers},
	} {
		for i := range list.now {
			if list.now[i].Name == "istio-proxy" {
				continue
			}
			before := &corev1.Container{} // of one that a template adds
			if j := slices.IndexFunc(list.before, func(c corev1.Container) bool { return c.Name == list.now[i].Name }); j >= 0 {
				before = &list.before[j]
			}
			f(&list.now[i], before)
		}
	}
}

// handler is a probe or a lifecycle hook of a container.
type handler struct {
	url  string
	get  *corev1.HTTPGetAction
	tcp  *corev1.TCPSocketAction
	grpc *corev1.GRPCAction
	// restore makes the container's handler what it was.
	restore func()
}

func (m *mending) handlersOf(now, before *corev1.Container) []handler {
	var all []handler
	probe := func(name string, now **corev1.Probe, before *corev1.Probe) {
		if *now != nil {
			// A template's is only in the map that the agent asks by.
			if was := m.templates("/app-health/"+name, *now); was != nil && !alike(was, before) {
				before = was
			}
		}
		if before == nil || *now == nil || reflect.DeepEqual(*now, before) {
			return
		}
		all = append(all, handler{
			"/app-health/" + name, before.HTTPGet, before.TCPSocket, before.GRPC, func() { *now = before },
		})
	}
	probe(now.Name+"/readyz", &now.ReadinessProbe, before.ReadinessProbe)
	probe(now.Name+"/livez", &now.LivenessProbe, before.LivenessProbe)
	probe(now.Name+"/startupz", &now.StartupProbe, before.StartupProbe)
	hook := func(name string, now **corev1.LifecycleHandler, before *corev1.LifecycleHandler) {
		if before == nil || *now == nil || reflect.DeepEqual(*now, before) {
			return
		}
		all = append(all, handler{"/app-lifecycle/" + name, before.HTTPGet, before.TCPSocket, nil, func() { *now = before }})
	}
	if now.Lifecycle != nil && before.Lifecycle != nil {
		hook(now.Name+"/prestopz", &now.Lifecycle.PreStop, before.Lifecycle.PreStop)
		hook(now.Name+"/poststartz", &now.Lifecycle.PostStart, before.Lifecycle.PostStart)
	}
	return all
}

// alike tells that a probe asks as the agent's map has it, whatever spells the
// port. Of two ways to ask the map holds the first.
func alike(inMap, p *corev1.Probe) bool {
	switch {
	case p == nil:
		return false
	case inMap.HTTPGet != nil:
		return p.HTTPGet != nil && p.HTTPGet.Path == inMap.HTTPGet.Path
	case inMap.TCPSocket != nil:
		return p.TCPSocket != nil
	}
	return p.GRPC != nil
}

// templates returns a probe as the template had it that added it, nil where it
// was not rewritten.
func (m *mending) templates(url string, now *corev1.Probe) *corev1.Probe {
	if now.HTTPGet == nil || now.HTTPGet.Path != url {
		return nil
	}
	for _, c := range append(slices.Clone(m.pod.Spec.Containers), m.pod.Spec.InitContainers...) {
		for _, e := range c.Env {
			var all map[string]inject.Prober
			if !isProxy(c) || e.Name != "ISTIO_KUBE_APP_PROBERS" || json.Unmarshal([]byte(e.Value), &all) != nil {
				continue
			}
			if p, ok := all[url]; ok {
				was := now.DeepCopy()
				was.HTTPGet, was.TCPSocket, was.GRPC = p.HTTPGet, p.TCPSocket, p.GRPC
				return was
			}
		}
	}
	return nil
}

// mendProbes leaves those probes and hooks alone that cannot work when they
// are sent to the agent, or that nothing redirects: see "Probes" in
// docs/differences.md.
func mendProbes(m *mending) {
	drop := map[string]bool{}
	meshPort := m.s.bench.peer.mesh.GetDefaultConfig().GetStatusPort()
	agent := int(meshPort)
	if v, ok := m.pod.Annotations["status.sidecar.istio.io/port"]; ok {
		agent, _ = strconv.Atoi(strings.TrimSpace(v))
	}
	m.appContainers(func(now, before *corev1.Container) {
		for _, h := range m.handlersOf(now, before) {
			var port intstr.IntOrString
			switch {
			case h.get != nil:
				port = h.get.Port
			case h.tcp != nil:
				port = h.tcp.Port
			case h.grpc != nil:
				port = intstr.FromInt32(h.grpc.Port)
			default:
				continue
			}
			number, named := port.IntVal, true
			if port.Type == intstr.String {
				number, named = 0, false
				for _, p := range now.Ports {
					if p.Name == port.StrVal && p.Name != "" {
						number, named = p.ContainerPort, true
					}
				}
			}
			asAgent := port.Type == intstr.Int && number == meshPort && h.grpc == nil
			if asAgent && h.get != nil && h.get.Path == h.url {
				continue // was rewritten before
			}
			switch {
			case !named:
				m.note(nameUnknownPort)
			case asAgent:
				m.note(nameAgentPort)
			case agent == 0:
				m.note(nameNoStatusPort)
			case m.bypassed(int(number)):
				m.note(nameBypassed)
			default:
				continue
			}
			h.restore()
			drop[h.url] = true
		}
	})
	m.dropProbers(drop)
}

// mendProbers makes one of two prober maps of a pod that says it was injected
// before: what is there wins, as when the peer injects again.
func mendProbers(m *mending) {
	if m.own == nil || m.own.Annotations[statusAnnotation] == "" {
		return
	}
	for _, list := range [][]corev1.Container{m.pod.Spec.Containers, m.pod.Spec.InitContainers} {
		for i := range list {
			first := -1
			for j, e := range list[i].Env {
				switch {
				case !isProxy(list[i]) || e.Name != "ISTIO_KUBE_APP_PROBERS":
				case first < 0:
					first = j
				default:
					var old, now map[string]json.RawMessage
					if json.Unmarshal([]byte(list[i].Env[first].Value), &old) != nil || json.Unmarshal([]byte(e.Value), &now) != nil {
						return
					}
					maps.Copy(now, old)
					env := slices.Delete(slices.Clone(list[i].Env), j, j+1)
					env[first].Value = string(mustJSON(now))
					list[i].Env = env
					m.note(nameAgain)
					return
				}
			}
		}
	}
}

// bypassed tells that the redirection leaves a port of the pod alone.
func (m *mending) bypassed(port int) bool {
	mode := m.s.bench.peer.mesh.GetDefaultConfig().GetInterceptionMode().String()
	if strings.Contains(m.before.Annotations["proxy.istio.io/config"], "interceptionMode: TPROXY") {
		mode = "TPROXY"
	}
	var values struct {
		Global struct {
			Proxy struct{ IncludeInboundPorts, ExcludeInboundPorts *string }
		}
	}
	include, exclude := "*", ""
	if json.Unmarshal([]byte(m.s.bench.setting.values), &values) == nil {
		if v := values.Global.Proxy.IncludeInboundPorts; v != nil {
			include = *v
		}
		if v := values.Global.Proxy.ExcludeInboundPorts; v != nil {
			exclude = *v
		}
	}
	for key, into := range map[string]*string{
		"sidecar.istio.io/interceptionMode": &mode, "traffic.sidecar.istio.io/includeInboundPorts": &include, "traffic.sidecar.istio.io/excludeInboundPorts": &exclude,
	} {
		if v, ok := m.pod.Annotations[key]; ok {
			*into = v
		}
	}
	in := func(list string) bool {
		for _, p := range strings.Split(list, ",") {
			if strings.TrimSpace(p) == fmt.Sprint(port) {
				return true
			}
		}
		return false
	}
	if mode == "NONE" {
		return true
	}
	if strings.TrimSpace(include) == "*" {
		return in(exclude)
	}
	return !in(include)
}

// dropProbers takes entries out of the map that the agent asks by.
func (m *mending) dropProbers(drop map[string]bool) {
	if len(drop) == 0 {
		return
	}
	for _, list := range [][]corev1.Container{m.pod.Spec.Containers, m.pod.Spec.InitContainers} {
		for i := range list {
			if list[i].Name != "istio-proxy" {
				continue
			}
			for j, e := range list[i].Env {
				if e.Name != "ISTIO_KUBE_APP_PROBERS" {
					continue
				}
				var all map[string]json.RawMessage
				if json.Unmarshal([]byte(e.Value), &all) != nil {
					continue
				}
				for url := range drop {
					delete(all, url)
				}
				if len(all) == 0 {
					list[i].Env = append(append([]corev1.EnvVar{}, list[i].Env[:j]...), list[i].Env[j+1:]...)
					break
				}
				list[i].Env[j].Value = string(mustJSON(all))
			}
		}
	}
}

// mendVolumes gives a volume that got two sources the one of the user: see
// "Two sources in one volume" in docs/differences.md.
func mendVolumes(m *mending) {
	was := m.earlier()
	for i, v := range m.pod.Spec.Volumes {
		if sources(v) < 2 {
			continue
		}
		for _, b := range m.before.Spec.Volumes {
			switch {
			case b.Name != v.Name || sources(b) != 1:
			case slices.Contains(was.volumes, b.Name):
				// An earlier injection's: it gives way.
				of, former := reflect.ValueOf(&m.pod.Spec.Volumes[i].VolumeSource).Elem(), reflect.ValueOf(b.VolumeSource)
				for f := range former.NumField() {
					if !former.Field(f).IsZero() {
						of.Field(f).SetZero()
					}
				}
				m.note(nameAgain)
			default:
				m.pod.Spec.Volumes[i] = b
				m.keptVolumes = append(m.keptVolumes, b.Name)
				m.note(nameVolume)
			}
		}
	}
}

// added are the volumes and pull secrets that an earlier injection added to the
// pod as it came, as far as its status can be read.
type added struct{ volumes, secrets []string }

func (m *mending) earlier() added {
	var status struct {
		Volumes, ImagePullSecrets []string
		Kept                      struct{ Volumes, ImagePullSecrets []string }
	}
	if json.Unmarshal([]byte(m.own.Annotations[statusAnnotation]), &status) != nil {
		return added{}
	}
	without := func(all, kept []string) []string {
		return slices.DeleteFunc(all, func(name string) bool { return slices.Contains(kept, name) })
	}
	return added{without(status.Volumes, status.Kept.Volumes), without(status.ImagePullSecrets, status.Kept.ImagePullSecrets)}
}

// mendStatus takes from what the status annotation claims what the user had:
// see "Names that the status must not claim" in docs/differences.md.
func mendStatus(m *mending) {
	var secrets, moved []string
	was := m.earlier()
	m.editStatus(func(status map[string]any) {
		claimed, _ := status["imagePullSecrets"].([]any)
		for _, s := range m.before.Spec.ImagePullSecrets {
			if slices.Contains(claimed, any(s.Name)) && !slices.Contains(was.secrets, s.Name) {
				secrets = append(secrets, s.Name)
			}
		}
		if i := slices.IndexFunc(m.before.Spec.Containers, isProxy); i >= 0 && m.before.Spec.Containers[i].RestartPolicy != nil && m.templatesAreNative() {
			moved = []string{"istio-proxy"}
		}
		if len(m.keptVolumes)+len(secrets)+len(moved) > 0 {
			status["kept"] = map[string]any{"volumes": m.keptVolumes, "imagePullSecrets": secrets, "containers": moved}
		}
	})
	if len(secrets)+len(moved) > 0 {
		m.note(nameStatus)
	}
}

func sources(v corev1.Volume) int {
	n := 0
	for i, s := 0, reflect.ValueOf(v.VolumeSource); i < s.NumField(); i++ {
		if !s.Field(i).IsZero() {
			n++
		}
	}
	return n
}
