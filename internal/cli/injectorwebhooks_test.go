package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ingraft/ingraft/internal/cli"
)

// The webhooks that every release installed are shown, each with its selectors.
func TestShowWebhooksOfReleases(t *testing.T) {
	files, err := filepath.Glob("../../../shared/legacy/*/webhook.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("the reference data of releases is not here: ../shared/legacy")
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			if code := cli.Main(context.Background(), cli.Env{
				Args: []string{"ingraft", "injector", "config", "show", "--webhookFile", "-"}, Dir: t.TempDir(),
				Stdin: bytes.NewReader(text), Stdout: &out, Stderr: &errs,
				LookupEnv: func(string) (string, bool) { return "", false }, Now: time.Now,
			}); code != 0 || errs.Len() > 0 {
				t.Fatalf("exit code %d: %s", code, errs.String())
			}
			shown := strings.Split(out.String(), "\n\n")
			if want := bytes.Count(text, []byte("clientConfig:")); len(shown) != want {
				t.Fatalf("%d webhooks are shown of %d:\n%s", len(shown), want, out.String())
			}
			version, missing := "v1", "not set"
			if bytes.Contains(text, []byte("admissionregistration.k8s.io/v1beta1")) {
				version = "v1beta1"
			}
			for _, s := range shown {
				rows := map[string]string{}
				for line := range strings.Lines(s) {
					name, value, _ := strings.Cut(strings.TrimSpace(line), "  ")
					rows[name] = strings.TrimSpace(value)
				}
				if !strings.HasSuffix(rows["configuration"], ", "+version) || rows["asked about"] != "CREATE of pods (v1)" ||
					rows["failurePolicy"] != "Fail" || !strings.HasPrefix(rows["called at"], "service istio-system/") ||
					rows["namespaceSelector"] == "<none>" || strings.Contains(s, missing) {
					t.Errorf("shown as\n%s", s)
				}
			}
		})
	}
}
