package cluster_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ingraft/ingraft/internal/cluster"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/testkit"
)

var things = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}

const inShop = "/apis/example.com/v1/namespaces/shop/things/"

func connectTo(t *testing.T, api *testkit.API) *cluster.Client {
	t.Helper()
	c, err := cluster.Connect(cluster.Config{Kubeconfig: api.Kubeconfig(t), Getenv: env()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// heard writes down what a follower is told.
type heard chan string

func (h heard) Listed(all []*source.Node) {
	var names []string
	for _, n := range all {
		names = append(names, n.Get("metadata", "name").Str())
	}
	slices.Sort(names)
	h <- "listed " + strings.Join(names, " ")
}

func (h heard) Changed(n *source.Node) {
	h <- "changed " + n.Get("metadata", "name").Str() + " " + n.Get("value").Scalar()
}
func (h heard) Deleted(n *source.Node) { h <- "deleted " + n.Get("metadata", "name").Str() }
func (h heard) Failed(err error)       { h <- "failed: " + err.Error() }

func (h heard) want(t *testing.T, want string) {
	t.Helper()
	select {
	case got := <-h:
		if !strings.HasPrefix(got, want) {
			t.Fatalf("heard %q, want %q", got, want)
		}
	case <-time.After(time.Minute):
		t.Fatalf("nothing was heard, want %q", want)
	}
}

func TestFollow(t *testing.T) {
	api := testkit.NewAPI(t)
	api.Put(inShop+"a", testkit.Object{"value": 1})
	api.Put("/apis/example.com/v1/namespaces/other/things/z", testkit.Object{})
	ctx, cancel := context.WithCancel(context.Background())
	h := make(heard, 100)
	ended := make(chan bool)
	go func() {
		connectTo(t, api).Follow(ctx, things, "shop", cluster.ListOptions{}, h)
		close(ended)
	}()
	h.want(t, "listed a")
	api.Put(inShop+"b", testkit.Object{"value": 2})
	h.want(t, "changed b 2")
	api.Put(inShop+"b", testkit.Object{"value": strings.Repeat("x", 200000)})
	h.want(t, "changed b xxx")
	api.Delete(inShop + "a")
	h.want(t, "deleted a")

	// The server hangs up, and forgets: all is listed again.
	api.EndWatches()
	h.want(t, "listed b")
	api.Put(inShop+"c", testkit.Object{})
	h.want(t, "changed c")

	// Rights are taken away, and given back.
	api.Deny(func(verb, _ string) bool { return verb == "list" || verb == "watch" })
	api.EndWatches()
	h.want(t, "failed: ")
	api.Deny(nil)
	for got := range h {
		if strings.HasPrefix(got, "failed: ") {
			continue
		}
		if got != "listed b c" {
			t.Errorf("heard %q", got)
		}
		break
	}
	cancel()
	<-ended
}

// All namespaces, and a single object.
func TestFollowSelected(t *testing.T) {
	api := testkit.NewAPI(t)
	api.Put(inShop+"a", testkit.Object{})
	api.Put("/apis/example.com/v1/namespaces/other/things/b", testkit.Object{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := connectTo(t, api)
	all, one := make(heard, 100), make(heard, 100)
	go c.Follow(ctx, things, "", cluster.ListOptions{MetadataOnly: true}, all)
	go c.Follow(ctx, things, "shop", cluster.ListOptions{FieldSelector: "metadata.name=c"}, one)
	all.want(t, "listed a b")
	one.want(t, "listed ")
	api.Put(inShop+"d", testkit.Object{})
	api.Put(inShop+"c", testkit.Object{})
	all.want(t, "changed d")
	all.want(t, "changed c")
	one.want(t, "changed c")
}

func TestWrite(t *testing.T) {
	api := testkit.NewAPI(t)
	c := connectTo(t, api)
	ctx := context.Background()
	object := func(text string) *source.Node {
		doc, err := source.Parse(source.NewText("", []byte(text)))
		if err != nil {
			t.Fatal(err)
		}
		return doc.Root
	}
	made, err := c.Create(ctx, things, "shop", object(`{"metadata":{"name":"a"},"unknown":[1.50]}`))
	if err != nil || made.Get("metadata", "resourceVersion").Str() == "" {
		t.Fatal(err)
	}
	_, err = c.Create(ctx, things, "shop", made)
	if !cluster.IsKind(err, cluster.Conflict) || err.Error() != "making things.example.com shop/a: "+inShop+"a already exists" {
		t.Error(err)
	}
	_, err = c.Update(ctx, things, "shop", made.With("value", source.NewInt(2)))
	if err != nil || fmt.Sprint(api.Get(inShop + "a")["value"]) != "2" {
		t.Errorf("%v", err)
	}
	if _, err = c.Update(ctx, things, "shop", made); !cluster.IsKind(err, cluster.Conflict) {
		t.Errorf("an old version was written: %v", err)
	}
	if _, err = c.Update(ctx, things, "shop", object(`{"metadata":{"name":"b"}}`)); !cluster.IsKind(err, cluster.NotFound) {
		t.Error(err)
	}
	if now, err := c.Patch(ctx, things, "shop", "a", []byte(`[{"op":"replace","path":"/value","value":3}]`)); err != nil || now.Get("value").Scalar() != "3" {
		t.Error(err)
	}
	if _, err = c.Patch(ctx, things, "shop", "a", []byte(`[{"op":"test","path":"/value","value":4}]`)); err == nil {
		t.Error("a test that fails is no error")
	}
	if diff := cmp.Diff([]any{1.5}, api.Get(inShop + "a")["unknown"]); diff != "" {
		t.Error(diff)
	}
	api.Deny(func(verb, _ string) bool { return verb == "patch" })
	if _, err = c.Patch(ctx, things, "shop", "a", []byte(`[]`)); !cluster.IsKind(err, cluster.Forbidden) {
		t.Error(err)
	}
}
