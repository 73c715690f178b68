package inject

import (
	"bytes"

	"github.com/ingraft/ingraft/internal/source"
)

// Unread tells what injection does not look at of the things in which the
// replicas of one workload differ. Pods that differ in nothing else get the
// same patch, as far as it does not quote them.
type Unread struct {
	// Name and UID are those of the pod's metadata. The name of a pod that is
	// its own workload is read as the owner's, which this does not tell.
	Name, UID bool
	// Times are the pod's creation and those of its managed fields.
	Times bool
	// TokenVolume is the name of the volume with the token of the service
	// account, which the API server makes up for every pod: TokenVolumePrefix
	// and five characters.
	TokenVolume bool
}

// TokenVolumePrefix begins the names that the API server makes up for volumes
// with tokens (plugin/pkg/admission/serviceaccount).
const TokenVolumePrefix = "kube-api-access-"

// Unread tells what the engine does not look at of a pod. It reports false
// where what it makes of the pod depends on the time.
func (e *Engine) Unread(pod *source.Node) (Unread, bool) {
	list, bad := e.selected(pod)
	if bad != nil {
		return Unread{}, false
	}
	all := Unread{Name: true, UID: true, Times: true, TokenVolume: !e.namesTokenVolume()}
	for _, l := range list {
		u := l.unread()
		if u == nil {
			return Unread{}, false
		}
		all.Name = all.Name && u.Name
		all.UID = all.UID && u.UID
		all.Times = all.Times && u.Times
		all.TokenVolume = all.TokenVolume && u.TokenVolume
	}
	return all, true
}

// unread tells what a template does not read; nil where it reads the clock.
func (l *lazyTemplate) unread() *Unread {
	l.unreadOnce.Do(func() {
		if l.t.ReadsClock() {
			return
		}
		n := l.t.Needs()
		l.blind = &Unread{
			Name:        !n.Reads("ObjectMeta", "Name"),
			UID:         !n.Reads("ObjectMeta", "UID"),
			Times:       !n.Reads("ObjectMeta", "CreationTimestamp") && !n.Reads("ObjectMeta", "ManagedFields"),
			TokenVolume: !n.Reads("Spec", "Volumes", "[]", "Name") && !n.Reads("Spec", "EphemeralContainers"),
		}
		for _, list := range [...]string{"Containers", "InitContainers"} {
			if n.Reads("Spec", list, "[]", "VolumeMounts", "[]", "Name") {
				l.blind.TokenVolume = false
			}
		}
	})
	return l.blind
}

// namesTokenVolume tells whether the configuration speaks of volumes of such
// names: what templates make could then be the pod's own volume.
func (e *Engine) namesTokenVolume() bool {
	e.tokenOnce.Do(func() {
		texts := []*source.Text{e.values.Text, e.mesh.Text}
		for _, l := range e.templates.list {
			texts = append(texts, l.text)
		}
		for _, t := range texts {
			if t != nil && bytes.Contains(t.Data, []byte(TokenVolumePrefix)) {
				e.tokenNamed = true
			}
		}
	})
	return e.tokenNamed
}
