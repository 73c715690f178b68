package manifest_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/manifest"
	"github.com/ingraft/ingraft/internal/source"
)

// generate makes an install of files and settings.
func generate(t testing.TB, files []string, settings ...string) (*manifest.Result, diag.List) {
	t.Helper()
	in := manifest.Input{}
	for _, text := range files {
		in.Files = append(in.Files, manifest.File{Name: "iop.yaml", In: strings.NewReader(text)})
	}
	for _, text := range settings {
		s, bad := manifest.ParseSetting(text)
		if bad != nil {
			return nil, diag.List{bad}
		}
		in.Settings = append(in.Settings, s)
	}
	res, found, err := manifest.Generate(in)
	if err != nil {
		t.Fatal(err)
	}
	return res, found
}

// operator is an IstioOperator with a specification.
func operator(spec string) []string {
	return []string{"apiVersion: install.istio.io/v1alpha1\nkind: IstioOperator\nspec:\n" + spec}
}

// find returns an object of an install.
func find(res *manifest.Result, kind, name string) *source.Node {
	if res == nil {
		return nil
	}
	for _, o := range res.Objects {
		if o.Kind == kind && o.Name == name {
			return o.Root
		}
	}
	return nil
}

// told returns the findings, a line each.
func told(l diag.List) string {
	var b strings.Builder
	for _, d := range l {
		b.WriteString(d.Severity.String() + " " + d.Error())
		if d.Fix != "" {
			b.WriteString("; " + d.Fix)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// The same input gives the same bytes, however the components were scheduled.
func TestSameBytes(t *testing.T) {
	var first []byte
	for range 3 {
		res, found := generate(t, nil, "profile=demo")
		if res == nil {
			t.Fatal(told(found))
		}
		out := manifest.Append(nil, res.Objects)
		if first == nil {
			first = out
		}
		if !bytes.Equal(out, first) {
			t.Fatal("two runs differ")
		}
	}
}

// Every mistake has a place, says what was meant and what is expected.
func TestMistakes(t *testing.T) {
	for _, tc := range []struct {
		name     string
		spec     string
		settings []string
		want     []string // parts of the findings
		fails    bool
	}{
		{
			name: "unknown value by setting", settings: []string{"values.pilot.nosuch=1"}, fails: true,
			want: []string{"Error --set values.pilot.nosuch=1: unknown field values.pilot.nosuch"},
		},
		{
			name: "unknown fields in a file", spec: "  profil: demo\n  components:\n    pilots: {}\n    pilot:\n      k8s:\n        resorces: {}\n", fails: true,
			want: []string{"iop.yaml:4:3: unknown field profil", "did you mean profile?", "iop.yaml:6:5: unknown field components.pilots", "iop.yaml:9:9: unknown field components.pilot.k8s.resorces"},
		},
		{
			name: "unknown field of Kubernetes", spec: "  components:\n    pilot:\n      k8s:\n        tolerations:\n        - keys: a\n", fails: true,
			want: []string{"iop.yaml:8:11: unknown field components.pilot.k8s.tolerations[0].keys", "did you mean key?"},
		},
		{
			name: "C-57 a word where a number is wanted", settings: []string{"values.pilot.autoscaleMin=two"}, fails: true,
			want: []string{`--set values.pilot.autoscaleMin=two: values.pilot.autoscaleMin must be a number, not "two"`},
		},
		{
			name: "X-16 one letter is no boolean", settings: []string{"components.pilot.enabled=f"}, fails: true,
			want: []string{`components.pilot.enabled must be true or false, not "f"`},
		},
		{
			name: "X-14 no value", settings: []string{"values.global.hub"}, fails: true,
			want: []string{"--set values.global.hub: the setting has no value: = is missing"},
		},
		{
			name: "C-55 no path", settings: []string{"=foo"}, fails: true,
			want: []string{"names no path before ="},
		},
		{
			name: "C-55 below a value", settings: []string{"hub=a", "hub.x=1"}, fails: true,
			want: []string{"--set hub.x=1: hub is a string, so that nothing can be set below it"},
		},
		{
			name: "C-69 unknown mesh config", spec: "  meshConfig:\n    accesLogFile: /dev/stdout\n    defaultConfig:\n      concurency: 2\n",
			want: []string{"Warning iop.yaml:5:5: unknown field meshConfig.accesLogFile", "did you mean accessLogFile?", "did you mean concurrency?"},
		},
		{
			name: "C-56 a gateway that the profile has not", settings: []string{"components.ingressGateways.[name:gw].enabled=false"}, fails: true,
			want: []string{"components.ingressGateways has no item whose name is gw", "there is istio-ingressgateway"},
		},
		{
			name: "C-59 a patch of the whole object", spec: overlay("ConfigMap", "istio", "path: ''\n            value: {immutable: true}"), fails: true,
			want: []string{"the path is empty", "path: immutable"},
		},
		{
			name: "an overlay for what is not there", spec: overlay("Deployment", "istio", "path: spec.replicas\n            value: 2"),
			want: []string{"Warning iop.yaml:9:17: components.pilot.k8s.overlays[0] has no effect: component pilot has no Deployment istio"},
		},
		{
			name: "an overlay with a container that is not there", spec: overlay("Deployment", "istiod", "path: spec.template.spec.containers.[name:discover].image\n            value: a"), fails: true,
			want: []string{"has no item whose name is discover", "did you mean [name:discovery]?"},
		},
		{
			name: "the same gateway twice", spec: "  components:\n    ingressGateways:\n    - name: a\n    - name: a\n", fails: true,
			want: []string{"iop.yaml:7:13: gateway a in namespace istio-system is there twice; the first is at iop.yaml:6:13"},
		},
		{
			name: "X-10 keys given twice", spec: "  components: {}\n  components: {}\n", fails: true,
			want: []string{"Error iop.yaml:4:3: key components is given again"},
		},
		{
			name: "a port that only root can listen on", spec: "  components:\n    ingressGateways:\n    - name: a\n      k8s:\n        service:\n          ports:\n          - port: 80\n", fails: true,
			want: []string{"port 80 goes to 0, which only root can listen on"},
		},
		{
			name: "settings of an autoscaler that is not there", spec: "  values:\n    pilot: {autoscaleEnabled: false}\n  components:\n    pilot:\n      k8s:\n        hpaSpec: {minReplicas: 2}\n",
			want: []string{"components.pilot.k8s.hpaSpec has no effect: component pilot has no autoscaler"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var files []string
			if tc.spec != "" {
				files = operator(tc.spec)
			}
			res, found := generate(t, files, tc.settings...)
			all := told(found)
			for _, want := range tc.want {
				if !strings.Contains(all, want) {
					t.Errorf("want %q in\n%s", want, all)
				}
			}
			if tc.fails != (res == nil) {
				t.Errorf("fails: %v\n%s", res == nil, all)
			}
		})
	}
}

func overlay(kind, name, patch string) string {
	return "  components:\n    pilot:\n      k8s:\n        overlays:\n        - kind: " + kind + "\n          name: " + name + "\n          patches:\n          - " + patch + "\n"
}
