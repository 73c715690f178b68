package webhook_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/webhook"
)

func TestParsePath(t *testing.T) {
	const cluster, network = "ISTIO_META_CLUSTER_ID", "ISTIO_META_NETWORK"
	type env = map[string]string
	for _, tc := range []struct {
		release, path string
		want          env
	}{
		{"1.31", "/inject", nil},
		{"1.31", "/inject/", nil},
		{"1.31", "", nil},
		{"1.31", "/", nil},
		{"1.31", "/inject/cluster/c1/net/n1", env{cluster: "c1", network: "n1"}},
		{"1.31", "/inject/cluster/c1/net/n1/", env{cluster: "c1", network: "n1"}},
		{"1.31", "/inject/net/n1/odd", env{network: "n1"}},
		{"1.31", "/inject/istio_meta_x/y", env{"ISTIO_META_X": "y"}},
		{"1.31", "/inject/x/a--slash--b", env{"X": "a/b"}},
		{"1.14", "/inject/x/a--slash--b", env{"X": "a--slash--b"}},
		{"1.31", "/inject/cluster/a/cluster/b", env{cluster: "b"}},
		{"1.31", "/inject//x/a=b/c/\u00e9/d", env{}},
		{"1.31", "/inject/:ENV:net=n1:ENV:cluster=c1:ENV:rev=", env{network: "n1", cluster: "c1", "REV": ""}},
		{"1.31", "/inject/:ENV:=v:ENV:x:ENV:a=b=c--slash--d/e", env{"A": "b=c--slash--d/e"}},
		{"1.9", "/inject/:ENV:net=n1", env{}},
		{"1.8", "/inject/cluster/c1/net/n1", env{cluster: "c1", network: "n1"}},
		{"1.7", "/inject/cluster/c1/net/n1", env{cluster: "c1", network: "n1"}},
		{"1.6", "/inject/x/c1/y/n1", env{cluster: "c1", network: "n1"}},
		{"1.6", "/inject/cluster/c1", nil},
		{"1.5", "/inject/cluster/c1/net/n1", nil},
	} {
		r, err := release.Parse(tc.release)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, webhook.ParsePath(tc.path, r)); diff != "" {
			t.Errorf("%s of %s: %s", tc.path, tc.release, diff)
		}
	}
}
