package tmpl

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/durationpb"
	corev1 "k8s.io/api/core/v1"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/release"
)

// Dialect is the language of the templates of a release: what encloses
// actions, which functions there are, and what the dot looks like.
type Dialect struct {
	release     release.Release
	left, right string
	// own lists the functions that differ from those of the newest release.
	own []ownFunction
	// dot makes of the data what templates see.
	dot func(*Data) any
	// lenient reads templates with functions that there are not, to survey them.
	lenient bool
}

// ownFunction is a function of a dialect: fn, or, where it looks at the run,
// what makes it.
type ownFunction struct {
	name string
	fn   any
	make func(*run) any
}

// newest is the dialect of the newest release.
var newest = Dialect{release: release.Newest, left: "{{", right: "}}", dot: func(d *Data) any { return d }}

// DialectOf returns the dialect of a release; of the zero Release, the newest.
func DialectOf(r release.Release) *Dialect {
	if r.IsZero() || r == release.Newest {
		return &newest
	}
	d := newest
	d.release = r
	for _, v := range variants {
		if v.span.Has(r) {
			d.own = append(d.own, v.ownFunction)
		}
	}
	switch {
	case r.Before(release.V(1, 7)):
		d.dot = dotUntil6
	case r.Before(release.V(1, 17)):
		d.dot = dotUntil16
	case r.Before(release.V(1, 22)):
		d.dot = dotUntil21
	}
	if r.Before(release.V(1, 2)) {
		d.left, d.right = "[[", "]]"
	}
	return &d
}

// Left returns what begins an action.
func (d *Dialect) Left() string { return d.left }

// Release returns the release whose dialect it is.
func (d *Dialect) Release() release.Release { return d.release }

// function returns the function that a name means, bound to a run; nil where
// text/template's own one serves or there is none.
func (d *Dialect) function(name string, r *run) any {
	for i := range d.own {
		if d.own[i].name == name {
			if d.own[i].make != nil {
				return d.own[i].make(r)
			}
			return d.own[i].fn
		}
	}
	if !release.FunctionSpan(name).Has(d.release) {
		return nil
	}
	return function(name, r)
}

// isBound reports whether a function is one of the dialect's own and looks at
// the run.
func (d *Dialect) isBound(name string) bool {
	for i := range d.own {
		if d.own[i].name == name {
			return d.own[i].make != nil
		}
	}
	return false
}

// has reports whether the dialect has a function of that name.
func (d *Dialect) has(name string) bool {
	return release.FunctionSpan(name).Has(d.release) && (isFunction(name) || d.function(name, nil) != nil)
}

// fixFor says what to do about a function that the dialect does not have.
func (d *Dialect) fixFor(name string) string {
	f, ok := release.Lookup(release.Function, name)
	if !ok && sprigFunctions()[name] != nil {
		f, ok = release.Feature{Span: release.FunctionSpan(name)}, true
	}
	if !ok {
		if near := diag.Nearest(name, d.words()); near != "" {
			return "did you mean " + near + "?"
		}
		return newerRelease
	}
	return "releases " + f.Span.String() + " have it, and the configuration is read as one of " + d.release.String() + ": choose another with --generation"
}

// words lists the names of the functions of the dialect and the keywords.
func (d *Dialect) words() []string {
	var names []string
	add := func(name string) {
		if d.has(name) {
			names = append(names, name)
		}
	}
	for _, f := range release.Features() {
		if f.Kind == release.Function {
			add(f.Name)
		}
	}
	for name := range sprigFunctions() {
		add(name)
	}
	for _, name := range [...]string{"and", "or", "not", "len", "index", "slice", "print", "printf", "println", "eq", "ne", "lt", "le", "gt", "ge"} {
		add(name)
	}
	names = append(names, "if", "else", "end", "range", "with", "define", "template", "block")
	slices.Sort(names)
	return slices.Compact(names)
}

// variants lists the functions that behaved otherwise in older releases.
var variants = [...]struct {
	span release.Span
	ownFunction
}{
	{release.Span{Until: release.V(1, 13)}, ownFunction{name: "formatDuration", fn: formatDuration13}},
	{release.Span{Until: release.V(1, 3)}, ownFunction{name: "includeInboundPorts", fn: allPorts}},
	{release.Span{Until: release.V(1, 3)}, ownFunction{name: "applicationPorts", fn: applicationPorts3}},
	{release.Span{Until: release.V(1, 1)}, ownFunction{name: "valueOrDefault", fn: textOrDefault}},
	{release.Span{Until: release.V(1, 18)}, ownFunction{name: "toJson", fn: toJSON}},
	{release.Span{Since: release.V(1, 4), Until: release.V(1, 21)}, ownFunction{name: "protoToJSON", make: protoToJSON21}},
	{release.Span{Since: release.V(1, 8), Until: release.V(1, 8)}, ownFunction{name: "appendMultusNetwork", fn: appendMultusNetwork8}},
	{release.Span{Since: release.V(1, 9), Until: release.V(1, 22)}, ownFunction{name: "appendMultusNetwork", fn: appendMultusNetwork9}},
}

func formatDuration13(d *durationpb.Duration) string {
	if d == nil || d.CheckValid() != nil {
		return "1s"
	}
	return d.AsDuration().String()
}

// allPorts lists the ports of containers, whatever their protocol.
func allPorts(containers []corev1.Container) string { return portsBut("", containers) }

func applicationPorts3(containers []corev1.Container) string {
	return portsBut("istio-proxy", containers)
}

func portsBut(except string, containers []corev1.Container) string {
	var ports []string
	for i := range containers {
		if containers[i].Name == except {
			continue
		}
		for _, p := range containers[i].Ports {
			ports = append(ports, strconv.Itoa(int(p.ContainerPort)))
		}
	}
	return strings.Join(ports, ",")
}

func textOrDefault(text, def string) string {
	if text == "" {
		return def
	}
	return text
}

// appendMultusNetwork8 adds a network without asking whether it is there.
func appendMultusNetwork8(existing, network string) string {
	if existing == "" {
		return network
	}
	end := strings.LastIndexByte(existing, ']')
	if end < 0 {
		return existing + ", " + network
	}
	return existing[:end] + `, {"name": "` + network + `"}` + existing[end:]
}

// appendMultusNetwork9 takes the whole network for its name.
func appendMultusNetwork9(existing, network string) string {
	if !strings.Contains(existing, "]") || !strings.Contains(network, "/") {
		return appendMultusNetwork(existing, network)
	}
	var networks []map[string]any
	if json.Unmarshal([]byte(existing), &networks) != nil {
		return existing
	}
	for _, n := range networks {
		if n["name"] == network {
			return existing
		}
	}
	return appendMultusNetwork8(existing, network)
}
