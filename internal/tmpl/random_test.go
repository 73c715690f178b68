package tmpl

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/testkit/portion"
)

// writer makes up templates: mostly sound ones, of all that the language has.
type writer struct {
	*rand.Rand
	b     strings.Builder
	vars  []string
	depth int
	loop  int
}

func (w *writer) pick(list ...string) string { return list[w.IntN(len(list))] }

// expression returns an operand.
func (w *writer) expression(depth int) string {
	if depth > 3 {
		return w.pick(`"lit"`, `.`, `1`, `true`)
	}
	switch w.IntN(12) {
	case 0:
		return w.pick("\"a-b\"", "`raw`", "\"\"", "\"q\\\"\\n\"", "\"istio-proxy\"", "\"true\"")
	case 1:
		return w.pick("0", "1", "-3", "1.5", "true", "false", "63", "7", "12")
	case 11:
		if w.IntN(8) == 0 {
			return w.pick("nil", "010", "0x1f", "'c'", "1e3", "(nonsense)")
		}
		return "."
	case 2, 3:
		return w.pick(".ObjectMeta.Name", ".ObjectMeta.Namespace", ".ObjectMeta.Labels.app", ".ObjectMeta.Labels", ".ObjectMeta.Annotations",
			".DeploymentMeta.Name", ".TypeMeta.Kind", ".DeploymentMeta", ".ObjectMeta.GetName", ".ObjectMeta.Labels.version")
	case 4:
		return w.pick(".Values", ".Values.global.hub", ".Values.global.proxy.resources", ".Values.nothing", ".Values.a.b.c", ".Values.null",
			".Values.null.x", ".Values.list", ".Values.revision", ".Values.global.proxy.privileged", "(.Values.pilot.env).X")
	case 5:
		return w.pick(".Spec.Containers", ".Spec.ServiceAccountName", "(index .Spec.Containers 0).Name", ".Spec.SecurityContext", ".Spec.HostNetwork",
			"(index .Spec.Containers 0).Ports", ".Spec.SecurityContext.RunAsUser", ".Spec.Volumes", ".Spec.NodeSelector")
	case 6:
		return w.pick(".ProxyConfig.InterceptionMode", ".ProxyConfig.GetTracing.GetTlsSettings", ".ProxyConfig.HoldApplicationUntilProxyStarts.GetValue",
			".ProxyConfig.InterceptionMode.String", ".MeshConfig.ProxyListenPort", ".ProxyConfig.ProxyMetadata", ".ProxyConfig", ".MeshConfig.TrustDomain",
			".ProxyConfig.StatusPort", ".ProxyConfig.DrainDuration", ".NativeSidecars", ".ProxyUID", ".Revision", ".Novelty")
	case 7:
		if len(w.vars) > 0 {
			return w.pick(w.vars...) + w.pick("", "", "", ".Name", ".Ports")
		}
		return w.pick(".", "$", "$.ObjectMeta.Name")
	}
	return "(" + w.call(depth+1) + ")"
}

// call returns a function with arguments.
func (w *writer) call(depth int) string {
	e := func() string { return w.expression(depth) }
	key := func() string {
		return w.pick("`app`", "`version`", "`sidecar.istio.io/inject`", "`x`", "`proxy.istio.io/config`", e())
	}
	switch w.IntN(16) {
	case 0:
		return w.pick("index .ObjectMeta.Labels ", "index .ObjectMeta.Annotations ", "isset .ObjectMeta.Annotations ", "isset .ObjectMeta.Labels ") + key()
	case 1:
		return "annotation .ObjectMeta " + key() + " " + e()
	case 2:
		return w.pick("eq", "ne", "lt", "le", "gt", "ge") + " " + e() + " " + e()
	case 3:
		return w.pick("and", "or") + " " + e() + " " + e() + w.pick("", " "+e())
	case 4:
		return w.pick("not", "len", "quote", "toYaml", "toLower", "structToJSON", "omitNil", "toJSON", "fromJSON", "protoToJSON", "squote", "upper", "list",
			"directory", "kindOf", "typeOf", "toString", "empty", "first", "last", "toStrings", "print", "b64enc", "keys", "includeInboundPorts", "until") + " " + e()
	case 5:
		return w.pick("default", "valueOrDefault", "contains", "join", "append", "trimAll", "hasPrefix", "list", "coalesce", "print", "cat", "printf",
			"excludeInboundPort", "appendMultusNetwork", "add", "has", "trimSuffix", "ternary 1 2") + " " + e() + " " + e()
	case 6:
		return w.pick("trunc", "indent", "nindent", "repeat", "index .Spec.Containers", "index (list 1 2 3)", "until") + " " + w.pick("0", "1", "2", "5", e()) + w.pick("", " "+e())
	case 7:
		return "printf " + w.pick("\"%s-%v\"", "\"%d\"", "\"%t\"", "\"%q\"") + " " + e() + w.pick("", " "+e())
	case 8:
		return w.pick("dict", "strdict") + " \"k\" " + e()
	case 9:
		return w.pick("mergeMaps", "toJsonMap", "omit") + " .ObjectMeta.Labels " + w.pick("", "(strdict `a` `b`)", "`app`")
	case 10:
		return w.pick("otelResourceAttributes .MeshConfig .ObjectMeta.Annotations .ObjectMeta.Labels \"ns\" .Spec.Containers",
			"env `HOME` `d`", "env `UNSET` "+e(), "now.Year", "formatDuration .ProxyConfig.DrainDuration", "set .Values `x` 1", "uuidv4",
			"render \"{{ .ObjectMeta.Name }}\"")
	case 11:
		return "(" + w.call(depth+1) + ")" + w.pick("", ".Name", ".k")
	}
	return e()
}

func (w *writer) pipeline() string {
	s := w.call(0)
	if w.IntN(2) == 0 {
		s = w.expression(0)
	}
	for w.IntN(3) == 0 {
		s += w.pick(" | ", "|", " |") + w.pick("quote", "default \"d\"", "toYaml", "indent 2", "trunc 3", "toLower", "len", "not", "toString", "append (list 1)",
			"join \",\"", "printf \"%v\"", "valueOrDefault nil", "eq 1", "and true", "or false", "index (list 1 2)", "default .ObjectMeta.Name", "trimAll \"-_.\"", "print",
			"annotation .ObjectMeta \"x\"", ".ObjectMeta.GetName")
	}
	return s
}

func (w *writer) action(body string) {
	open, end := w.pick("{{", "{{ ", "{{- ", "{{-\n"), w.pick("}}", " }}", " -}}", "\n-}}")
	w.b.WriteString(open + body + end)
}

func (w *writer) text() {
	w.b.WriteString(w.pick("", " ", "\n", "a", "key: ", "\n  - x\n", " \t\n", "{ ", "} ", "é", "{{/* c */}}", "{{- /* c */ -}}", "text\n\n"))
}

func (w *writer) statements(n int) {
	mark := len(w.vars)
	for range n {
		w.text()
		w.statement()
	}
	w.text()
	w.vars = w.vars[:mark]
}

func (w *writer) statement() {
	if w.depth++; w.depth > 4 {
		w.action(w.pipeline())
		w.depth--
		return
	}
	mark := len(w.vars)
	switch w.IntN(12) {
	case 0:
		name := w.pick("$x", "$y", "$_z1")
		w.action(name + w.pick(" := ", ":= ", " :=") + w.pipeline())
		w.vars = append(w.vars, name)
		mark++
	case 1:
		if len(w.vars) > 0 {
			w.action(w.pick(w.vars...) + " = " + w.pipeline())
		}
	case 2, 3:
		word := w.pick("if", "if", "with")
		w.action(word + w.pick(" ", "  ", " $c := ") + w.pipeline())
		w.statements(w.IntN(3))
		if w.IntN(2) == 0 {
			w.action(w.pick("else", "else", "else "+word+" "+w.pipeline()))
			w.statements(w.IntN(2))
		}
		w.action("end")
	case 4, 5:
		over := w.pick(".Spec.Containers", "(list 1 2 3)", ".ObjectMeta.Labels", ".Values.list", "(index .Spec.Containers 0).Ports", ".ProxyConfig.ProxyMetadata",
			"(until 3)", "3", ".Values.nothing", w.expression(0))
		switch w.IntN(5) {
		case 0:
			w.action("range $i, $c := " + over)
			w.vars = append(w.vars, "$i", "$c")
		case 1:
			w.action("range $c := " + over)
			w.vars = append(w.vars, "$c")
		case 2:
			if len(w.vars) > 0 {
				w.action("range " + w.pick(w.vars...) + " = " + over)
				break
			}
			fallthrough
		default:
			w.action("range " + over)
		}
		w.loop++
		w.statements(w.IntN(3))
		if w.IntN(5) == 0 {
			w.action("if " + w.pipeline())
			w.action(w.pick("break", "continue"))
			w.action("end")
		}
		w.loop--
		if w.IntN(3) == 0 {
			w.action("else")
			w.statements(1)
		}
		w.action("end")
	case 6:
		w.action("template \"" + w.pick("a", "b", "c", "inject") + "\"" + w.pick("", " .", " "+w.pipeline()))
	case 7:
		if w.IntN(40) == 0 {
			w.action(w.pick("break", "end", "else", "nil", "if", ".", "$nope", "block \"d\" .", "(", "1 2"))
		}
	default:
		w.action(w.pipeline())
	}
	w.vars = w.vars[:mark]
	w.depth--
}

func randomTemplate(r *rand.Rand) string {
	w := &writer{Rand: r}
	for _, name := range []string{"a", "b"} {
		if r.IntN(2) == 0 {
			w.action("define \"" + name + "\"")
			w.statements(1 + r.IntN(2))
			w.action("end")
		}
	}
	w.statements(1 + r.IntN(5))
	return w.b.String()
}

// TestRandomTemplates compares programs with text/template on made-up
// templates.
func TestRandomTemplates(t *testing.T) {
	pods := []*source.Node{node(t, helloPod), node(t, `{metadata: {}, spec: {containers: []}}`), node(t, `
metadata: {name: p, labels: {app: x, version: ""}, annotations: {sidecar.istio.io/inject: "true", x: "<a>"}}
spec:
  hostNetwork: true
  securityContext: {runAsUser: 5}
  volumes: [{name: v, emptyDir: {}}]
  nodeSelector: {a: b}
  containers:
  - {name: istio-proxy, image: auto, ports: [{containerPort: 1}, {containerPort: 2, name: b}]}
`)}
	values := chartValues(t)
	values["null"] = nil
	values["list"] = []any{1.0, "x", nil, map[string]any{"Name": "n"}}
	ran, made, failed := 0, 0, 0
	n := portion.Of(250, 5)
	for seed := range uint64(n) {
		text := randomTemplate(rand.New(rand.NewPCG(seed, 1)))
		tm, d := Parse("random", source.NewText(fmt.Sprint("seed ", seed), []byte(text)))
		if d != nil {
			failed++
			if testing.Verbose() {
				t.Log(d)
			}
			continue
		}
		if tm.program != nil {
			made++
		}
		for _, pod := range pods {
			data := testData(t, pod, tm.Needs())
			data.Values = values
			compareReference(t, tm, data)
			full := testData(t, pod, AllNeeds())
			full.Values = values
			out, d := tm.Render(data, testEnv, nil)
			want, dw := tm.Render(full, testEnv, nil)
			if normal(out) != normal(want) || (d == nil) != (dw == nil) {
				t.Fatalf("needs make a difference on\n%s\n needs: %q %v\n whole: %q %v", text, out, d, want, dw)
			}
			if tm.program != nil {
				if _, ok := tm.program.render(tm, data, testEnv); ok {
					ran++
				}
			}
		}
	}
	t.Logf("%d faulty, %d programs, %d runs without text/template", failed, made, ran)
	if made < n*18/25 || ran < n*12/25 {
		t.Errorf("only %d programs and %d runs: the templates made up are no good", made, ran)
	}
}
