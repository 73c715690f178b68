package inject_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/ingraft/ingraft/internal/chart/builtin"
	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
)

// lintOf lints a configuration, and returns the findings as lines: place,
// severity, code, message, fix.
func lintOf(t *testing.T, injection, values, generation string) []string {
	t.Helper()
	asked, _ := release.Parse(generation)
	set, list := config.Load(source.NewText("c.yaml", []byte(injection)), source.NewText("", nil), source.NewText("v.yaml", []byte(values)), asked)
	if set == nil {
		t.Fatalf("loading: %v", list)
	}
	var lines []string
	for _, d := range append(inject.WithoutReadValues(set, list), inject.Lint(set)...) {
		lines = append(lines, lineOf(d))
	}
	return lines
}

func lineOf(d *diag.Diagnostic) string {
	line := fmt.Sprintf("%s %s %s %s", d.Span.Pos(), d.Severity, d.Code, d.Message)
	if d.Fix != "" {
		line += " (" + d.Fix + ")"
	}
	return line
}

// alarms are the findings but for those about later releases, which a
// configuration of an old release must have.
func alarms(lines []string) []string {
	return slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, " "+inject.CodeEnds+" ") })
}

// knownAlarms are the findings about configurations as the releases installed
// them, which are true: what the mesh's own templates say in vain.
var knownAlarms = []string{
	// Injectors read the key until 1.7; the templates kept it for one more.
	"podRedirectAnnot does nothing since release 1.8",
	// A group for files is a setting of a pod's security context.
	"fsGroup is no field of a SecurityContext: it is dropped without a word",
	// The templates for proxyless gRPC of 1.11 to 1.14 put an annotation beside
	// the annotations.
	"sidecar.istio.io/rewriteAppHTTPProbers is no field of an ObjectMeta: it is dropped without a word",
}

// What releases install and what their own tests use has nothing misspelt.
func TestLintRecordedConfigurations(t *testing.T) {
	dir := findUp(t, legacyDir)
	for _, tag := range tags {
		files, err := filepath.Glob(filepath.Join(dir, tag, "*config*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			for _, values := range append(valuesFor(t, filepath.Join(dir, tag)), "") {
				for _, line := range alarms(lintOf(t, string(read(t, "", file)), values, tag)) {
					if !slices.ContainsFunc(knownAlarms, func(known string) bool { return strings.Contains(line, known) }) {
						t.Errorf("%s/%s: %s", tag, filepath.Base(file), line)
					}
				}
			}
		}
	}
}

func valuesFor(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "values*"))
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, f := range files {
		texts = append(texts, string(read(t, "", f)))
	}
	return texts
}

func TestLintBuiltinConfiguration(t *testing.T) {
	injection, _, values, err := builtin.DefaultInjection(builtin.Injection{IstioNamespace: "istio-system"})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lintOf(t, string(injection), string(values), "") {
		t.Error(line)
	}
}

// knownInCases are the findings about the configurations of the cases of the
// generations, by file.
var knownInCases = map[string][]string{
	"no-such-field.txtar": {"no field of"},
	"policy.txtar":        {"policy is", config.CodeOldShape},
	"curly.txtar":         {"podRedirectAnnot does nothing", "injectedAnnotations has no effect"},
}

// The configurations of the cases of every generation have nothing misspelt but
// what they are about.
func TestLintGenerationCases(t *testing.T) {
	files, err := filepath.Glob("testdata/generations/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		parts := map[string]string{}
		for _, f := range txtar.Parse(read(t, "", file)).Files {
			parts[f.Name] = string(f.Data)
		}
		releases := strings.Fields(parts["releases"])
		if len(releases) == 0 || parts["config.yaml"] == "" {
			t.Errorf("%s: no releases, or no config.yaml", file)
		}
		for _, r := range releases {
			for _, line := range alarms(lintOf(t, parts["config.yaml"], parts["values.yaml"], r)) {
				if !slices.ContainsFunc(knownInCases[filepath.Base(file)], func(known string) bool { return strings.Contains(line, known) }) {
					t.Errorf("%s, release %s: %s", file, r, line)
				}
			}
		}
	}
}

// A sample of every generation with one of everything that can be misspelt, and
// what is to be said of it. The same without the slips is clean.
var lintSamples = []struct {
	releases, config, values string
	want                     []string
}{
	{
		releases: "0.8 1.0 1.1",
		config: `policy: enabled
template: |
  containers:
  - name: istio-proxy
    imagee: proxy
    args: ["[[ .ProxyConfig.DiscoveryAdress ]]", "[[ formatDuration .ProxyConfig.DrainDuration ]]"]
    env:
    - name: A
      valu: "[[ .ObjectMeta.Nmae ]]"
    [[ if isset .ObjectMeta.Annotations "sidecar.istio.io/proxyImagee" -]]
    ports: [{containerPrt: 1}]
    [[ end -]]
  container: []
`,
		want: []string{
			"c.yaml:5:5 Error IGF0208 imagee is no field of a Container (did you mean image?)",
			"c.yaml:6:29 Error IGF0402 there is no field DiscoveryAdress in the proxy configuration (did you mean DiscoveryAddress?)",
			"c.yaml:9:7 Error IGF0208 valu is no field of an EnvVar (did you mean value?)",
			"c.yaml:9:29 Error IGF0402 there is no field Nmae in an ObjectMeta (did you mean Name?)",
			"c.yaml:10:42 Warning IGF0623 the template asks for annotation sidecar.istio.io/proxyImagee: the mesh has no annotation sidecar.istio.io/proxyImagee (did you mean sidecar.istio.io/proxyImage?)",
			"c.yaml:11:14 Error IGF0208 containerPrt is no field of a ContainerPort (did you mean containerPort?)",
			"c.yaml:13:3 Error IGF0208 container is nothing that the template may append to a pod (did you mean containers?)",
		},
	},
	{
		releases: "1.2 1.4 1.6 1.8",
		config: `policy: enabled
template: |
  rewriteAppHTTPProb: true
  containers:
  - name: istio-proxy
    image: "{{ .Values.global.hubb }}/{{ .Values.global.proxy.image }}"
    args:
    - "{{ .MeshConfig.TrustDomian }}"
    {{- with .Spec }}{{ range .Containers }}
    - "{{ .Iamge }}"
    {{- end }}{{ end }}
    securityContext:
      {{- if .Values.global.proxy.privileged }}
      privleged: true
      {{- end }}
    lifecycle: {{ toYaml .Values.global.proxy.lifecycle }}
`,
		values: `{"global": {"hub": "h", "proxy": {"imge": "p", "privileged": true, "lifecycle": {}}}}`,
		want: []string{
			"c.yaml:3:3 Error IGF0208 rewriteAppHTTPProb is nothing that the template may append to a pod (did you mean rewriteAppHTTPProbe?)",
			"c.yaml:6:31 Warning IGF0406 the values have no global.hubb (did you mean global.hub?)",
			"c.yaml:8:23 Error IGF0402 there is no field TrustDomian in the mesh configuration (did you mean TrustDomain?)",
			"c.yaml:10:12 Error IGF0402 there is no field Iamge in a Container (did you mean Image?)",
			"c.yaml:14:7 Error IGF0208 privleged is no field of a SecurityContext (did you mean privileged?)",
			"v.yaml:1:35 Warning IGF0205 nothing reads global.proxy.imge of the values (did you mean global.proxy.image?)",
		},
	},
	{
		releases: "1.9 1.13 1.14 1.18 1.20 1.25 1.28 1.31",
		config: `policy: enabled
defaultTemplates: [sidecar]
templates:
  sidecar: |
    {{- define "unused" }}x{{ end }}
    metadata:
      label: {}
      labels: {security.istio.io/tlsModes: istio}
      annotations:
        sidecar.istio.io/statuss: "{{ annotation .ObjectMeta "sidecar.istio.io/logLevell" .Revisions }}"
        example.com/own: "{{ index .ObjectMeta.Labels "my.example.com/label" }}"
    spec:
      containers:
      - name: istio-proxy
        imagee: {{ .Values.global.proxy.imag }}
        args: ["{{ .ProxyConfig.Concurency }}", "{{ .Values.mine.a }}"]
        command: ["sh", "-c", "imagee: x"]
        {{- if .Values.global.hub }}
        env:
        - {name: A, valeu: "{{ .TypeMeta.Kind }}"}
        - name: SCRIPT
          value: |
            imagee: this is text
        {{- end }}
      dnsConfigs: {}
`,
		values: `{"global": {"hub": "h", "proxy": {"image": "p"}}, "mine": {"a": 1}}`,
		want: []string{
			`c.yaml:5:16 Warning IGF0205 nothing invokes this template (remove it, or invoke it with {{ template }})`,
			"c.yaml:7:7 Warning IGF0208 label is no field of an ObjectMeta: it is dropped without a word (did you mean labels?)",
			"c.yaml:8:16 Warning IGF0623 the template sets label security.istio.io/tlsModes: the mesh has no label security.istio.io/tlsModes (did you mean security.istio.io/tlsMode?)",
			"c.yaml:10:9 Warning IGF0623 the template sets annotation sidecar.istio.io/statuss: the mesh has no annotation sidecar.istio.io/statuss (did you mean sidecar.istio.io/status?)",
			"c.yaml:10:63 Warning IGF0623 the template asks for annotation sidecar.istio.io/logLevell: the mesh has no annotation sidecar.istio.io/logLevell (did you mean sidecar.istio.io/logLevel?)",
			"c.yaml:10:92 Error IGF0402 there is no field Revisions in the template's data (did you mean Revision?)",
			"c.yaml:15:9 Warning IGF0208 imagee is no field of a Container: it is dropped without a word (did you mean image?)",
			"c.yaml:15:41 Warning IGF0406 the values have no global.proxy.imag (did you mean global.proxy.image?)",
			"c.yaml:16:33 Error IGF0402 there is no field Concurency in the proxy configuration (did you mean Concurrency?)",
			"c.yaml:20:21 Warning IGF0208 valeu is no field of an EnvVar: it is dropped without a word (did you mean value?)",
			"c.yaml:25:7 Warning IGF0208 dnsConfigs is no field of a PodSpec: it is dropped without a word (did you mean dnsConfig?)",
		},
	},
}

func TestLintSamples(t *testing.T) {
	for _, s := range lintSamples {
		for _, r := range strings.Fields(s.releases) {
			got := alarms(lintOf(t, s.config, s.values, r))
			slices.Sort(got)
			want := slices.Clone(s.want)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("release %s (-want +got):\n%s", r, diff)
			}
		}
		clean := strings.NewReplacer("imagee: {{", "image: {{", "imagee: proxy", "image: proxy", "DiscoveryAdress", "DiscoveryAddress", "valu:", "value:", "Nmae", "Name",
			"proxyImagee", "proxyImage", "containerPrt", "containerPort", "  container: []\n", "", "HTTPProb:", "HTTPProbe:", "hubb", "hub", "Domian", "Domain",
			"Iamge", "Image", "privleged", "privileged", "      label: {}\n", "", "tlsModes", "tlsMode", "statuss", "status", "Levell", "Level", "Revisions", "Revision",
			".imag }}", ".image }}", "Concurency", "Concurrency", "valeu", "value", "dnsConfigs", "dnsConfig", `{{- define "unused" }}x{{ end }}`, "")
		values := strings.ReplaceAll(s.values, "imge", "image")
		for _, r := range strings.Fields(s.releases) {
			for _, line := range alarms(lintOf(t, clean.Replace(s.config), values, r)) {
				t.Errorf("release %s, without the slips: %s", r, line)
			}
		}
	}
}

// What stops working is told of the release that has it last.
func TestLintEnds(t *testing.T) {
	for _, c := range []struct{ release, template, want string }{
		{"1.1", "x: [[ .ProxyConfig.ParentShutdownDuration ]]", "c.yaml:3:12 Info IGF0206 field ProxyConfig.ParentShutdownDuration is gone in releases after 1.16"},
		{"1.16", "x: {{ .ProxyConfig.ParentShutdownDuration }}", "c.yaml:3:12 Warning IGF0206 field ProxyConfig.ParentShutdownDuration is gone in releases after 1.16"},
		{"1.16", "x: {{ .ProxyConfig.GetParentShutdownDuration }}", "c.yaml:3:24 Warning IGF0206 field ProxyConfig.GetParentShutdownDuration is gone in releases after 1.16"},
		{"1.21", "x: {{ .DeploymentMeta.Labels }}", "c.yaml:3:27 Warning IGF0206 field DeploymentMeta.Labels is gone in releases after 1.21"},
		{"1.20", "x: {{ .DeploymentMeta.Labels }}", "c.yaml:3:27 Info IGF0206 field DeploymentMeta.Labels is gone in releases after 1.21"},
		{"1.22", "x: {{ .DeploymentMeta.Labels }}", "c.yaml:3:27 Error IGF0402 there is no field Labels in a NamespacedName"},
		{"1.6", "x: {{ .MeshConfig.MixerCheckServer }}", "c.yaml:3:23 Warning IGF0206 field MeshConfig.MixerCheckServer is gone in releases after 1.6"},
		{"1.17", "x: {{ .EstimatedConcurrency }}", "c.yaml:3:12 Warning IGF0206 field EstimatedConcurrency is gone in releases after 1.17 (write .ProxyConfig.Concurrency, or leave it to the proxy)"},
		{"1.18", "x: {{ .EstimatedConcurrency }}", "c.yaml:3:12 Error IGF0402 release 1.18 has no field EstimatedConcurrency: it is there 1.10 to 1.17 (leave it out, or read the configuration as one of another release)"},
		{"1.13", "x: {{ render `x` }}", "c.yaml:3:11 Warning IGF0206 function render is gone in releases after 1.13 (write what it renders into the template)"},
		{"1.6", "podRedirectAnnot: {}", "c.yaml:3:5 Info IGF0206 podRedirectAnnot does nothing in releases after 1.7 (annotate the pods that need it)"},
		{"1.7", "podRedirectAnnot: {}", "c.yaml:3:5 Warning IGF0206 podRedirectAnnot does nothing in releases after 1.7 (annotate the pods that need it)"},
		{"1.18", "spec: {initContainers: [{name: a, restartPolicy: Always}]}", "c.yaml:4:39 Warning IGF0206 restartPolicy of a container is dropped here, but counts since release 1.19: it makes an init container a sidecar (remove it)"},
		{"1.8", "containers: []", "c.yaml:2:1 Warning IGF0206 key template is not read by releases after 1.8 (write it as templates.sidecar: a part of a pod, with what is appended below spec)"},
		{"1.1", "a: [[ .Spec ]]", "c.yaml:3:8 Warning IGF0206 actions in [[ ]] are plain text to releases after 1.1 (write {{ }})"},
	} {
		text := "policy: enabled\ntemplate: |\n    " + c.template + "\n"
		if r, _ := release.Parse(c.release); !r.Before(release.V(1, 9)) {
			text = "policy: enabled\ntemplates:\n  sidecar: |\n    " + c.template + "\n"
			c.want = strings.Replace(c.want, "c.yaml:3:", "c.yaml:4:", 1)
		}
		if got := lintOf(t, text, "", c.release); !slices.Contains(got, c.want) {
			t.Errorf("release %s, %s:\n%s\nwant %s", c.release, c.template, strings.Join(got, "\n"), c.want)
		}
	}
}

// What is dead or shadowed is told, and what is neither is not.
func TestLintSelectors(t *testing.T) {
	for _, c := range []struct{ keys, want string }{
		{"neverInjectSelector: [{matchLabels: {a: b}}]\nalwaysInjectSelector: [{matchLabels: {a: b, c: d}}]", "selects all that this one does, and is asked first"},
		{"neverInjectSelector: [{matchLabels: {a: b, c: d}}]\nalwaysInjectSelector: [{matchLabels: {a: b}}]", ""},
		{"neverInjectSelector: [{matchExpressions: [{key: a, operator: Exists}]}]\nalwaysInjectSelector: [{matchLabels: {x: y}, matchExpressions: [{key: a, operator: Exists}]}]", "selects all that this one does"},
		{"neverInjectSelector: [{}]", "selects nothing"},
		{"neverInjectSelector: [{matchLabels: {a: b}}]", "changes nothing while policy is disabled"},
		{"alwaysInjectSelector: [{matchLabels: {a: b}}]", ""},
	} {
		got := strings.Join(lintOf(t, "policy: disabled\ntemplates: {sidecar: ''}\n"+c.keys+"\n", "", ""), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.keys, got, c.want)
		}
	}
	got := lintOf(t, "policy: enabled\ntemplates: {sidecar: ''}\nalwaysInjectSelector: [{matchLabels: {a: b}}]\n", "", "")
	if len(got) != 1 || !strings.Contains(got[0], "Info IGF0205 alwaysInjectSelector changes nothing while policy is enabled") {
		t.Error(got)
	}
}

// Keys of the values that the mesh does not know are told only where no template
// reads them.
func TestLintUnknownValues(t *testing.T) {
	const config = "policy: enabled\ntemplates: {sidecar: '# {{ .Values.global.mine }}'}\n"
	if got := lintOf(t, config, "global: {mine: 1}", ""); len(got) != 0 {
		t.Errorf("a key that the template reads: %v", got)
	}
	got := lintOf(t, config, "global: {mine: 1, thine: 2}", "")
	if len(got) != 1 || !strings.HasPrefix(got[0], "v.yaml:1:19 Warning IGF0302") {
		t.Errorf("a key that nothing reads: %v", got)
	}
	if got := lintOf(t, "policy: enabled\ntemplates: {sidecar: '{{ toYaml .Values.global | indent 1 }}'}\n", "global: {thine: 2}", ""); len(got) != 0 {
		t.Errorf("a key below one that is read as a whole: %v", got)
	}
	got = lintOf(t, config, "global: {mine: 1, hubb: x}", "1.20")
	if len(got) != 1 || got[0] != "v.yaml:1:19 Warning IGF0205 nothing reads global.hubb of the values (did you mean global.hub?)" {
		t.Errorf("a key like one of the mesh's, in an older release: %v", got)
	}
}

// No text of a template makes lint fail, and every place lies in the text.
func FuzzLint(f *testing.F) {
	for _, s := range lintSamples {
		f.Add(s.config, s.values, false)
	}
	f.Add("spec:\n  containers:\n  - - name: x\n    'image': |\n      a: b\n   - {a: [b, {c: \"d\n e\"}]}\n", "", true)
	f.Add("{\"spec\": {\"containers\": [{\"name\": \"x\", \"imagee\": \"{{ .ProxyImage }}\"}]}}", "a: {b: 1}", true)
	f.Add("- : x\n\"\": y\n'': {}\n--- \nkind: Service\n? a\n: b", "", true)
	f.Fuzz(func(t *testing.T, text, values string, bare bool) {
		if bare {
			text = "templates:\n  sidecar: |\n    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n"
		}
		for _, asked := range []release.Release{{}, release.V(1, 1), release.V(1, 8), release.V(1, 20)} {
			set, _ := config.Load(source.NewText("c.yaml", []byte(text)), source.NewText("", nil), source.NewText("v.yaml", []byte(values)), asked)
			if set == nil {
				continue
			}
			for _, d := range inject.Lint(set) {
				if s := d.Span; s.Text != nil && (s.Start < 0 || s.End < s.Start || s.End > len(s.Text.Data)) {
					t.Fatalf("%s at %d to %d of %d bytes", d.Message, s.Start, s.End, len(s.Text.Data))
				}
			}
		}
	})
}
