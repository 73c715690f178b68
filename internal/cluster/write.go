package cluster

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ingraft/ingraft/internal/source"
)

// Create makes an object, and returns it as the API server has it. The error is
// Conflict where it exists.
func (c *Client) Create(ctx context.Context, r schema.GroupVersionResource, namespace string, object *source.Node) (*source.Node, error) {
	path := pathOf(r, namespace, "")
	request := c.rest.Post().AbsPath(path).SetHeader("Content-Type", acceptJSON).Body(source.AppendJSON(nil, object))
	return c.do(ctx, "making "+describe(r, namespace, object.Get("metadata", "name").Str()), path, request)
}

// Try does all that making an object does, admission included, but for keeping it
// (dry run). It returns the object as it would be.
func (c *Client) Try(ctx context.Context, r schema.GroupVersionResource, namespace string, object *source.Node) (*source.Node, error) {
	path := pathOf(r, namespace, "")
	request := c.rest.Post().AbsPath(path).Param("dryRun", "All").SetHeader("Content-Type", acceptJSON).Body(source.AppendJSON(nil, object))
	return c.do(ctx, "trying "+describe(r, namespace, object.Get("metadata", "name").Str()), path, request)
}

// Update replaces an object. The error is Conflict where it is another one by
// now than the resourceVersion says.
func (c *Client) Update(ctx context.Context, r schema.GroupVersionResource, namespace string, object *source.Node) (*source.Node, error) {
	name := object.Get("metadata", "name").Str()
	path := pathOf(r, namespace, name)
	request := c.rest.Put().AbsPath(path).SetHeader("Content-Type", acceptJSON).Body(source.AppendJSON(nil, object))
	return c.do(ctx, "writing "+describe(r, namespace, name), path, request)
}

// Patch applies an RFC 6902 patch to an object.
func (c *Client) Patch(ctx context.Context, r schema.GroupVersionResource, namespace, name string, patch []byte) (*source.Node, error) {
	path := pathOf(r, namespace, name)
	request := c.rest.Patch(types.JSONPatchType).AbsPath(path).Body(patch)
	return c.do(ctx, "patching "+describe(r, namespace, name), path, request)
}
