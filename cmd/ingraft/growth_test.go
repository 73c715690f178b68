package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Four times as much of anything in a file takes about four times the work, in
// every way to write the result. Work is counted, not timed: a program built
// with the compiler's counters says how often each statement ran, so that the
// test also says which one runs too often.
func TestWorkGrowsWithTheInput(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program with counters")
	}
	const (
		n      = 60
		growth = 4
		most   = 6      // growth of a count: leaves room for sorting
		few    = 20_000 // counts below say nothing yet
	)
	program := filepath.Join(t.TempDir(), "ingraft")
	build := exec.Command("go", "build", "-cover", "-covermode=count", "-coverpkg=github.com/ingraft/ingraft/cmd/...,github.com/ingraft/ingraft/internal/...", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	small := folder(t, n)
	many := folder(t, growth*n)
	for _, way := range []struct {
		name string
		args []string
	}{
		{"kept", nil},
		{"canonical", []string{"--canonical"}},
		{"diff", []string{"--diff"}},
		{"JSON patch", []string{"--patch", "json"}},
		{"strategic patch", []string{"--patch", "strategic"}},
		{"again", nil},
		{"uninject", nil},
	} {
		t.Run(way.name, func(t *testing.T) {
			was, now := small, many
			args := append([]string{"kube-inject", "--warnings", "off"}, way.args...)
			if way.name == "uninject" {
				args = []string{"uninject"}
			}
			if way.name == "uninject" || way.name == "again" {
				was, now = injected(t, program, small), injected(t, program, many)
			}
			before, after := counts(t, program, was, args), counts(t, program, now, args)
			for at, count := range after {
				if count > few && count > most*before[at] {
					t.Errorf("%s: ran %d times, and %d times for %d times as much", at, before[at], count, growth)
				}
			}
		})
	}
}

// injected returns a folder with what is in another one, injected.
func injected(t *testing.T, program, folder string) string {
	t.Helper()
	out := t.TempDir()
	run(t, program, folder, []string{"kube-inject", "--warnings", "off", "-o", out + string(filepath.Separator)}, t.TempDir())
	return out
}

// counts returns how often each statement ran, by its place.
func counts(t *testing.T, program, folder string, args []string) map[string]int {
	t.Helper()
	data := t.TempDir()
	run(t, program, folder, args, data)
	profile := filepath.Join(t.TempDir(), "profile")
	if out, err := exec.Command("go", "tool", "covdata", "textfmt", "-i="+data, "-o="+profile).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]int{}
	for line := range strings.Lines(string(text)) {
		// file.go:1.2,3.4 statements count
		if f := strings.Fields(line); len(f) == 3 {
			n, err := strconv.Atoi(f[2])
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			list[f[0]] += n
		}
	}
	if len(list) == 0 {
		t.Fatal("nothing was counted")
	}
	return list
}

func run(t *testing.T, program, folder string, args []string, data string) {
	t.Helper()
	cmd := exec.Command(program, append(args, "-f", folder)...)
	cmd.Env = append(os.Environ(), "GOCOVERDIR="+data, "KUBECONFIG="+os.DevNull)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, stderr.String())
	}
}

// folder returns a folder with a file of each shape, of n parts.
func folder(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for name, shape := range shapes {
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(shape(n)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// shapes are files that have one thing often.
var shapes = map[string]func(n int) string{
	"annotations":      func(n int) string { return podWith(annotationsOf(each(n, "        example.com/a%d: v\n")), "") },
	"carriage-returns": func(n int) string { return strings.ReplaceAll(podWith("", ports(n)), "\n", "\r\n") },
	"labels":           func(n int) string { return podWith(each(n, "        label-%d: v\n"), "") },
	"numbers":          func(n int) string { return podWith(annotationsOf(each(n, "        example.com/a%d: 1\n")), "") },
	"misspelt":         func(n int) string { return podWith(annotationsOf(each(n, "        sidecar.istio.io/a%d: v\n")), "") },
	"aliases": func(n int) string {
		return podWith(annotationsOf("        a: &a v\n"+each(n, "        a%d: *a\n")), "")
	},
	"anchors": func(n int) string {
		return podWith(annotationsOf(each(n, "        a%[1]d: &a%[1]d v\n        b%[1]d: *a%[1]d\n")), "")
	},
	"merges": func(n int) string {
		return podWith(annotationsOf("        <<: {"+each(n, "a%d: b, ")+"}\n"+each(n, "        b%d: c\n")), "")
	},
	"duplicates": func(n int) string {
		return podWith(annotationsOf(each(n, "        a%[1]d: b\n        a%[1]d: c\n")), "")
	},
	"literal": func(n int) string {
		return podWith(annotationsOf("        text: |\n"+each(n, "          line %d\n")), "")
	},
	"folded": func(n int) string {
		return podWith(annotationsOf("        text: >\n"+each(n, "          line %d\n")), "")
	},
	"plain": func(n int) string {
		return podWith(annotationsOf("        text:\n"+each(n, "          line %d\n")), "")
	},
	"quoted": func(n int) string { return podWith(annotationsOf("        text: \""+each(n, "line %d\\n")+"\"\n"), "") },
	"proxy-config": func(n int) string {
		return podWith(annotationsOf("        proxy.istio.io/config: |\n          proxyMetadata:\n"+each(n, "            K%d: v\n")), "")
	},
	"excluded-ports": func(n int) string {
		return podWith(annotationsOf("        traffic.sidecar.istio.io/excludeInboundPorts: \""+each(n, "1%d,")+"1\"\n"), "")
	},
	"containers": func(n int) string { return podWith("", each(n, "      - name: c%d\n        image: i\n")) },
	"probes": func(n int) string {
		return podWith("", each(n, "      - name: c%[1]d\n        image: i\n        ports: [{name: p, containerPort: %[1]d}]\n        livenessProbe: {httpGet: {path: /, port: p}}\n"))
	},
	"merged-containers": func(n int) string {
		return "x: &m {imagePullPolicy: Always}\n" + podWith("", each(n, "      - <<: *m\n        name: c%d\n        image: i\n"))
	},
	"init-containers": func(n int) string {
		return podWith("", "      initContainers:\n"+each(n, "      - name: c%d\n        image: i\n"))
	},
	"variables": func(n int) string {
		return podWith("", "        env:\n"+each(n, "        - name: V%d\n          value: v\n"))
	},
	"nulls": func(n int) string {
		return podWith("", "        env:\n"+each(n, "        - name: V%d\n          value:\n"))
	},
	"own-sidecar": func(n int) string {
		return podWith("", "      - name: istio-proxy\n        image: auto\n        env:\n"+each(n, "        - name: V%d\n          value: v\n"))
	},
	"ports":     func(n int) string { return podWith("", ports(n)) },
	"arguments": func(n int) string { return podWith("", "        args:\n"+each(n, "        - a%d\n")) },
	"mounts": func(n int) string {
		return podWith("", "        volumeMounts:\n"+each(n, "        - {name: v, mountPath: /m%d}\n"))
	},
	"volumes": func(n int) string {
		return podWith("", "      volumes:\n"+each(n, "      - name: v%d\n        emptyDir: {}\n"))
	},
	"tolerations": func(n int) string {
		return podWith("", "      tolerations:\n"+each(n, "      - {key: k%d, operator: Exists}\n"))
	},
	"pull-secrets":    func(n int) string { return podWith("", "      imagePullSecrets:\n"+each(n, "      - name: s%d\n")) },
	"unknown-fields":  func(n int) string { return podWith("", each(n, "      x%d: y\n")) },
	"comments-before": func(n int) string { return each(n, "# comment %d\n") + podWith("", "") },
	"comments-within": func(n int) string {
		return podWith("", each(n, "        # comment %d\n")+"      volumes:\n      - name: v\n        emptyDir: {}\n")
	},
	"comments-behind": func(n int) string { return podWith("", each(n, "      # comment %d\n")) },
	"blank-lines":     func(n int) string { return podWith("", strings.Repeat("\n", n)+"      volumes: []\n") },
	"depth": func(n int) string {
		return podWith("", "      x: "+strings.Repeat("{x: ", n)+"1"+strings.Repeat("}", n)+"\n")
	},
	"documents":       func(n int) string { return strings.Repeat("---\n"+podWith("", ""), n) },
	"empty-documents": func(n int) string { return strings.Repeat("---\n", n) + podWith("", "") },
	"other-documents": func(n int) string {
		return strings.Repeat("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n---\n", n) + podWith("", "")
	},
	"skipped": func(n int) string { return strings.Repeat("---\n"+podWith("", "      hostNetwork: true\n"), n) },
	"list": func(n int) string {
		return "apiVersion: v1\nkind: List\nitems:\n" + each(n, "- apiVersion: v1\n  kind: Pod\n  metadata: {name: p%d}\n  spec:\n    containers:\n    - name: a\n      image: i\n      livenessProbe:\n        httpGet:\n          path: /\n          port: 80\n")
	},
	"json": func(n int) string {
		return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","annotations":{"a":"b"` + each(n, `,"a%d":"b"`) + `}},"spec":{"containers":[{"name":"a","image":"i"}]}}`
	},
	"json-list":  func(n int) string { return jsonList(n, "") },
	"json-lines": func(n int) string { return jsonList(n, "\n") },
	"flow": func(n int) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {" + each(n, "a%d: b, ") + "}}, spec: {containers: [{name: a, image: i}]}}\n"
	},
	"flow-lines": func(n int) string {
		return "{apiVersion: v1, kind: Pod,\n metadata: {name: p, annotations: {\n" + each(n, "  a%d: b,\n") + " }},\n spec: {containers: [{name: a, image: i}]}}\n"
	},
}

// each returns a text n times, with the number in it.
func each(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func annotationsOf(lines string) string { return "      annotations:\n" + lines }

func ports(n int) string {
	return "        ports:\n" + each(n, "        - containerPort: 1%d\n")
}

// podWith returns a Deployment with lines added to the labels of its pod, and
// to its only container.
func podWith(metadata, spec string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: d\nspec:\n  selector: {matchLabels: {app: d}}\n  template:\n    metadata:\n      labels:\n        app: d\n" +
		metadata + "    spec:\n      containers:\n      - name: a\n        image: i\n" + spec
}

// jsonList returns a List with a separator of its tokens.
func jsonList(n int, s string) string {
	items := strings.TrimSuffix(each(n, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p%d"},"spec":{"containers":[{"name":"a","image":"i"}]}},`), ",")
	list := `{"apiVersion":"v1","kind":"List","items":[` + items + `]}`
	return strings.NewReplacer("{", "{"+s, ",", ","+s, "[", "["+s).Replace(list) + s
}
