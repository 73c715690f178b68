package release

import "sort"

// Kind tells what a feature of an injection configuration is.
type Kind uint8

// The kinds of feature.
const (
	Function Kind = iota // of templates
	Field                // of the data that templates see
	Key                  // of the configuration
)

// String names the kind.
func (k Kind) String() string { return [...]string{"function", "field", "key"}[k] }

// Feature is something that a configuration may use and that not every release
// has.
type Feature struct {
	Kind Kind
	Name string
	Span
}

// features lists what came or went between two releases. What entered with a
// patch counts for the minor release as a whole. It is sorted by kind and name.
var features = [...]Feature{
	{Function, "annotation", from(1, 0)},
	{Function, "appendMultusNetwork", from(1, 8)},
	{Function, "applicationPorts", from(1, 0)},
	{Function, "contains", from(1, 2)},
	{Function, "directory", from(1, 1)},
	{Function, "env", from(1, 5)},
	{Function, "excludeInboundPort", from(1, 0)},
	{Function, "excludeInterfaces", from(1, 15)},
	{Function, "formatDuration", Span{}},
	{Function, "fromJSON", from(1, 1)},
	{Function, "includeInboundPorts", from(1, 0)},
	{Function, "indent", from(1, 1)},
	{Function, "isset", Span{}},
	{Function, "kubevirtInterfaces", from(1, 1)},
	{Function, "mergeMaps", from(1, 21)},
	{Function, "omit", from(1, 8)},
	{Function, "omitNil", from(1, 28)},
	{Function, "otelResourceAttributes", from(1, 30)},
	{Function, "protoToJSON", from(1, 4)},
	{Function, "render", Span{V(1, 2), V(1, 13)}},
	{Function, "strdict", from(1, 18)},
	{Function, "structToJSON", from(1, 3)},
	{Function, "toJSON", from(1, 1)},
	{Function, "toJson", from(1, 0)},
	{Function, "toJsonMap", from(1, 18)},
	{Function, "toLower", from(1, 3)},
	{Function, "toYaml", from(1, 1)},
	{Function, "valueOrDefault", from(1, 1)},
	{Field, "CompliancePolicy", from(1, 19)},
	{Field, "DeploymentMeta", from(1, 1)},
	{Field, "EstimatedConcurrency", Span{V(1, 10), V(1, 17)}},
	{Field, "InboundTrafficPolicyMode", from(1, 22)},
	{Field, "NativeSidecars", from(1, 27)},
	{Field, "ProxyConfig.Concurrency.GetValue", from(1, 7)},
	{Field, "ProxyConfig.Concurrency.Value", from(1, 7)},
	{Field, "ProxyConfig.ConnectTimeout", Span{Until: V(1, 5)}},
	{Field, "ProxyConfig.ParentShutdownDuration", Span{Until: V(1, 16)}},
	{Field, "ProxyGID", from(1, 20)},
	{Field, "ProxyImage", from(1, 13)},
	{Field, "ProxyInitImage", from(1, 31)},
	{Field, "ProxyUID", from(1, 20)},
	{Field, "Revision", from(1, 9)},
	{Field, "TypeMeta", from(1, 3)},
	{Field, "Values", from(1, 2)},
	{Key, "aliases", from(1, 9)},
	{Key, "alwaysInjectSelector", from(1, 1)},
	{Key, "defaultTemplates", from(1, 9)},
	{Key, "injectedAnnotations", from(1, 4)},
	{Key, "neverInjectSelector", from(1, 1)},
	{Key, "policy", Span{}},
	{Key, "template", Span{Until: V(1, 8)}},
	{Key, "templates", from(1, 9)},
}

// plainConcurrency is what .ProxyConfig.Concurrency was before it became a
// message, which cannot be compared with a number.
var plainConcurrency = Feature{Field, "ProxyConfig.Concurrency as a number", Span{Until: V(1, 6)}}

func from(major, minor int) Span { return Span{Since: V(major, minor)} }

// Features returns the table, sorted by kind and name. It must not be changed.
func Features() []Feature { return features[:] }

// Lookup finds a feature by its kind and name.
func Lookup(kind Kind, name string) (Feature, bool) {
	i := sort.Search(len(features), func(i int) bool {
		f := &features[i]
		return f.Kind > kind || f.Kind == kind && f.Name >= name
	})
	if i < len(features) && features[i].Kind == kind && features[i].Name == name {
		return features[i], true
	}
	return Feature{}, false
}

// sprigSince is when templates got the functions of Sprig.
var sprigSince = V(1, 8)

// FunctionSpan tells which releases have a template function: those of the
// table, and since 1.8 Sprig's. The functions of text/template itself are in
// every release.
func FunctionSpan(name string) Span {
	if f, ok := Lookup(Function, name); ok {
		return f.Span
	}
	if isBuiltin(name) {
		return Span{}
	}
	return Span{Since: sprigSince}
}

func isBuiltin(name string) bool {
	switch name {
	case "and", "or", "not", "len", "index", "slice", "call", "html", "js", "urlquery",
		"print", "printf", "println", "eq", "ne", "lt", "le", "gt", "ge":
		return true
	}
	return false
}
