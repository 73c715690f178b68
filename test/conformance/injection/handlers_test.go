package injection

import (
	"encoding/json"
	"slices"

	"istio.io/istio/pkg/kube/inject"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// mendHandlers gives a probe or hook that got two handlers the user's: see "Two
// handlers in one probe" in docs/differences.md.
func mendHandlers(m *mending) {
	for _, list := range [][]corev1.Container{m.pod.Spec.Containers, m.pod.Spec.InitContainers} {
		for i := range list {
			if before := inject.FindContainerFromPod(list[i].Name, m.before); before != nil {
				m.mendHandlersOf(&list[i], before)
			}
		}
	}
}

func (m *mending) mendHandlersOf(now, before *corev1.Container) {
	for _, p := range []struct {
		url         string
		now, before *corev1.Probe
	}{
		{"/app-health/" + now.Name + "/readyz", now.ReadinessProbe, before.ReadinessProbe},
		{"/app-health/" + now.Name + "/livez", now.LivenessProbe, before.LivenessProbe},
		{"/app-health/" + now.Name + "/startupz", now.StartupProbe, before.StartupProbe},
	} {
		if p.now == nil || p.before == nil {
			continue
		}
		asks := asking{p.now.HTTPGet, p.now.TCPSocket, p.now.GRPC, p.now.Exec, nil}
		user := asking{p.before.HTTPGet, p.before.TCPSocket, p.before.GRPC, p.before.Exec, nil}
		if asks, ok := m.users(asks, user, now, p.url, p.now.TimeoutSeconds); ok {
			p.now.ProbeHandler = corev1.ProbeHandler{HTTPGet: asks.http, TCPSocket: asks.tcp, GRPC: asks.grpc, Exec: asks.exec}
		}
	}
	if now.Lifecycle == nil || before.Lifecycle == nil {
		return
	}
	for _, h := range []struct {
		url         string
		now, before *corev1.LifecycleHandler
	}{
		{"/app-lifecycle/" + now.Name + "/prestopz", now.Lifecycle.PreStop, before.Lifecycle.PreStop},
		{"/app-lifecycle/" + now.Name + "/poststartz", now.Lifecycle.PostStart, before.Lifecycle.PostStart},
	} {
		if h.now == nil || h.before == nil {
			continue
		}
		asks := asking{h.now.HTTPGet, h.now.TCPSocket, nil, h.now.Exec, h.now.Sleep}
		user := asking{h.before.HTTPGet, h.before.TCPSocket, nil, h.before.Exec, h.before.Sleep}
		if asks, ok := m.users(asks, user, now, h.url, 0); ok {
			*h.now = corev1.LifecycleHandler{HTTPGet: asks.http, TCPSocket: asks.tcp, Exec: asks.exec, Sleep: asks.sleep}
		}
	}
}

// asking is the ways in which a probe or hook asks.
type asking struct {
	http  *corev1.HTTPGetAction
	tcp   *corev1.TCPSocketAction
	grpc  *corev1.GRPCAction
	exec  *corev1.ExecAction
	sleep *corev1.SleepAction
}

func (a asking) ways() []bool {
	return []bool{a.http != nil, a.tcp != nil, a.grpc != nil, a.exec != nil, a.sleep != nil}
}

// users returns what is left of the ways to ask of a container's probe when
// only the user's count; of those that go to the agent, its map gets the user's.
func (m *mending) users(now, user asking, c *corev1.Container, url string, timeout int32) (asking, bool) {
	moved := now.http != nil && now.http.Path == url && c.Name != "istio-proxy"
	was := user.ways()
	if moved && !was[0] && (was[1] || was[2]) {
		was[0], was[1] = true, false // as the peer does with what it sends to the agent
		was[2] = was[2] && user.tcp != nil
	}
	if !slices.Contains(was, true) || slices.Equal(was, now.ways()) {
		return now, false
	}
	if !was[0] {
		if moved {
			m.setProber(url, nil)
		}
		now.http = nil
	}
	if moved && user.http == nil && was[0] {
		now.http = &corev1.HTTPGetAction{Path: url, Port: now.http.Port}
		entry := &inject.Prober{TCPSocket: user.tcp, TimeoutSeconds: timeout}
		if user.tcp == nil {
			entry.GRPC = user.grpc
		} else if port := m.portOf(user.tcp.Port, c); port != nil {
			entry.TCPSocket = &corev1.TCPSocketAction{Port: *port, Host: user.tcp.Host}
		} else {
			entry = nil
		}
		m.setProber(url, entry)
	}
	if !was[1] {
		now.tcp = nil
	}
	if !was[2] {
		now.grpc = nil
	}
	if !was[3] {
		now.exec = nil
	}
	if !was[4] {
		now.sleep = nil
	}
	m.note(nameHandlers)
	return now, true
}

// portOf returns the number of a probed port, nil where the agent is not told of
// it: where it has no number, or is the agent's own.
func (m *mending) portOf(port intstr.IntOrString, c *corev1.Container) *intstr.IntOrString {
	if port.Type == intstr.Int {
		if port.IntVal == m.s.bench.peer.mesh.GetDefaultConfig().GetStatusPort() {
			return nil
		}
		return &port
	}
	var number *intstr.IntOrString
	for _, p := range c.Ports {
		if p.Name == port.StrVal && p.Name != "" {
			n := intstr.FromInt32(p.ContainerPort)
			number = &n
		}
	}
	return number
}

// setProber puts an entry into the map that the agent asks by; nil takes it out.
func (m *mending) setProber(url string, entry *inject.Prober) {
	if entry == nil {
		m.dropProbers(map[string]bool{url: true})
		return
	}
	for _, list := range [][]corev1.Container{m.pod.Spec.Containers, m.pod.Spec.InitContainers} {
		for i := range list {
			for j, e := range list[i].Env {
				all := map[string]json.RawMessage{}
				if isProxy(list[i]) && e.Name == "ISTIO_KUBE_APP_PROBERS" && json.Unmarshal([]byte(e.Value), &all) == nil {
					all[url] = mustJSON(entry)
					list[i].Env[j].Value = string(mustJSON(all))
				}
			}
		}
	}
}
