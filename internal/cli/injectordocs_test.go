package cli_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const metricsBegin, metricsEnd = "<!-- metrics -->\n", "<!-- end of metrics -->\n"

// The commands of docs/injector.md do what it says, and its table of metrics is
// what the injector has.
func TestInjectorDocs(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "injector.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS(filepath.Join("..", "..", "examples"))); err != nil {
		t.Fatal(err)
	}
	var s *served
	var answers []string
	for _, line := range shellLines(string(page)) {
		words := strings.Fields(strings.ReplaceAll(line, "'Content-Type: application/json'", "json"))
		switch {
		case strings.HasPrefix(line, "ingraft injector serve ") && words[len(words)-1] == "&":
			s = serveInjector(t, dir, "--ca-file", "ca.crt") // on free ports
		case line == "ingraft injector manifest":
			find(t, manifestOf(t), "Deployment")
		case strings.HasPrefix(line, "ingraft injector manifest --image "):
			image := find(t, manifestOf(t, "--image", words[4]), "Deployment").Get("spec", "template", "spec", "containers").Items()[0].Get("image").Str()
			if image != words[4] {
				t.Errorf("%s: the image is %s", line, image)
			}
		case words[0] == "curl" && s != nil:
			answers = append(answers, s.curl(words[1:]))
		default:
			t.Errorf("%s: nobody tries this command", line)
		}
	}
	if len(answers) != 3 || !strings.Contains(answers[0], `"patchType":"JSONPatch"`) || answers[1] != "ok\n" {
		t.Fatalf("answers %q", answers)
	}

	var table strings.Builder
	table.WriteString("| metric | kind | what it tells |\n| --- | --- | --- |\n")
	help := ""
	// All of them has an injector that keeps its certificate in a cluster.
	keeper := serveInjector(t, dir, "--kubeconfig", controlPlane(t).Kubeconfig(t), "-n", "mesh", "--secret", "certs", "--events", "--missed-every", "1h")
	keeper.await("serving with a new certificate")
	_, numbers := keeper.get("/metrics")
	if !strings.Contains(answers[2], "# TYPE ingraft_admissions_total counter") {
		t.Errorf("metrics %s", answers[2])
	}
	for line := range strings.Lines(numbers) {
		if rest, ok := strings.CutPrefix(line, "# HELP "); ok {
			_, help, _ = strings.Cut(strings.TrimSpace(rest), " ")
		} else if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(strings.TrimSpace(rest), " ")
			fmt.Fprintf(&table, "| `%s` | %s | %s |\n", name, kind, help)
		}
	}
	head, rest, _ := strings.Cut(string(page), metricsBegin)
	_, tail, ok := strings.Cut(rest, metricsEnd)
	if !ok {
		t.Fatal("the page has no place for the metrics")
	}
	want := head + metricsBegin + table.String() + metricsEnd + tail
	if *updateDocs {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(page) {
		t.Error("the table of metrics is not fresh; run with -update")
	}
}

// curl does what these arguments would make curl do.
func (s *served) curl(args []string) string {
	s.t.Helper()
	client, body, url := http.DefaultClient, []byte(nil), ""
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "--cacert":
			i++
			client = s.client(args[i])
		case "-H":
			i++ // it is the one that post sends
		case "-d":
			i++
			var err error
			if body, err = os.ReadFile(filepath.Join(s.dir, strings.TrimPrefix(args[i], "@"))); err != nil {
				s.t.Fatal(err)
			}
		default:
			url = strings.NewReplacer("127.0.0.1:15017", s.webhook, "127.0.0.1:15014", s.monitoring).Replace(args[i])
		}
	}
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if body != nil {
		request, err = http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	}
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}
