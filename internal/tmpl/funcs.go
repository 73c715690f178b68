package tmpl

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"reflect"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/source"
)

// This file holds the functions of the mesh's injector: those of release 1.31,
// and those that a release since 1.9 had and later ones dropped. Behaviour is
// that of 1.31 where releases differ.

// function returns the function that templates know by a name, bound to a run,
// or nil where text/template's own one serves or there is none. A switch, so
// that a template costs only what it names.
func function(name string, r *run) any {
	if fn := injectorFunction(name, r); fn != nil {
		return fn
	}
	if fn := repeatable(name, r); fn != nil {
		return fn
	}
	return sprigFunctions()[name]
}

// isFunction reports whether templates know a function of that name.
func isFunction(name string) bool {
	switch name {
	case "and", "or", "not", "len", "index", "slice", "call", "html", "js", "urlquery",
		"print", "printf", "println", "eq", "ne", "lt", "le", "gt", "ge":
		return true
	}
	return function(name, nil) != nil
}

func injectorFunction(name string, r *run) any {
	switch name {
	case "annotation":
		return annotation
	case "appendMultusNetwork":
		return appendMultusNetwork
	case "applicationPorts":
		return applicationPorts
	case "contains":
		return func(needle, haystack string) bool { return strings.Contains(haystack, needle) }
	case "directory":
		return directory
	case "env":
		return func(key, def string) string { return r.envOr(key, def) }
	case "excludeInboundPort":
		return excludeInboundPort
	case "excludeInterfaces", "kubevirtInterfaces":
		return func(s string) string { return s }
	case "formatDuration":
		return func(d *durationpb.Duration) string { return d.AsDuration().String() }
	case "fromJSON":
		return fromJSON
	case "includeInboundPorts":
		return includeInboundPorts
	case "indent":
		return indent
	case "isset":
		return isset
	case "mergeMaps":
		return mergeMaps
	case "omit":
		return omit
	case "omitNil":
		return omitNil
	case "otelResourceAttributes":
		return otelResourceAttributes
	case "protoToJSON":
		return protoToJSON
	case "render":
		return func(text string) (string, error) { return r.renderText(text) }
	case "strdict":
		return strdict
	case "structToJSON":
		return structToJSON
	case "toJSON":
		return toJSON
	case "toJsonMap":
		return toJSONMap
	case "toLower":
		return strings.ToLower
	case "toYaml":
		return toYAML
	case "valueOrDefault":
		return valueOrDefault
	}
	return nil
}

// envOr is the function env: a variable of the injector's environment, or def
// where it is unset or empty.
func (r *run) envOr(key, def string) string {
	if v := r.env.getenv(key); v != "" {
		return v
	}
	return def
}

func isset(m map[string]string, key string) bool {
	_, ok := m[key]
	return ok
}

// annotation returns an annotation, even an empty one, or else def as
// fmt.Sprint writes it.
func annotation(meta metav1.ObjectMeta, name string, def any) string {
	if v, ok := meta.Annotations[name]; ok {
		return v
	}
	return fmt.Sprint(def)
}

func directory(file string) string {
	dir, _ := path.Split(file)
	return dir
}

// excludeInboundPort adds a port to a list of ports. A list that has it comes
// back as it is, as it does for no port; the entries are compared untrimmed.
func excludeInboundPort(port any, list string) string {
	p := strings.TrimSpace(fmt.Sprint(port))
	if p == "" || p == "0" {
		return list
	}
	var out []string
	for entry := range strings.SplitSeq(list, ",") {
		if entry == p {
			return list
		}
		if entry = strings.TrimSpace(entry); entry != "" {
			out = append(out, entry)
		}
	}
	return strings.Join(append(out, p), ",")
}

// includeInboundPorts lists the container ports that carry TCP.
func includeInboundPorts(containers []corev1.Container) string {
	return tcpPorts(containers, "")
}

// applicationPorts is includeInboundPorts without the proxy's own.
func applicationPorts(containers []corev1.Container) string {
	return tcpPorts(containers, "istio-proxy")
}

func tcpPorts(containers []corev1.Container, except string) string {
	var out []byte
	for i := range containers {
		if except != "" && containers[i].Name == except {
			continue
		}
		for _, p := range containers[i].Ports {
			if p.Protocol == corev1.ProtocolUDP || p.Protocol == corev1.ProtocolSCTP {
				continue
			}
			if len(out) > 0 {
				out = append(out, ',')
			}
			out = strconv.AppendInt(out, int64(p.ContainerPort), 10)
		}
	}
	return string(out)
}

// valueOrDefault returns def for nil and for the empty string only: false and
// 0 are values.
func valueOrDefault(v, def any) any {
	if v == nil {
		return def
	}
	if s, ok := v.(string); ok && s == "" {
		return def
	}
	return v
}

func toJSON(m map[string]string) string {
	if m == nil {
		return "{}"
	}
	return structToJSON(m)
}

func structToJSON(v any) string {
	if v == nil {
		return "{}"
	}
	js, err := json.Marshal(v)
	if err != nil {
		return "{}"
	}
	return string(js)
}

// fromJSON returns the value, or the string "{}" where the text is not JSON.
func fromJSON(text string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return "{}"
	}
	return v
}

func toYAML(v any) string {
	n, err := source.Value(v)
	if err != nil {
		return ""
	}
	return string(source.AppendYAML(nil, n))
}

// indent puts blanks before every line but the first, empty lines included. It
// is not Sprig's function of that name.
func indent(n int, text string) (string, error) {
	if n < 0 {
		n = -n // fmt's width, which the injector uses, pads for either sign
	}
	if (strings.Count(text, "\n")+1)*n+len(text) > maxOutput || n > maxOutput {
		return "", errResult
	}
	return strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", n)), nil
}

// appendMultusNetwork adds a network to the value of the annotation
// k8s.v1.cni.cncf.io/networks, which is a list of names or of JSON objects,
// unless it is there.
func appendMultusNetwork(existing, network string) string {
	if existing == "" {
		return network
	}
	end := strings.LastIndexByte(existing, ']')
	if end < 0 {
		for name := range strings.SplitSeq(existing, ",") {
			if strings.TrimSpace(name) == network {
				return existing
			}
		}
		return existing + ", " + network
	}
	var networks []map[string]any
	if json.Unmarshal([]byte(existing), &networks) != nil {
		return existing
	}
	namespace, name := "", network
	if parts := strings.Split(network, "/"); len(parts) > 1 {
		namespace, name = parts[0], parts[1]
	}
	for _, n := range networks {
		ns := n["namespace"]
		if ns == nil {
			ns = ""
		}
		if n["name"] == name && ns == namespace {
			return existing
		}
	}
	added := `, {"name": "` + name + `"`
	if namespace != "" {
		added += `, "namespace": "` + namespace + `"`
	}
	return existing[:end] + added + "}" + existing[end:]
}

// strdict makes a map of pairs; the value of an odd last key is empty.
func strdict(pairs ...string) map[string]string {
	m := make(map[string]string, (len(pairs)+1)/2)
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = ""
		if i+1 < len(pairs) {
			m[pairs[i]] = pairs[i+1]
		}
	}
	return m
}

// mergeMaps merges maps, the later ones winning; nil for none.
func mergeMaps(ms ...map[string]string) map[string]string {
	if len(ms) == 0 {
		return nil
	}
	out := make(map[string]string, len(ms[0]))
	for _, m := range ms {
		maps.Copy(out, m)
	}
	return out
}

func toJSONMap(ms ...map[string]string) string {
	js, err := json.Marshal(mergeMaps(ms...))
	if err != nil {
		return ""
	}
	return string(js)
}

// omit copies a map without some keys. Since 1.18 it is the injector's, on
// maps of strings; before, Sprig's, on maps of anything.
func omit(m any, keys ...string) (any, error) {
	switch m := m.(type) {
	case nil:
		return map[string]string{}, nil
	case map[string]string:
		return without(m, keys), nil
	case map[string]any:
		return without(m, keys), nil
	}
	return nil, fmt.Errorf("wrong type for value; expected map[string]string; got %T", m)
}

func without[V any](m map[string]V, keys []string) map[string]V {
	out := make(map[string]V, len(m))
	maps.Copy(out, m)
	for _, k := range keys {
		delete(out, k)
	}
	return out
}

// omitNil drops the nil values of maps and the nil items of lists, at any
// depth, and what holds nothing after that. A value without nils comes back
// as it is.
func omitNil(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if !holdsNil(v) {
			return v
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			if e = omitNil(e); e != nil {
				out[k] = e
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		if !holdsNil(v) {
			return v
		}
		out := make([]any, 0, len(v))
		for _, e := range v {
			if e = omitNil(e); e != nil {
				out = append(out, e)
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	}
	return v
}

func holdsNil(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		for _, e := range v {
			if holdsNil(e) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if holdsNil(e) {
				return true
			}
		}
	}
	return false
}

// otelResourceAttributes returns the value of OTEL_RESOURCE_ATTRIBUTES for a
// pod: "" unless an OpenTelemetry provider of the mesh asks for the attributes
// of the semantic conventions.
func otelResourceAttributes(mesh *meshv1alpha1.MeshConfig, annotations, labels map[string]string,
	namespace string, containers []corev1.Container,
) string {
	if !enrichesServiceAttributes(mesh) {
		return ""
	}
	const prefix = annot.OTelPrefix
	var attributes []string
	add := func(name string, values ...string) {
		for _, v := range values {
			if v != "" {
				attributes = append(attributes, name+"="+v)
				return
			}
		}
	}
	image, instance := "", ""
	if len(containers) == 1 {
		image = imageVersion(containers[0].Image)
	}
	if len(containers) > 0 {
		// The kubelet replaces $(POD_NAME): the name is not known before.
		instance = namespace + ".$(POD_NAME)." + containers[0].Name
	}
	add("service.namespace", annotations[prefix+"service.namespace"], namespace)
	add("service.version", annotations[prefix+"service.version"], labels[annot.KubernetesVersion], image)
	add("service.instance.id", annotations[prefix+"service.instance.id"], instance)
	return strings.Join(attributes, ",")
}

func enrichesServiceAttributes(mesh *meshv1alpha1.MeshConfig) bool {
	for _, p := range mesh.GetExtensionProviders() {
		if otel := p.GetOpentelemetry(); otel != nil &&
			otel.GetServiceAttributeEnrichment() == meshv1alpha1.MeshConfig_ExtensionProvider_OTEL_SEMANTIC_CONVENTIONS {
			return true
		}
	}
	return false
}

// imageVersion returns tag, digest or tag@digest of a container image.
func imageVersion(image string) string {
	name, digest, _ := strings.Cut(image, "@")
	tag := ""
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		tag = name[colon+1:]
	}
	if tag != "" && digest != "" {
		return tag + "@" + digest
	}
	return tag + digest
}

// protoToJSON writes a message of the mesh's configuration as canonical JSON
// without blanks.
func protoToJSON(m proto.Message) (js string) {
	defer func() {
		if recover() != nil { // a message that is not of the mesh's configuration
			js = "{}"
		}
	}()
	if m == nil || reflect.ValueOf(m).IsNil() {
		return "{}"
	}
	if pc, ok := m.(*meshv1alpha1.ProxyConfig); ok {
		m = withoutDefaults(pc)
	}
	out, err := config.AppendProtoJSON(nil, m)
	if err != nil {
		return "{}"
	}
	return string(out)
}
