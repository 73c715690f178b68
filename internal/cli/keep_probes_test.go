package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// manyProbes is a Deployment of containers with three probes each.
func manyProbes(containers int, probe func(container, probe int) string) []byte {
	var b strings.Builder
	b.WriteString("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: p}\nspec:\n  template:\n    metadata:\n      labels:\n        app: p\n    spec:\n      containers:\n")
	for i := range containers {
		fmt.Fprintf(&b, "      - name: c%d\n        image: i:%d\n        ports: [{name: web, containerPort: %d}]\n", i, i, 8080+i)
		for j, kind := range []string{"liveness", "readiness", "startup"} {
			fmt.Fprintf(&b, "        %sProbe:%s", kind, probe(i, j))
		}
	}
	return []byte(b.String())
}

// The record of a hundred probes is as short as the one of few, and an edit
// beside them survives: it used to hold the whole spec, with all edits since.
func TestUndoRecordOfManyProbesIsShortAndLosesNoEdit(t *testing.T) {
	work := injectorOf(engineOf(t, nil, nil, nil), false)
	for name, probe := range map[string]func(i, j int) string{
		"all alike": func(int, int) string {
			return "\n          httpGet:\n            path: /healthz\n            port: web\n"
		},
		"all unlike": func(i, j int) string {
			return fmt.Sprintf("\n          httpGet:\n            path: '/%s'\n            port: %d\n", strings.Repeat("x", (7*i+j)%23), 7<<(3*j)+i)
		},
		"flow":    func(i, j int) string { return fmt.Sprintf(" {httpGet: {path: /%d/%d, port: web}}\n", i, j) },
		"no path": func(i, j int) string { return fmt.Sprintf("\n          httpGet:\n            port: %d\n", 9000+3*i+j) },
		"HTTPS": func(i, j int) string {
			return fmt.Sprintf(" {httpGet: {port: %d, scheme: HTTPS}, periodSeconds: %d}\n", 9000+3*i+j, 1+i)
		},
		"TCP": func(i, j int) string {
			return fmt.Sprintf("\n          periodSeconds: %d\n          tcpSocket:\n            port: %d # why\n", 1+i, 9000+3*i+j)
		},
		"TCP first": func(i, j int) string {
			return fmt.Sprintf("\n          tcpSocket:\n            port: %d\n          periodSeconds: 3\n", 9000+3*i+j)
		},
		"TCP in flow": func(i, j int) string { return fmt.Sprintf(" {tcpSocket: {port: %d}}\n", 9000+3*i+j) },
		"mixed": func(i, j int) string {
			return []string{" {httpGet: {path: /a, port: web}}\n", "\n          grpc: {port: 9000}\n", "\n          httpGet: {port: 80}\n          periodSeconds: 3\n"}[(i+j)%3]
		},
	} {
		for _, containers := range []int{8, 34} {
			data := manyProbes(containers, probe)
			for format, data := range map[string][]byte{"YAML": data, "JSON": source.AppendJSON(nil, parsed(t, data))} {
				s := sample{name: name, data: data, work: work}
				if !checkRound(t, s) {
					t.Fatalf("%s, %s: nothing was injected", name, format)
				}
				injected, _ := through(data, work.document)
				edit := func(b []byte) []byte { return bytes.Replace(b, []byte("i:0"), []byte("i:9.9"), 1) }
				back, findings := through(edit(injected), (&uninjector{}).document)
				if len(findings) > 0 || !bytes.Equal(back, edit(data)) {
					t.Errorf("%s, %s: an image that was changed since comes back as\n%s\n%v", name, format, back, findings)
				}
				eachRecord(parsed(t, injected), func(text string) {
					if strings.Contains(text, "image") {
						t.Errorf("%s, %s: the record holds more than probes: %s", name, format, text)
					}
				})
			}
		}
	}
}

func parsed(t testing.TB, data []byte) *source.Node {
	t.Helper()
	doc, err := source.Parse(source.NewText("f", data))
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root
}

const twoProbes = `apiVersion: v1
kind: Pod
metadata:
  name: p
spec:
  containers:
  - name: a
    image: i
    readinessProbe:
      httpGet:
        path: /ready
        port: web
    livenessProbe:
      tcpSocket:
        port: 81
    ports:
    - name: web
      containerPort: 80
`

// A YAML file that was injected and then made JSON is JSON without the sidecar
// too: the texts of the record are YAML, and were pasted as they are.
func TestUninjectOfAJSONCopyIsJSON(t *testing.T) {
	data := []byte(twoProbes)
	injected, _ := through(data, injectorOf(engineOf(t, nil, nil, nil), false).document)
	root := parsed(t, injected)
	for name, text := range map[string][]byte{"JSON": source.AppendJSON(nil, root), "sorted YAML": source.AppendYAML(nil, root)} {
		back, findings := through(text, (&uninjector{}).document)
		if len(findings) > 0 {
			t.Fatalf("%s: %s", name, findings[0].Message)
		}
		doc, err := source.Parse(source.NewText("f", back))
		if err != nil || !doc.Root.Equal(parsed(t, data)) || (name == "JSON") != (doc.Format == source.JSON) {
			t.Errorf("%s comes back as\n%s%v", name, back, err)
		}
	}
}

// Quotes that an editor changed in what injection rewrote are no change.
func TestOtherQuotesAreNoChange(t *testing.T) {
	data := []byte(twoProbes)
	injected, _ := through(data, injectorOf(engineOf(t, nil, nil, nil), false).document)
	quoted := bytes.Replace(injected, []byte("path: /app-health/a/readyz"), []byte(`path: "/app-health/a/readyz"`), 1)
	if bytes.Equal(quoted, injected) {
		t.Fatal("nothing to quote")
	}
	if back, findings := through(quoted, (&uninjector{}).document); len(findings) > 0 || !bytes.Equal(back, data) {
		t.Errorf("comes back as\n%s%v", back, findings)
	}
}

// A comment behind a key that had no value before injection, or below it, stays;
// it was refused, in words that nobody could read.
func TestCommentAtAKeyWithoutValueStays(t *testing.T) {
	data := []byte("apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  annotations:\n\n  labels:\n    a: b\nspec:\n  containers: [{name: a, image: i}]\n")
	injected, _ := through(data, injectorOf(engineOf(t, nil, nil, nil), false).document)
	for _, edit := range [][2]string{
		{"  annotations:\n", "  annotations: # mine\n"},
		{"  annotations:\n", "  annotations:\n    # mine\n"},
	} {
		change := func(b []byte) []byte { return bytes.Replace(b, []byte(edit[0]), []byte(edit[1]), 1) }
		back, findings := through(change(injected), (&uninjector{}).document)
		if len(findings) > 0 || !bytes.Equal(back, change(data)) {
			t.Errorf("comes back as\n%s%v", back, findings)
		}
	}
	changed := bytes.Replace(injected, []byte("istio.io/rev: default"), []byte("istio.io/rev: mine"), 1)
	_, findings := through(changed, (&uninjector{}).document)
	if len(findings) != 1 || !strings.HasSuffix(findings[0].Message, "it is without a value, as it was") || findings[0].Object != "Pod p" {
		t.Errorf("findings: %+v", findings)
	}
}

// istioctl writes what it says about a CronJob on the template of the jobs,
// where it was not looked for.
func TestCronJobInjectedByIstioctl(t *testing.T) {
	data := []byte(`apiVersion: batch/v1
kind: CronJob
metadata:
  name: hello
spec:
  jobTemplate:
    metadata:
      annotations:
        istio.io/rev: default
        sidecar.istio.io/status: '{"initContainers":["istio-init"],"containers":["istio-proxy"],"volumes":["istio-envoy"],"imagePullSecrets":null,"revision":"default"}'
      labels:
        mine: "1"
        security.istio.io/tlsMode: istio
    spec:
      template:
        spec:
          containers:
          - name: hello
            image: busybox # small
          - name: istio-proxy
            image: proxyv2:1
          initContainers:
          - name: istio-init
            image: proxyv2:1
          volumes:
          - name: istio-envoy
            emptyDir: {}
`)
	want := `apiVersion: batch/v1
kind: CronJob
metadata:
  name: hello
spec:
  jobTemplate:
    metadata:
      labels:
        mine: "1"
    spec:
      template:
        spec:
          containers:
          - name: hello
            image: busybox # small
`
	_, findings := through(data, (&uninjector{}).document)
	if !findings.HasErrors() || findings[0].Code != diag.CodeGuess || findings[0].Object != "CronJob hello" {
		t.Errorf("findings without --force: %+v", findings)
	}
	if back, _ := through(data, (&uninjector{force: true}).document); string(back) != want {
		t.Errorf("comes back as\n%s", back)
	}
	_, findings = through(data, injectorOf(engineOf(t, nil, nil, nil), false).document)
	told := false
	for _, d := range findings {
		told = told || d.Code == diag.CodeGuess && strings.Contains(d.Message, "has injected into this CronJob")
	}
	if !told {
		t.Error("kube-inject does not say that it was injected before")
	}
}

// A byte order mark at the beginning of a later document is nothing, as for
// kubectl.
func TestByteOrderMarkOfALaterDocument(t *testing.T) {
	pod := "\ufeffapiVersion: v1\r\nkind: Pod\r\nmetadata: {name: p}\r\nspec: {containers: [{name: a, image: i}]}\r\n"
	work := injectorOf(engineOf(t, nil, nil, nil), false)
	for _, data := range []string{pod + "---\r\n" + pod, pod + "--- # two\r\n" + pod, pod + "---\r\n\ufeff{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"spec\": {\"containers\": [{\"name\": \"a\", \"image\": \"i\"}]}}\r\n"} {
		if !checkRound(t, sample{name: "BOM", data: []byte(data), work: work}) {
			_, findings := through([]byte(data), work.document)
			t.Errorf("nothing was injected: %+v", findings)
		}
	}
}

// What the objects are that an undo record does not fit, or is not made for,
// and in which a key stands twice, is said.
func TestFindingsOfUndoNameTheirObjects(t *testing.T) {
	list := "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: other}\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: p\n    namespace: shop\n    namespace: shop\n    annotations: {ingraft.io/undo: garbage}\n  spec: {containers: [{name: a, image: i}]}\n"
	_, twice := through([]byte(list), injectorOf(engineOf(t, nil, nil, nil), false).document)
	_, stale := through([]byte(list), (&uninjector{}).document)
	for code, findings := range map[string]diag.List{"IGF0004": twice, diag.CodeStaleRecord: stale} {
		found := false
		for _, d := range findings {
			if d.Code == code {
				found = true
				if d.Object != "Pod shop/p" {
					t.Errorf("%s names %q", code, d.Object)
				}
			}
		}
		if !found {
			t.Errorf("no %s: %+v", code, findings)
		}
	}
}
