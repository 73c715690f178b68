package cluster

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/ingraft/ingraft/internal/source"
)

// nativeSince is the minor version of Kubernetes 1.x in which native sidecars
// became stable; the control plane uses them from there on.
const nativeSince = 33

// Nodes holds the kubelet versions of a cluster's nodes.
type Nodes struct{ kubelets map[string]string }

// NewNodes makes Nodes of a map from name to kubelet version.
func NewNodes(kubelets map[string]string) *Nodes { return &Nodes{kubelets} }

// Native reports whether a pod gets a native sidecar, by the rule of the
// control plane: where the pod's node is named and known, its kubelet has to
// be of 1.33 or newer; else the kubelets of all nodes have to, which those of
// no nodes are.
func (n *Nodes) Native(node string) bool {
	if version, ok := n.kubelets[node]; ok {
		return isNative(version)
	}
	for _, version := range n.kubelets {
		if !isNative(version) {
			return false
		}
	}
	return true
}

// isNative reports whether a kubelet of that version runs native sidecars. A
// version that is not one counts as old.
func isNative(version string) bool {
	text := strings.TrimPrefix(version, "v")
	if end := strings.IndexFunc(text, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); end >= 0 {
		text = text[:end]
	}
	minor := 0
	for i, part := range strings.Split(text, ".") {
		number, err := strconv.Atoi(part)
		if err != nil {
			return false
		}
		if i == 1 {
			minor = number
		}
	}
	return minor >= nativeSince
}

// Nodes reads the kubelet versions of all nodes. The error is Forbidden for
// users who may not list nodes, as many may not.
//
// It asks for the table that kubectl prints, since a Node is large, mostly for
// the images that it lists.
func (c *Client) Nodes(ctx context.Context) (*Nodes, error) {
	kubelets := map[string]string{}
	for page, err := range c.pages(ctx, nodes, "", acceptTable, url.Values{"includeObject": {"None"}}) {
		if err != nil {
			return nil, err
		}
		if page.Get("kind").Str() == "Table" {
			readTable(page, kubelets)
			continue
		}
		for _, node := range page.Get("items").Items() {
			kubelets[node.Get("metadata", "name").Str()] = node.Get("status", "nodeInfo", "kubeletVersion").Str()
		}
	}
	return &Nodes{kubelets}, nil
}

// readTable reads the columns Name and Version of a table of nodes.
func readTable(table *source.Node, kubelets map[string]string) {
	name, version := -1, -1
	for i, column := range table.Get("columnDefinitions").Items() {
		switch column.Get("name").Str() {
		case "Name":
			name = i
		case "Version":
			version = i
		}
	}
	for _, row := range table.Get("rows").Items() {
		cells := row.Get("cells").Items()
		cell := func(i int) string {
			if i < 0 || i >= len(cells) {
				return ""
			}
			return cells[i].Str()
		}
		kubelets[cell(name)] = cell(version)
	}
}
