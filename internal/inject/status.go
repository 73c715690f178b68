package inject

import (
	"encoding/json"
	"errors"

	"github.com/ingraft/ingraft/internal/source"
)

// status is the value of the annotation sidecar.istio.io/status: the names of
// what injection added, and by which revision of the control plane.
type status struct {
	initContainers, containers, volumes, pullSecrets []string
	revision                                         string
	// kept names volumes and pull secrets that are in the lists above, but
	// that the pod had before: to remove them would take away what is the
	// user's. The mesh's injector neither writes nor minds this key (kept),
	// which is only there where such names are.
	keptVolumes, keptPullSecrets []string
	// keptContainers is for an istio-proxy of the user's with a restart policy of
	// its own that was among the containers and is now a native sidecar: the one
	// of an init container would not go back with it (see classicProxy).
	keptContainers []string
}

// statusOf lists what a pod made of nothing but templates holds.
func statusOf(templates *source.Node, revision string) status {
	if revision == "" {
		revision = defaultRevision
	}
	return status{
		initContainers: names(specList(templates, listInitContainers)),
		containers:     names(specList(templates, listContainers)),
		volumes:        names(specList(templates, listVolumes)),
		pullSecrets:    names(specList(templates, listPullSecrets)),
		revision:       revision,
	}
}

func names(items []*source.Node) []string {
	if len(items) == 0 {
		return nil
	}
	list := make([]string, len(items))
	for i, item := range items {
		list[i] = nameOf(item)
	}
	return list
}

var errJSON = errors.New("it is not JSON")

var errStatus = errors.New("it is not the JSON object that injection writes")

// parseStatus reads the annotation. Keys that are missing or null are empty
// lists.
func parseStatus(text string) (status, error) {
	root, err := parseJSON(text)
	if err != nil || (root.Kind() != source.Map && !root.IsNull()) {
		return status{}, errStatus
	}
	s := status{revision: root.Get("revision").Str()}
	for _, part := range []struct {
		node *source.Node
		into *[]string
	}{
		{root.Get("initContainers"), &s.initContainers},
		{root.Get("containers"), &s.containers},
		{root.Get("volumes"), &s.volumes},
		{root.Get("imagePullSecrets"), &s.pullSecrets},
		{root.Get("kept", "volumes"), &s.keptVolumes},
		{root.Get("kept", "imagePullSecrets"), &s.keptPullSecrets},
		{root.Get("kept", "containers"), &s.keptContainers},
	} {
		if !part.node.IsNull() && part.node.Kind() != source.List {
			return status{}, errStatus
		}
		for _, item := range part.node.Items() {
			if item.Kind() != source.String {
				return status{}, errStatus
			}
			*part.into = append(*part.into, item.Str())
		}
	}
	return s, nil
}

// String writes the annotation as the mesh's injector does: keys in this
// order, null for an empty list.
func (s status) String() string {
	b := s.appendLists(append(make([]byte, 0, 256), '{'))
	b = appendQuoted(append(b, `,"revision":`...), s.revision)
	if len(s.keptVolumes)+len(s.keptPullSecrets)+len(s.keptContainers) > 0 {
		b = appendNames(append(b, `,"kept":{"volumes":`...), s.keptVolumes)
		b = appendNames(append(b, `,"imagePullSecrets":`...), s.keptPullSecrets)
		if len(s.keptContainers) > 0 {
			b = appendNames(append(b, `,"containers":`...), s.keptContainers)
		}
		b = append(b, '}')
	}
	return string(append(b, '}'))
}

// appendLists appends what every release writes.
func (s status) appendLists(b []byte) []byte {
	b = appendNames(append(b, `"initContainers":`...), s.initContainers)
	b = appendNames(append(b, `,"containers":`...), s.containers)
	b = appendNames(append(b, `,"volumes":`...), s.volumes)
	return appendNames(append(b, `,"imagePullSecrets":`...), s.pullSecrets)
}

func appendNames(b []byte, names []string) []byte {
	if len(names) == 0 {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendQuoted(b, name)
	}
	return append(b, ']')
}

// appendQuoted appends a JSON string, written as encoding/json writes it.
func appendQuoted(b []byte, s string) []byte {
	return source.AppendJSON(b, source.NewString(s))
}

// parseJSON reads a JSON value that stands in an annotation or a variable.
func parseJSON(text string) (*source.Node, error) {
	data := []byte(text)
	if !json.Valid(data) {
		return nil, errJSON
	}
	doc, err := source.Parse(source.NewText("", data))
	if err != nil {
		return nil, err
	}
	return doc.Root, nil
}

// contains reports whether a name is in a list.
func contains(list []string, name string) bool {
	for _, s := range list {
		if s == name {
			return true
		}
	}
	return false
}
