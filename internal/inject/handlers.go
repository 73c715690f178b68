package inject

import (
	"strings"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// A probe or lifecycle hook asks in one way. Merging by field would leave two
// where the pod and a template, or two templates, have a probe of one container
// and ask in different ways; the API server refuses that.

// handlers lists the ways to ask: those of probes and those of hooks.
var handlers = [...]string{"exec", "httpGet", "tcpSocket", "grpc", "sleep"}

// waysOf returns the ways in which a probe or hook asks.
func waysOf(handler *source.Node) []string {
	var ways []string
	for _, way := range handlers {
		if present(handler.Get(way)) != nil {
			ways = append(ways, way)
		}
	}
	return ways
}

// twoWays is a probe or hook of the user's that a template has too, where it
// asks in another way.
type twoWays struct {
	hook         *hook
	container    *source.Node // the user's
	mine, theirs string
}

func (t twoWays) finding(template string) *diag.Diagnostic {
	path := strings.Join(t.hook.path, ".")
	return warn(CodeHandlerClash, t.container.Get(append(t.hook.path[:len(t.hook.path):len(t.hook.path)], t.mine)...).Span(),
		path+" of container "+quote(nameOf(t.container))+" asks by "+t.mine+", where template "+quote(template)+
			" asks by "+t.theirs+": the pod's is used",
		"leave one of the two out")
}

// settleHandlers prepares an overlay and the pod below it so that no probe or
// hook gets two handlers. The pod's wins where the user wrote it, which users
// tells; else the overlay's.
func settleHandlers(pod, overlay *source.Node, users func(container string, h *hook) bool) (*source.Node, *source.Node, []twoWays) {
	var clashes []twoWays
	for _, list := range [...]string{listContainers, listInitContainers} {
		below, above := specList(pod, list), specList(overlay, list)
		for i, c := range above {
			j := find(below, nameOf(c))
			if j < 0 || c.Get("$patch") != nil || c.Get("lifecycle", "$patch") != nil {
				continue
			}
			for k := range hooks {
				h := &hooks[k]
				mine, theirs := h.clash(below[j], c)
				switch {
				case len(theirs) == 0:
				case users(nameOf(c), h):
					above = replaced(above, i, h.without(above[i], theirs))
					if nameOf(c) != proxyContainer { // which is written to replace the template's
						clashes = append(clashes, twoWays{h, below[j], waysOf(below[j].Get(h.path...))[0], theirs[0]})
					}
				default:
					below = replaced(below, j, h.without(below[j], mine))
				}
			}
		}
		pod, overlay = withSpecList(pod, list, below), withSpecList(overlay, list, above)
	}
	return pod, overlay, clashes
}

// clash returns the ways in which a container asks and an overlay of it does
// not, and the other way round. Both are empty where merging them gives no
// second way.
func (h *hook) clash(below, above *source.Node) (mine, theirs []string) {
	under, over := below.Get(h.path...), above.Get(h.path...)
	if under.Len() == 0 || over.Len() == 0 || over.Get("$patch") != nil {
		return nil, nil
	}
	stays := false
	for _, way := range handlers {
		had, has := present(under.Get(way)) != nil, present(over.Get(way)) != nil
		switch {
		case removes(over, way):
		case had && has:
			stays = true
		case had:
			stays, mine = true, append(mine, way)
		case has:
			theirs = append(theirs, way)
		}
	}
	if !stays {
		return nil, nil
	}
	return mine, theirs
}

// without takes ways to ask from the probe or hook of a container.
func (h *hook) without(c *source.Node, ways []string) *source.Node {
	handler := c.Get(h.path...)
	for _, way := range ways {
		handler = handler.Without(way)
	}
	return c.WithAt(handler, h.path...)
}

// isUsersHandler tells whether a handler of a container is the user's own.
func (in *injection) isUsersHandler(container string, h *hook) bool {
	c, _ := findContainer(in.user, container)
	return len(waysOf(c.Get(h.path...))) > 0
}

func noHandler(string, *hook) bool { return false }
