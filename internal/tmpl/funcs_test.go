package tmpl

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/ingraft/ingraft/internal/testkit/portion"
)

// TestFunctions has one section a function, with the edges where the mesh's
// injector differs from what one would write first.
func TestFunctions(t *testing.T) {
	tests := map[string][][2]string{
		"annotation": {
			{`{{ annotation .ObjectMeta "missing" "d" }}`, `d`},
			{`{{ annotation .ObjectMeta "missing" 15 }}`, `15`},
			{`{{ annotation .ObjectMeta "missing" nil }}`, `<nil>`},
			{`{{ annotation .ObjectMeta "missing" .ProxyConfig.InterceptionMode }}`, `REDIRECT`},
			{`{{ annotation .ObjectMeta "missing" .Values.nothing }}`, `<nil>`},
		},
		"appendMultusNetwork": {
			{"{{ appendMultusNetwork `` `istio-cni` }}", `istio-cni`},
			{"{{ appendMultusNetwork `a` `istio-cni` }}", `a, istio-cni`},
			{"{{ appendMultusNetwork `a, istio-cni` `istio-cni` }}", `a, istio-cni`},
			{"{{ appendMultusNetwork `[{\"name\":\"a\"}]` `istio-cni` }}", `[{"name":"a"}, {"name": "istio-cni"}]`},
			{"{{ appendMultusNetwork `[{\"name\":\"a\"}]` `default/istio-cni` }}", `[{"name":"a"}, {"name": "istio-cni", "namespace": "default"}]`},
			{"{{ appendMultusNetwork `[{\"name\":\"istio-cni\",\"namespace\":\"default\"}]` `default/istio-cni` }}", `[{"name":"istio-cni","namespace":"default"}]`},
			{"{{ appendMultusNetwork `[{\"name\":\"istio-cni\",\"namespace\":\"other\"}]` `istio-cni` }}", `[{"name":"istio-cni","namespace":"other"}, {"name": "istio-cni"}]`},
			{"{{ appendMultusNetwork `[broken]` `istio-cni` }}", `[broken]`},
		},
		"applicationPorts":    {{`{{ applicationPorts .Spec.Containers }}`, `80`}},
		"includeInboundPorts": {{`{{ includeInboundPorts .Spec.Containers }}`, `80`}},
		"contains": {
			{`{{ contains "/" "a/b" }}`, `true`},
			{`{{ contains "a/b" "/" }}`, `false`},
		},
		"directory": {
			{`{{ directory "/a/b" }}`, `/a/`},
			{`{{ directory "b" }}`, ``},
			{`{{ directory "/a/" }}`, `/a/`},
		},
		"env": {
			{`{{ env "HOME" "d" }}`, `/root`},
			{`{{ env "UNSET" "d" }}`, `d`},
			{`{{ "d" | env "UNSET" }}`, `d`},
		},
		"excludeInboundPort": {
			{`{{ excludeInboundPort "" " 1" }}`, ` 1`},
			{`{{ excludeInboundPort 0 " 1" }}`, ` 1`},
			{`{{ excludeInboundPort " 15020 " "1, 2,," }}`, `1,2,15020`},
			{`{{ excludeInboundPort 15020 "15020, 2" }}`, `15020, 2`},
			{`{{ excludeInboundPort 2 "15020, 2" }}`, `15020,2,2`},
			{`{{ excludeInboundPort 15020.0 "" }}`, `15020`},
			{`{{ excludeInboundPort nil "" }}`, `<nil>`},
		},
		"excludeInterfaces":  {{`{{ excludeInterfaces "eth1, eth2" }}`, `eth1, eth2`}},
		"kubevirtInterfaces": {{`{{ kubevirtInterfaces "net1 " }}`, `net1 `}},
		"formatDuration": {
			{`{{ formatDuration .ProxyConfig.DrainDuration }}`, `45s`},
			{`{{ formatDuration nil }}`, `0s`},
			{`{{ formatDuration .ProxyConfig.ParentShutdownDuration }}`, `!can't evaluate field`},
		},
		"fromJSON": {
			{"{{ (fromJSON `{\"a\":{\"b\":1}}`).a.b }}", `1`},
			{"{{ fromJSON `{` }}", `{}`},
			{"{{ fromJSON `` }}", `{}`},
			{"{{ range fromJSON `[1,\"x\",null]` }}{{ . }};{{ end }}", `1;x;<no value>;`},
		},
		"indent": {
			{"{{ indent 2 `a\nb\n\nc\n` }}|", "a\n  b\n  \n  c\n  |"},
			{"{{ indent 0 `a\nb` }}", "a\nb"},
			{"{{ indent -2 `a\nb` }}", "a\n  b"},
			{"{{ `` | indent 2 }}|", "|"},
			{"{{ indent 99999999 `a\nb` }}", "!more than"},
		},
		"isset": {
			{`{{ isset .ObjectMeta.Labels "app" }}`, `true`},
			{`{{ isset .ObjectMeta.Labels "x" }}`, `false`},
			{`{{ isset .ObjectMeta.Annotations "x" }}`, `false`},
			{`{{ isset nil "x" }}`, `false`},
			{`{{ isset (strdict "x") "x" }}`, `true`},
			{`{{ isset (dict "x" "y") "x" }}`, `!wrong type`},
		},
		"mergeMaps": {
			{`{{ mergeMaps (strdict "a" "1" "b" "2") (strdict "b" "3") }}`, `map[a:1 b:3]`},
			{`{{ mergeMaps }}`, `map[]`},
			{`{{ mergeMaps nil .ObjectMeta.Labels | toJSON }}`, `{"app":"hello","version":"v1"}`},
		},
		"omit": {
			{`{{ omit .ObjectMeta.Labels "app" "x" }}`, `map[version:v1]`},
			{`{{ omit .ObjectMeta.Annotations "app" }}`, `map[]`},
			{`{{ omit nil "app" }}`, `map[]`},
			{`{{ omit (dict "a" 1 "b" 2) "a" }}`, `map[b:2]`},
			{`{{ omit "text" "a" }}`, `!expected map[string]string; got string`},
		},
		"omitNil": {
			{"{{ omitNil (fromJSON `{\"a\":{\"b\":null},\"c\":[null,1],\"d\":{},\"e\":[null]}`) }}", `map[c:[1] d:map[]]`},
			{"{{ omitNil (fromJSON `{\"a\":null}`) }}", `<no value>`},
			{"{{ omitNil nil }}", `<no value>`},
			{"{{ omitNil 1 }}", `1`},
			{"{{ omitNil (fromJSON `{\"a\":[]}`) | toYaml }}", "a: []\n"},
		},
		"otelResourceAttributes": {{`{{ otelResourceAttributes .MeshConfig .ObjectMeta.Annotations .ObjectMeta.Labels "ns" .Spec.Containers }}`, ``}},
		"protoToJSON": {
			{`{{ protoToJSON .ProxyConfig }}`, `{}`},
			{`{{ protoToJSON .ProxyConfig.DrainDuration }}`, `"45s"`},
			{`{{ protoToJSON .ProxyConfig.Tracing }}`, `{}`},
			{`{{ protoToJSON nil }}`, `{}`},
			{`{{ protoToJSON .MeshConfig.DefaultConfig }}`, `{}`},
		},
		"render": {
			{`{{ render "{{ .ObjectMeta.Name }}-{{ 1 }}" }}`, `hello-1`},
			{`{{ render "{{ nonsense }}" }}`, ``},
			{`{{ render "{{ .Nonsense }}" }}`, ``},
			{`{{ render "x{{ fail .ObjectMeta.Name }}" }}`, ``},
			{`{{ define "a" }}x{{ end }}{{ render "{{ template \"a\" }}" }}`, ``},
		},
		"strdict": {
			{`{{ strdict "a" "1" "b" }}`, `map[a:1 b:]`},
			{`{{ strdict }}`, `map[]`},
			{`{{ strdict "a" 1 }}`, `!expected string`},
		},
		"structToJSON": {
			{`{{ structToJSON nil }}`, `{}`},
			{`{{ structToJSON .Values.nothing }}`, `{}`},
			{`{{ structToJSON (index (index .Spec.Containers 0).Ports 0) }}`, `{"name":"http","containerPort":80}`},
			{`{{ structToJSON "<&>" }}`, `"\u003c\u0026\u003e"`},
			{`{{ structToJSON .Spec.SecurityContext }}`, `null`},
		},
		"toJSON": {
			{`{{ toJSON nil }}`, `{}`},
			{`{{ toJSON .ObjectMeta.Annotations }}`, `{}`},
			{`{{ toJSON (strdict "b" "<" "a" "x") }}`, `{"a":"x","b":"\u003c"}`},
			{`{{ toJSON (dict "a" 1) }}`, `!wrong type`},
		},
		"toJsonMap": {
			{`{{ toJsonMap }}`, `null`},
			{`{{ toJsonMap nil }}`, `{}`},
			{`{{ toJsonMap (strdict "a" "1") (strdict "a" "2") }}`, `{"a":"2"}`},
		},
		"toLower": {{`{{ toLower "DaemonSet" }}`, `daemonset`}},
		"toYaml": {
			{`{{ toYaml (dict "b" 1 "a" (list "x" "true")) }}`, "a:\n- x\n- \"true\"\nb: 1\n"},
			{`{{ toYaml nil }}`, "null\n"},
			{`{{ toYaml "text" }}`, "text\n"},
		},
		"valueOrDefault": {
			{`{{ valueOrDefault "" "d" }}`, `d`},
			{`{{ valueOrDefault nil "d" }}`, `d`},
			{`{{ valueOrDefault false "d" }}`, `false`},
			{`{{ valueOrDefault 0 "d" }}`, `0`},
			{`{{ valueOrDefault .Values.nothing.at.all "d" }}`, `d`},
			{`{{ valueOrDefault "v" "d" }}`, `v`},
		},
		"toJson of Sprig": {{`{{ toJson .ObjectMeta.Annotations }}`, `null`}},
		"clock": {
			{`{{ now.Unix }}`, `1787831120`},
			{`{{ date "2006-01-02 15:04" now }}`, `2026-08-27 12:45`},
			{`{{ now | htmlDate }}`, `2026-08-27`},
			{`{{ htmlDate "anything" }}`, `2026-08-27`},
			{`{{ htmlDateInZone 0 "UTC" }}`, `1970-01-01`},
			{`{{ dateInZone "15:04" now "" }}`, `11:45`},
			{`{{ date_in_zone "15:04" now "UTC" }}`, `11:45`},
			{`{{ dateInZone "15:04" now "Europe/Berlin" }}`, `!time zone "Europe/Berlin" is not known`},
			{`{{ ago (now.Add 0) }}`, `0s`},
			{`{{ now | date_modify "-2h" | ago }}`, `2h0m0s`},
			{`{{ now | date_modify "-3h" | durationRound }}`, `3h`},
			{`{{ durationRound "90s" }}`, `1m`},
			{`{{ (toDate "2006-01-02 15:04" "2026-08-27 12:45").Unix }}`, `1787831100`},
			{`{{ (mustToDate "2006" "2026").Year }}`, `2026`},
			{`{{ mustToDate "2006" "x" }}`, `!cannot parse`},
			{`{{ unixEpoch now }}`, `1787831120`},
		},
		"expandenv": {
			{`{{ expandenv "$HOME/${HOME}/$UNSET|$" }}`, `/root//root/|$`},
			{`{{ expandenv "${}x${y $. $1" }}`, `xy $. `},
		},
		"sorted": {
			{`{{ keys (dict "c" 1 "a" 2 "b" 3) }}`, `[a b c]`},
			{`{{ keys (dict "c" 1) (dict "a" 2 "b" 3) }}`, `[c a b]`},
			{`{{ values (dict "c" 1 "a" 2 "b" 3) }}`, `[2 3 1]`},
		},
		"bounded": {
			{`{{ repeat 3 "ab" }}`, `ababab`},
			{`{{ repeat 999999999 "ab" }}`, `!more than`},
			{`{{ repeat -1 "ab" }}`, `!negative count`},
			{"{{ nindent 2 `a\nb` }}", "\n  a\n  b"},
			{"{{ nindent 999999999 `a\nb` }}", "!more than"},
			{"{{ nindent -1 `a` }}", "!negative indent"},
			{`{{ until 3 }}`, `[0 1 2]`},
			{`{{ until 99999999 }}`, `!more than`},
			{`{{ untilStep 0 6 2 }}`, `[0 2 4]`},
			{`{{ untilStep 0 99999999 1 }}`, `!more than`},
			{`{{ untilStep 0 -99999999 -1 }}`, `!more than`},
			{`{{ seq 1 3 }}`, `1 2 3`},
			{`{{ seq 99999999 }}`, `!more than`},
			{`{{ concat (list 1) (list 2) }}`, `[1 2]`},
			{`{{ cat "a" 1 nil "b" }}`, `a 1 b`},
			{`{{ join "-" (list 1 "a") }}`, `1-a`},
			{`{{ replace "a" "bb" "aca" }}`, `bbcbb`},
			{`{{ print "a" 1 2 "b" }}{{ println 1 }}{{ printf "%03d" 7 }}`, "a1 2b1\n007"},
			{`{{ $x := "0123456789" }}{{ range until 40 }}{{ $x = print $x $x }}{{ end }}`, `!more than`},
			{`{{ $x := "0123456789" }}{{ range until 40 }}{{ $x = replace "0" (repeat 100 "0") $x }}{{ end }}`, `!more than`},
			{`{{ range until 5000 }}{{ range until 5000 }}{{ end }}{{ end }}`, `!it does not end`},
			{`{{ range until 5000 }}x{{ range until 5000 }}y{{ end }}{{ end }}`, `!it does not end`},
			{`{{ define "r" }}{{ template "r" }}{{ end }}{{ template "r" }}`, `!more than 1000 deep`},
			{`{{ define "r" }}{{ if . }}{{ template "r" (rest .) }}{{ end }}.{{ end }}{{ template "r" (list 1 2) }}`, `...`},
			{`{{ define "a" }}{{ template "b" }}{{ end }}{{ define "b" }}x{{ template "a" }}{{ end }}{{ template "a" }}`, `!more than 1000 deep`},
			{`{{ $t := "{{ range until 500 }}{{ end }}" }}{{ range until 1000 }}{{ render $t }}{{ end }}`, `!it does not end`},
			{`{{ range until 100 }}{{ repeat 1000000 "x" }}{{ end }}`, `!writes more than`},
		},
	}
	for name, rows := range tests {
		t.Run(name, func(t *testing.T) {
			for _, row := range rows {
				if name == "bounded" && !portion.Takes(row[0], 6) {
					continue // takes seconds
				}
				got, d := eval(t, row[0])
				if want, ok := strings.CutPrefix(row[1], "!"); ok {
					if d == nil || !strings.Contains(d.Error()+d.Fix, want) && !strings.Contains(d.Message, "there is no field") {
						t.Errorf("%s: got %q, %v; want an error with %q", row[0], clip(got, 100), d, want)
					}
					continue
				}
				if d != nil || got != row[1] {
					t.Errorf("%s:\n got %q %v\nwant %q", row[0], got, d, row[1])
				}
			}
		})
	}
}

func TestZone(t *testing.T) {
	tm := parseTemplate(t, `{{ dateInZone "15:04" now "Europe/Berlin" }} {{ dateInZone "15:04" now "Nowhere" }}`)
	env := testEnv
	env.Zone = zoneOf
	out, d := tm.Render(&Data{}, env, nil)
	if d != nil || string(out) != "13:45 11:45" {
		t.Errorf("got %s %v", out, d)
	}
}

func TestForbidden(t *testing.T) {
	calls := []string{
		`randAlphaNum 5`, `randAlpha 5`, `randAscii 5`, `randNumeric 5`, `randBytes 5`, `randInt 1 5`, `shuffle "ab"`,
		`uuidv4`, `bcrypt "x"`, `htpasswd "u" "p"`, `encryptAES "k" "x"`, `genPrivateKey "rsa"`, `genCA "x" 1`,
		`genCAWithKey "x" 1 "k"`, `genSelfSignedCert "x" nil nil 1`, `genSelfSignedCertWithKey "x" nil nil 1 "k"`,
		`genSignedCert "x" nil nil 1 nil`, `genSignedCertWithKey "x" nil nil 1 nil "k"`,
		`derivePassword 1 "long" "p" "u" "s"`, `getHostByName "localhost"`,
	}
	for _, call := range calls {
		name, _, _ := strings.Cut(call, " ")
		if _, ok := sprigFunctions()[name]; !ok {
			t.Errorf("%s is no function of Sprig", name)
		}
		out, d := eval(t, "a\n{{ "+call+" }}")
		if d == nil {
			t.Errorf("%s: got %q", call, out)
			continue
		}
		if d.Code != CodeForbidden || !strings.Contains(d.Message, `"`+name+`"`) || !strings.Contains(d.Fix, "render the same every time") {
			t.Errorf("%s: %v", call, d)
		}
		if got := at(d); !strings.HasPrefix(got, "2:4 "+name) {
			t.Errorf("%s: at %s", call, got)
		}
	}
	// A branch that is not taken may name them.
	if out, d := eval(t, `{{ if false }}{{ uuidv4 }}{{ end }}x`); d != nil || out != "x" {
		t.Errorf("in a branch not taken: %q %v", out, d)
	}
}

func TestOtelResourceAttributes(t *testing.T) {
	mesh := func(enrich meshv1alpha1.MeshConfig_ExtensionProvider_ServiceAttributeEnrichment) *meshv1alpha1.MeshConfig {
		return &meshv1alpha1.MeshConfig{ExtensionProviders: []*meshv1alpha1.MeshConfig_ExtensionProvider{
			{Name: "x"},
			{Name: "otel", Provider: &meshv1alpha1.MeshConfig_ExtensionProvider_Opentelemetry{
				Opentelemetry: &meshv1alpha1.MeshConfig_ExtensionProvider_OpenTelemetryTracingProvider{ServiceAttributeEnrichment: enrich},
			}},
		}}
	}
	on := mesh(meshv1alpha1.MeshConfig_ExtensionProvider_OTEL_SEMANTIC_CONVENTIONS)
	const prefix = "resource.opentelemetry.io/"
	type labels = map[string]string
	tests := []struct {
		name                string
		mesh                *meshv1alpha1.MeshConfig
		annotations, labels labels
		namespace           string
		images              []string
		want                string
	}{
		{"no provider", &meshv1alpha1.MeshConfig{}, nil, nil, "ns", []string{"a:1"}, ""},
		{"provider that does not ask", mesh(0), nil, nil, "ns", []string{"a:1"}, ""},
		{"tag", on, nil, nil, "ns", []string{"reg:5000/a:1"}, "service.namespace=ns,service.version=1,service.instance.id=ns.$(POD_NAME).c0"},
		{"digest", on, nil, nil, "ns", []string{"a@sha256:1"}, "service.namespace=ns,service.version=sha256:1,service.instance.id=ns.$(POD_NAME).c0"},
		{"both", on, nil, nil, "", []string{"a:1@sha256:1"}, "service.version=1@sha256:1,service.instance.id=.$(POD_NAME).c0"},
		{"no version", on, nil, nil, "ns", []string{"reg:5000/a"}, "service.namespace=ns,service.instance.id=ns.$(POD_NAME).c0"},
		{"two containers", on, nil, nil, "ns", []string{"a:1", "b:2"}, "service.namespace=ns,service.instance.id=ns.$(POD_NAME).c0"},
		{"no container", on, nil, nil, "ns", nil, "service.namespace=ns"},
		{"label", on, nil, labels{"app.kubernetes.io/version": "v2"}, "ns", []string{"a:1"}, "service.namespace=ns,service.version=v2,service.instance.id=ns.$(POD_NAME).c0"},
		{
			"annotations", on,
			labels{prefix + "service.namespace": "n", prefix + "service.version": "v", prefix + "service.instance.id": "i"},
			labels{"app.kubernetes.io/version": "v2"},
			"ns",
			[]string{"a:1"},
			"service.namespace=n,service.version=v,service.instance.id=i",
		},
		{
			"empty annotations", on,
			labels{prefix + "service.namespace": "", prefix + "service.version": "", prefix + "service.instance.id": ""},
			nil, "ns",
			[]string{"a:1"},
			"service.namespace=ns,service.version=1,service.instance.id=ns.$(POD_NAME).c0",
		},
	}
	for _, tt := range tests {
		var containers []corev1.Container
		for i, image := range tt.images {
			containers = append(containers, corev1.Container{Name: "c" + string(rune('0'+i)), Image: image})
		}
		if got := otelResourceAttributes(tt.mesh, tt.annotations, tt.labels, tt.namespace, containers); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestProtoToJSON(t *testing.T) {
	st, err := structpb.NewStruct(map[string]any{"b": nil, "a": []any{1.5, "<x>", true}})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		m    proto.Message
		want string
	}{
		{&meshv1alpha1.ProxyConfig{ProxyAdminPort: 15001, StatusPort: 15020}, `{"proxyAdminPort":15001}`},
		{&meshv1alpha1.ProxyConfig{DrainDuration: durationpb.New(46e9), Concurrency: wrapperspb.Int32(0)}, `{"drainDuration":"46s","concurrency":0}`},
		{
			&meshv1alpha1.ProxyConfig{ClusterName: &meshv1alpha1.ProxyConfig_TracingServiceName_{TracingServiceName: meshv1alpha1.ProxyConfig_CANONICAL_NAME_AND_NAMESPACE}},
			`{"tracingServiceName":"CANONICAL_NAME_AND_NAMESPACE"}`,
		},
		{&meshv1alpha1.ProxyConfig{ProxyMetadata: map[string]string{"B": "<", "A": "x"}, InterceptionMode: 2}, `{"interceptionMode":"NONE","proxyMetadata":{"A":"x","B":"\u003c"}}`},
		{&meshv1alpha1.ProxyConfig{InterceptionMode: 77}, `{"interceptionMode":77}`},
		{&meshv1alpha1.MeshConfig{DefaultConfig: &meshv1alpha1.ProxyConfig{StatusPort: 15020}}, `{"defaultConfig":{"statusPort":15020}}`},
		{durationpb.New(-1500e6), `"-1.500s"`},
		{wrapperspb.Int64(5), `"5"`},
		{wrapperspb.Double(0.5), `0.5`},
		{st, `{"a":[1.5,"\u003cx\u003e",true],"b":null}`},
		{(*meshv1alpha1.ProxyConfig)(nil), `{}`},
		{nil, `{}`},
	}
	for _, tt := range tests {
		if got := protoToJSON(tt.m); got != tt.want {
			t.Errorf("%v:\n got %s\nwant %s", tt.m, got, tt.want)
		}
	}
}

// TestMutation: functions that change maps change copies, so that one
// rendering cannot reach into the next.
func TestMutation(t *testing.T) {
	tm := parseTemplate(t, `{{ $_ := set .Values.global "hub" (print .Values.global.hub "x") }}{{ .Values.global.hub }}{{ $_ := unset .Values "pilot" }}`)
	data := &Data{Values: map[string]any{"global": map[string]any{"hub": "h", "l": []any{map[string]any{"a": 1}}}, "pilot": 1}}
	for range 2 {
		if out, d := tm.Render(data, testEnv, nil); d != nil || string(out) != "hx" {
			t.Fatalf("got %s %v", out, d)
		}
	}
	if len(data.Values) != 2 {
		t.Errorf("values became %v", data.Values)
	}
}
