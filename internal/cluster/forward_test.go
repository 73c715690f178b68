package cluster_test

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ingraft/ingraft/internal/cluster"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/testkit"
)

// A port of a pod is talked to through the API server; what goes wrong at the
// other end, and a right that is missing, is told.
func TestDialPod(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { echo.Close() })
	go func() {
		for {
			conn, err := echo.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	api := testkit.NewAPI(t)
	api.Forward("mesh", "injector-1", echo.Addr().String())
	c := connectTo(t, api)
	conn, err := c.DialPod(t.Context(), "mesh", "injector-1", 15017)
	if err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("0123456789", 20_000)
	go func() { _, _ = io.WriteString(conn, large) }()
	got := make([]byte, len(large))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != large {
		t.Errorf("%v, %d bytes", err, len(got))
	}
	conn.Close()
	conn.Close() // twice does no harm

	echo.Close()
	conn, err = c.DialPod(t.Context(), "mesh", "injector-1", 15017)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Read(got); err == nil || !strings.Contains(err.Error(), "an error occurred forwarding to port 15017") {
		t.Errorf("a port that takes no connection: %v", err)
	}

	api.Deny(func(_, path string) bool { return strings.HasSuffix(path, "/portforward") })
	_, err = c.DialPod(t.Context(), "mesh", "injector-1", 15017)
	if !cluster.IsKind(err, cluster.Forbidden) || !strings.Contains(err.Error(), "connecting to port 15017 of pod mesh/injector-1: ") || !strings.Contains(err.Error(), "you may not create") {
		t.Errorf("without the right: %v", err)
	}

	gone, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	if _, err := c.DialPod(gone, "mesh", "injector-1", 15017); err == nil {
		t.Error("a context that has ended is not noticed")
	}
}

// A try says dryRun to the API server, which keeps nothing.
func TestTry(t *testing.T) {
	api := serve(t, map[string]any{"/api/v1/namespaces/shop/pods": object{"kind": "Pod", "metadata": object{"name": "web"}}})
	n, err := api.connect(t).Try(t.Context(), schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "shop", source.NewMap())
	if err != nil || n.Get("metadata", "name").Str() != "web" {
		t.Fatal(err)
	}
	if r := api.request(-1); r.Method != "POST" || r.URL.RawQuery != "dryRun=All" {
		t.Errorf("asked %s %s", r.Method, r.URL)
	}
}
