package manifest

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// Diff tells in what two sets of objects differ.
type Diff struct {
	// Same counts the objects that are in both and mean the same.
	Same    int          `json:"same"`
	Objects []ObjectDiff `json:"objects"`
}

// The states of an object.
const (
	Added   = "added"
	Removed = "removed"
	Changed = "changed"
)

// ObjectDiff tells in what an object differs, or that there is only one.
type ObjectDiff struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// State is added, removed or changed.
	State   string   `json:"state"`
	Changes []Change `json:"changes,omitempty"`
	// Care tells what needs care before the second set takes the place of the
	// first.
	Care []string `json:"care,omitempty"`
}

// Change is a part of an object that differs.
type Change struct {
	// Path leads to it: spec.template.spec.containers[discovery].image. What
	// is embedded as text has its own path behind " > ", and what is text a line.
	Path string `json:"path"`
	// State is added, removed or changed.
	State  string `json:"state"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// String names the object as kubectl does: Kind namespace/name.
func (o *ObjectDiff) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// objectKey is what an object is known by. The version of its API is not part
// of it: an object that is served in two versions is one.
type objectKey struct{ group, kind, namespace, name string }

func keyOf(o kube.Object) objectKey {
	return objectKey{kube.Group(o.Ref.APIVersion), o.Ref.Kind, o.Node.Get("metadata", "namespace").Scalar(), nameOf(o.Node)}
}

// Compare compares two sets of objects. Lists count as their items, status and
// what the API server adds to metadata does not count, and the order of
// objects neither.
func Compare(before, after []*source.Node) *Diff {
	d := &Diff{Objects: []ObjectDiff{}}
	old, oldKeys := indexed(before)
	now, nowKeys := indexed(after)
	for _, k := range oldKeys {
		o, n := old[k], now[k]
		out := newObjectDiff(o)
		if n == nil {
			out.State = Removed
			out.Care = careRemoved(o)
			d.Objects = append(d.Objects, out)
			continue
		}
		c := comparison{crd: k.kind == "CustomResourceDefinition"}
		c.object(o, n)
		if len(c.changes) == 0 {
			d.Same++
			continue
		}
		out.State, out.Changes, out.Care = Changed, c.changes, care(o, n, c.changes)
		d.Objects = append(d.Objects, out)
	}
	for _, k := range nowKeys {
		if old[k] == nil {
			out := newObjectDiff(now[k])
			out.State, out.Care = Added, careAdded(now[k])
			d.Objects = append(d.Objects, out)
		}
	}
	slices.SortStableFunc(d.Objects, func(a, b ObjectDiff) int {
		return strings.Compare(a.Kind+"\x00"+a.Namespace+"\x00"+a.Name, b.Kind+"\x00"+b.Namespace+"\x00"+b.Name)
	})
	return d
}

func newObjectDiff(n *source.Node) ObjectDiff {
	return ObjectDiff{Kind: n.Get("kind").Str(), APIVersion: n.Get("apiVersion").Str(), Namespace: n.Get("metadata", "namespace").Scalar(), Name: nameOf(n)}
}

// indexed returns objects by key, the last of several of one, and the keys in
// order.
func indexed(roots []*source.Node) (map[objectKey]*source.Node, []objectKey) {
	by := map[objectKey]*source.Node{}
	var keys []objectKey
	for _, root := range roots {
		for o := range kube.Objects(root) {
			k := keyOf(o)
			if k.kind == "" {
				continue
			}
			if by[k] == nil {
				keys = append(keys, k)
			}
			by[k] = o.Node
		}
	}
	return by, keys
}

// comparison collects the changes of one object.
type comparison struct {
	crd     bool
	changes []Change
}

// serverFields are what the API server adds to metadata.
var serverFields = [...]string{"creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"}

func (c *comparison) object(o, n *source.Node) {
	c.value("", tidied(o), tidied(n))
}

func tidied(o *source.Node) *source.Node {
	o = o.Without("status")
	metadata := o.Get("metadata")
	for _, key := range serverFields {
		metadata = metadata.Without(key)
	}
	if metadata == o.Get("metadata") || metadata == nil {
		return o
	}
	return o.With("metadata", metadata)
}

func (c *comparison) add(path, state, before, after string) {
	if c.crd {
		path = schemaPath(path)
	}
	c.changes = append(c.changes, Change{path, state, before, after})
}

// schemaPath takes the words of schemas out of a path, so that the fields that
// they describe are left.
func schemaPath(path string) string {
	version, field, ok := strings.Cut(path, ".schema.openAPIV3Schema")
	if !ok {
		return path
	}
	field = strings.NewReplacer(".properties.", ".", ".items", "[]").Replace(field)
	return version + " field " + strings.TrimPrefix(field, ".")
}

func (c *comparison) value(path string, o, n *source.Node) {
	switch {
	case o == n:
	case o.IsNull() && n.IsNull():
	case o.IsNull():
		c.add(path, Added, "", brief(n))
	case n.IsNull():
		c.add(path, Removed, brief(o), "")
	case o.Kind() == source.Map && n.Kind() == source.Map:
		c.mapping(path, o, n)
	case o.Kind() == source.List && n.Kind() == source.List:
		c.list(path, o, n)
	case o.Kind() == source.String && n.Kind() == source.String:
		c.text(path, o.Str(), n.Str())
	case !sameScalar(path, o, n):
		c.add(path, Changed, brief(o), brief(n))
	}
}

func (c *comparison) mapping(path string, o, n *source.Node) {
	for _, f := range o.Fields() {
		c.value(join(path, f.Key), f.Value, n.Get(f.Key))
	}
	for _, f := range n.Fields() {
		if o.Get(f.Key) == nil {
			c.value(join(path, f.Key), nil, f.Value)
		}
	}
}

// join writes a path; a key with a dot is put into brackets.
func join(path, key string) string {
	if strings.ContainsAny(key, ".[]") {
		return path + "[" + key + "]"
	}
	if path == "" || strings.HasSuffix(path, "> ") {
		return path + key
	}
	return path + "." + key
}

// sameScalar tells whether two values mean the same; amounts may be spelled in
// different ways.
func sameScalar(path string, o, n *source.Node) bool {
	if o.Kind() == n.Kind() && o.Scalar() == n.Scalar() {
		return true
	}
	if !strings.Contains(path, "resources.") && !strings.Contains(path, "quota") {
		return false
	}
	a, err1 := resource.ParseQuantity(o.Scalar())
	b, err2 := resource.ParseQuantity(n.Scalar())
	return err1 == nil && err2 == nil && a.Cmp(b) == 0
}

// identifiers are the fields by which items of lists are known, the first
// that all items of both lists have, and no two alike.
var identifiers = [...]string{"name", "mountPath", "containerPort", "port", "key", "type", "kind"}

// identifier returns that field; "" where there is none.
func identifier(o, n *source.Node) string {
	for _, key := range identifiers {
		if unique(o, key) && unique(n, key) {
			return key
		}
	}
	return ""
}

func unique(list *source.Node, key string) bool {
	seen := make(map[string]bool, list.Len())
	for _, item := range list.Items() {
		v := item.Get(key)
		if v == nil || v.Kind() == source.Map || v.Kind() == source.List || seen[v.Scalar()] {
			return false
		}
		seen[v.Scalar()] = true
	}
	return true
}

func (c *comparison) list(path string, o, n *source.Node) {
	if key := identifier(o, n); key != "" && o.Len()+n.Len() > 0 {
		find := func(list *source.Node, id string) *source.Node {
			for _, item := range list.Items() {
				if item.Get(key).Scalar() == id {
					return item
				}
			}
			return nil
		}
		for _, item := range o.Items() {
			id := item.Get(key).Scalar()
			c.value(path+"["+id+"]", item, find(n, id))
		}
		for _, item := range n.Items() {
			if id := item.Get(key).Scalar(); find(o, id) == nil {
				c.value(path+"["+id+"]", nil, item)
			}
		}
		return
	}
	c.unnamed(path, o.Items(), n.Items())
}

// unnamed compares items that have no name: arguments by their flag, others by
// what they hold. What is left over on both sides is compared in pairs.
func (c *comparison) unnamed(path string, o, n []*source.Node) {
	left, right := leftOver(o, n), leftOver(n, o)
	for _, item := range slices.Clone(left) {
		flag := flagOf(item)
		if flag == "" {
			continue
		}
		if j := slices.IndexFunc(right, func(other *source.Node) bool { return flagOf(other) == flag }); j >= 0 {
			c.add(path+"["+flag+"]", Changed, brief(item), brief(right[j]))
			right = slices.Delete(right, j, j+1)
			left = slices.DeleteFunc(left, func(other *source.Node) bool { return other == item })
		}
	}
	if len(left) == len(right) {
		for i := range left {
			c.value(path+"["+strconv.Itoa(slices.Index(o, left[i]))+"]", left[i], right[i])
		}
		if len(left) == 0 && !slices.EqualFunc(o, n, func(a, b *source.Node) bool { return spelledOut(a) == spelledOut(b) }) {
			c.add(path, Changed, "in another order", "")
		}
		return
	}
	for _, item := range left {
		c.add(path+"[]", Removed, brief(item), "")
	}
	for _, item := range right {
		c.add(path+"[]", Added, "", brief(item))
	}
}

// leftOver returns the items that have no equal among others.
func leftOver(items, others []*source.Node) []*source.Node {
	have := map[string]int{}
	for _, o := range others {
		have[spelledOut(o)]++
	}
	var out []*source.Node
	for _, item := range items {
		if s := spelledOut(item); have[s] > 0 {
			have[s]--
		} else {
			out = append(out, item)
		}
	}
	return out
}

// flagOf returns the name of an argument like --name=value; "" for others.
func flagOf(n *source.Node) string {
	if s := n.Str(); strings.HasPrefix(s, "--") {
		if name, _, ok := strings.Cut(s, "="); ok {
			return name
		}
	}
	return ""
}

func spelledOut(n *source.Node) string { return string(source.AppendJSON(nil, n)) }

// text compares texts: what both are of YAML or JSON by what it says, what has
// several lines by these.
func (c *comparison) text(path, o, n string) {
	if o == n {
		return
	}
	if !strings.Contains(o, "\n") && !strings.Contains(n, "\n") && !strings.HasPrefix(o, "{") {
		if !sameScalar(path, source.NewString(o), source.NewString(n)) {
			c.add(path, Changed, quotedBrief(o), quotedBrief(n))
		}
		return
	}
	if a, b := embeddedObject(o), embeddedObject(n); a != nil && b != nil {
		c.value(path+" > ", a, b)
		return
	}
	c.lines(path, o, n)
}

// embeddedObject returns the object that a text holds, nil for other texts.
func embeddedObject(s string) *source.Node {
	doc, err := source.Parse(source.NewText("", []byte(s)))
	if err != nil || doc.Root.Kind() != source.Map {
		return nil
	}
	return doc.Root
}

// maxLines bounds the product of lines that are compared one by one.
const maxLines = 4 << 20

// lines tells which lines of a text differ, each group of them as one change.
func (c *comparison) lines(path, o, n string) {
	a, b := strings.Split(o, "\n"), strings.Split(n, "\n")
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	hunk := func(from, to, from2, to2 int) {
		state := Changed
		switch {
		case from == to:
			state = Added
		case from2 == to2:
			state = Removed
		}
		c.add(path+":"+strconv.Itoa(from2+1), state, strings.Join(a[from:to], "\n"), strings.Join(b[from2:to2], "\n"))
	}
	x, y := a[head:len(a)-tail], b[head:len(b)-tail]
	if len(x)*len(y) > maxLines {
		hunk(head, len(a)-tail, head, len(b)-tail)
		return
	}
	i, j := 0, 0
	common := commonLines(x, y)
	for _, m := range append(common, [2]int{len(x), len(y)}) {
		if i < m[0] || j < m[1] {
			hunk(head+i, head+m[0], head+j, head+m[1])
		}
		i, j = m[0]+1, m[1]+1
	}
}

// commonLines returns a longest list of pairs of equal lines.
func commonLines(x, y []string) [][2]int {
	width := len(y) + 1
	length := make([]int32, (len(x)+1)*width)
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				length[i*width+j] = length[(i+1)*width+j+1] + 1
			} else {
				length[i*width+j] = max(length[(i+1)*width+j], length[i*width+j+1])
			}
		}
	}
	var pairs [][2]int
	for i, j := 0, 0; i < len(x) && j < len(y); {
		switch {
		case x[i] == y[j]:
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		case length[(i+1)*width+j] >= length[i*width+j+1]:
			i++
		default:
			j++
		}
	}
	return pairs
}

// brief writes a value on one line, in not too many characters.
func brief(n *source.Node) string {
	if n.Kind() == source.String {
		return quotedBrief(n.Str())
	}
	return shortened(spelledOut(n))
}

func quotedBrief(s string) string {
	if strings.Contains(s, "\n") {
		return shortened(strconv.Quote(s))
	}
	return shortened(string(bytes.TrimSpace(source.AppendYAML(nil, source.NewString(s)))))
}

func shortened(s string) string {
	const most = 100
	if r := []rune(s); len(r) > most {
		return string(r[:most-3]) + "..."
	}
	return s
}
