package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// releaseFiles is a release of one chart, which tells what it is rendered for.
var releaseFiles = map[string]string{
	"manifests/profiles/default.yaml":  "apiVersion: install.istio.io/v1alpha1\nkind: IstioOperator\nspec:\n  components:\n    pilot: {enabled: false}\n    cni: {enabled: false}\n    ingressGateways: []\n",
	"manifests/charts/base/Chart.yaml": "apiVersion: v2\nname: base\nversion: 1.0.0\n",
	"manifests/charts/base/templates/map.yaml": `apiVersion: v1
kind: ConfigMap
metadata:
  name: one
data:
  version: {{ .Capabilities.KubeVersion.Version }}
  platform: {{ with .Values.global }}{{ .platform | default "none" }}{{ else }}none{{ end }}
`,
	"bin/istioctl": "a program",
}

func packed(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	w := tar.NewWriter(gz)
	names := make([]string, 0, len(releaseFiles))
	for name := range releaseFiles {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		h := &tar.Header{Name: "istio-1.2.3/" + name, Mode: 0o644, Size: int64(len(releaseFiles[name])), Typeflag: tar.TypeReg}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(releaseFiles[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := gz.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// An archive unpacks to a file system like any other, without the program.
func TestArchiveIsAFileSystem(t *testing.T) {
	files, err := unpack(packed(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(files, "istio-1.2.3/manifests/charts/base/templates/map.yaml", "istio-1.2.3/manifests/profiles/default.yaml"); err != nil {
		t.Error(err)
	}
	if _, err := files.Open("istio-1.2.3/bin/istioctl"); err == nil {
		t.Error("the program is kept")
	}
	if _, err := unpack(packed(t)[:200]); err == nil {
		t.Error("half an archive is no error")
	}
}

// The charts of an archive are rendered for the cluster that is asked.
func TestManifestOfAnArchiveForACluster(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"gitVersion":"v1.35.2-gke.7","major":"1","minor":"35"}`)
	}))
	defer server.Close()
	dir := t.TempDir()
	kubeconfig := "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c}}]\nclusters: [{name: c, cluster: {server: \"" + server.URL + "\"}}]\n"
	for name, data := range map[string][]byte{"istio.tgz": packed(t), "kubeconfig": []byte(kubeconfig)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		args []string
		env  string
		want string
	}{
		{nil, "", "platform: none\n  version: v1.32.0\n"},
		{[]string{"--cluster-specific", "-c", "kubeconfig"}, "", "platform: gke\n  version: v1.35.2-gke.7\n"},
		{[]string{"--cluster-specific", "-c", "kubeconfig"}, "false", "platform: none\n  version: v1.35.2-gke.7\n"},
		{[]string{"--cluster-specific", "-c", "kubeconfig", "--kube-version", "1.33"}, "", "platform: gke\n  version: v1.33\n"},
	} {
		var stdout, stderr bytes.Buffer
		code := Main(context.Background(), Env{
			Args:   append([]string{"ingraft", "manifest", "generate", "-d", "istio.tgz"}, tc.args...),
			Stdin:  strings.NewReader(""),
			Stdout: &stdout, Stderr: &stderr, Dir: dir, Now: time.Now,
			LookupEnv: func(name string) (string, bool) {
				if name != "AUTO_GKE_DETECTION" {
					return "", false
				}
				return tc.env, tc.env != ""
			},
		})
		if code != 0 || !strings.Contains(stdout.String(), tc.want) {
			t.Errorf("%q: exit code %d\n%s%s", tc.args, code, stdout.String(), stderr.String())
		}
	}
}
