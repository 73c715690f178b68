package annot

import (
	"strings"
	"testing"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// noProxyConfig stands in for config.CheckProxyConfig: it refuses "bad".
func noProxyConfig(text *source.Text) diag.List {
	if string(text.Data) != "bad" {
		return nil
	}
	return diag.List{{Code: "IGF0303", Severity: diag.Error, Message: "statusPort is bad"}}
}

// The values and verdicts of every annotation that the injector judges. The
// module test/conformance asks the injector itself about many more.
func TestValidate(t *testing.T) {
	for name, values := range map[string]struct{ good, bad []string }{
		SidecarInterceptionMode:        {[]string{"REDIRECT", "TPROXY", "NONE"}, []string{"", "redirect", "REDIRECT ", "0"}},
		SidecarStatusPort:              {[]string{"0", "15020", " 80 ", "65535"}, []string{"", "65536", "-1", "+1", "1.0", "http"}},
		ReadinessInitialDelaySeconds:   {[]string{"0", "4294967295", "007"}, []string{"", "4294967296", "-1", " 1", "1s"}},
		ReadinessPeriodSeconds:         {[]string{"1"}, []string{"x"}},
		ReadinessFailureThreshold:      {[]string{"1"}, []string{"x"}},
		TrafficIncludeOutboundIPRanges: {[]string{"", "*", "10.0.0.0/8", "10.0.0.0/8,fd00::/8"}, []string{"10.0.0.1", "10.0.0.0/8, fd00::/8", "*,10.0.0.0/8", "10.0.0.0/33", ","}},
		TrafficExcludeOutboundIPRanges: {[]string{"", "10.0.0.0/8"}, []string{"*"}},
		TrafficIncludeInboundPorts:     {[]string{"", " ", "*", "80", "80, 81 "}, []string{"* ", "80,", "80,x", "80;81"}},
		TrafficExcludeInboundPorts:     {[]string{"", "80"}, []string{"*", "70000"}},
		TrafficExcludeOutboundPorts:    {[]string{"", "80"}, []string{"*"}},
		TrafficExcludeInterfaces:       {[]string{"", "eth0", " eth0 , net1.2", "a23456789012345"}, []string{" ", "eth0,", "0eth", "eth 0", "eth:0", "a234567890123456", "ü"}},
		TrafficKubevirtInterfaces:      {[]string{"k6t-eth0"}, []string{"-"}},
		RerouteVirtualInterfaces:       {[]string{"net1"}, []string{"_"}},
		PrometheusMergeMetrics:         {[]string{"true", "F", "1"}, []string{"", "yes", " true"}},
		SidecarProxyCPU:                {[]string{"100m", "0.5", "2", "1e3", "-1"}, []string{"", "100 m", "100m\n", "all"}},
		SidecarProxyCPULimit:           {[]string{"1"}, []string{"x"}},
		SidecarProxyMemory:             {[]string{"128Mi"}, []string{"128MiB"}},
		SidecarProxyMemoryLimit:        {[]string{"1Gi"}, []string{"\x00"}},
		ProxyConfig:                    {[]string{"", "x"}, []string{"bad"}},
		// Not judged by the injector.
		TrafficIncludeOutboundPorts: {[]string{"x"}, nil},
		SidecarInject:               {[]string{"maybe"}, nil},
		"example.com/any":           {[]string{"thing"}, nil},
	} {
		for _, value := range values.good {
			if diags := validate(name, source.NewString(value)); len(diags) > 0 {
				t.Errorf("%s: %q: %v", name, value, diags)
			}
		}
		for _, value := range values.bad {
			diags := validate(name, source.NewString(value))
			if len(diags) != 1 || !diags.HasErrors() || !strings.Contains(diags[0].Message, name) {
				t.Errorf("%s: %q: got %v, want one error", name, value, diags)
			} else if name != ProxyConfig && (diags[0].Fix == "" || diags[0].Code != CodeValue) {
				t.Errorf("%s: %q: %+v", name, value, diags[0])
			}
		}
	}
	for i := range keys {
		if k := &keys[i]; k.Refused && k.check == nil && k.Name != ProxyConfig {
			t.Errorf("%s is said to be judged, and is not", k.Name)
		}
	}
}

func validate(name string, value *source.Node) diag.List {
	return Validate(source.NewMap(source.F("a", source.NewString("b")), source.F(name, value)), noProxyConfig)
}

func TestValidateTypes(t *testing.T) {
	if diags := validate(SidecarStatusPort, source.NewInt(80)); len(diags) != 0 {
		t.Errorf("a number: %v", diags)
	}
	if diags := validate(SidecarStatusPort, source.NewBool(true)); len(diags) != 1 {
		t.Errorf("a boolean: %v", diags)
	}
	if diags := validate(ProxyConfig, source.NewInt(5)); len(diags) != 0 {
		t.Errorf("a number as a proxy configuration: %v", diags)
	}
	for _, n := range []*source.Node{source.NewMap(), source.NewList()} {
		if diags := validate("example.com/any", n); len(diags) != 1 {
			t.Errorf("an %s: %v", n.Kind(), diags)
		}
	}
	// Kubernetes reads null as the empty string.
	if diags := validate(SidecarStatusPort, source.NewNull()); len(diags) != 1 {
		t.Errorf("null as a port: %v", diags)
	}
	if diags := validate(TrafficExcludeInboundPorts, source.NewNull()); len(diags) != 0 {
		t.Errorf("null as ports: %v", diags)
	}
	if diags := Validate(nil, noProxyConfig); len(diags) != 0 {
		t.Errorf("no annotations: %v", diags)
	}
}

func TestValidatePlace(t *testing.T) {
	doc, err := source.Parse(source.NewText("pod.yaml", []byte("a: b\n"+SidecarStatusPort+": x\n")))
	if err != nil {
		t.Fatal(err)
	}
	diags := Validate(doc.Root, noProxyConfig)
	if len(diags) != 1 || diags[0].Span != doc.Root.Get(SidecarStatusPort).Span() {
		t.Errorf("%+v", diags)
	}
}

// The place is the part of the value that is at fault, also inside quotes and
// block scalars.
func TestPlace(t *testing.T) {
	for _, test := range []struct {
		name, value string
		want        string
	}{
		{TrafficExcludeOutboundPorts, `"80,8o,443"`, "p:1:5 8o"},
		{TrafficExcludeOutboundPorts, `"80;443"`, `p:1:1 "80;443"`},
		{TrafficExcludeOutboundPorts, "'80, 443,'", "p:1:1 '80, 443,'"},
		{TrafficIncludeOutboundIPRanges, "|\n 10.0.0.0/8,1.2.3.4", "p:2:13 1.2.3.4"},
		{SidecarUserVolume, "|\n {\"a\":\n  {,}}", "p:3:4 ,"},
		{SidecarUserVolume, `'{"it''s": nul}'`, "p:1:15 }"},
		{SidecarUserVolume, `""`, `p:1:1 ""`},
	} {
		doc, err := source.Parse(source.NewText("p", []byte(test.value)))
		if err != nil {
			t.Fatal(err)
		}
		k, _ := Lookup(Annotation, test.name)
		at := k.Place(doc.Root)
		if got := at.Pos().String() + " " + string(at.Text.Data[at.Start:at.End]); got != test.want {
			t.Errorf("%s: %s: %s, want %s", test.name, test.value, got, test.want)
		}
	}
}

func TestCheck(t *testing.T) {
	for name, values := range map[string]struct{ good, bad string }{
		SidecarNativeSidecar:      {"true", "True"},
		SidecarUserVolume:         {`[{"name": "a"}]`, "a"},
		SidecarStatsFlushInterval: {"5s", "5"},
		SidecarLogLevel:           {"warning", "verbose"},
		SidecarComponentLogLevel:  {"misc:error, rbac:debug", "misc"},
		SidecarAgentLogLevel:      {"default:info,ads:debug", "default:trace"},
		ReadinessApplicationPorts: {"80,81", "http"},
		SidecarStatsCompression:   {"zstd", "zip"},
		NetworkingServiceType:     {"NodePort", "nodeport"},
		UseWaypointCanaryWeight:   {"100", "101"},
		SidecarDiscoveryAddress:   {"istiod.istio-system.svc:15012", "istiod"},
		SidecarBootstrapOverride:  {"anything", ""},
	} {
		k, _ := Lookup(Annotation, name)
		if wrong := k.Check(values.good); wrong != "" {
			t.Errorf("%s: %q %s", name, values.good, wrong)
		}
		if values.bad != "" && k.Check(values.bad) == "" {
			t.Errorf("%s: %q was accepted", name, values.bad)
		}
	}
	k, _ := Lookup(Label, NamespaceInjection)
	if got := k.Check("true"); got != `is "true", which is not enabled or disabled` {
		t.Error(got)
	}
}

func FuzzValidate(f *testing.F) {
	for _, s := range []string{"", "*", "80,81", "10.0.0.0/8", "eth0", "100m", "true", "REDIRECT", "bad"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		for i := range keys {
			k := &keys[i]
			wrong := k.Check(value) != "" || k.Name == ProxyConfig && value == "bad"
			got := Validate(source.NewMap(source.F(k.Name, source.NewString(value))), noProxyConfig)
			if want := k.Kind == Annotation && k.Refused && wrong; got.HasErrors() != want && k.Kind == Annotation {
				t.Errorf("%s: %q: got %v, want an error: %v", k.Name, value, got, want)
			}
			Nearest(k.Kind, value)
		}
	})
}
