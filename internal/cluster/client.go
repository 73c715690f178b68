package cluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/ingraft/ingraft/internal/source"
)

// Client talks to one cluster. It may be used by several goroutines.
type Client struct {
	rest      *rest.RESTClient
	config    *rest.Config
	timeout   time.Duration
	context   string
	server    string
	namespace string
	// answered tells that the cluster has answered something.
	answered *atomic.Bool
}

// Connect returns a client for the configured cluster. It asks nothing of the
// cluster yet. The error is ErrNotConfigured where there is none, else an
// *Error.
func Connect(c Config) (*Client, error) {
	logging.Do(func() { setLogging(c.Verbosity) })
	t, err := c.target()
	if err != nil {
		return nil, err
	}
	// Answers are taken as they are, so the serializer need know no type.
	t.rest.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(t.rest)
	if err != nil {
		return nil, badConfig(fmt.Errorf("reading the kubeconfig: %w", err), "")
	}
	timeout := c.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	return &Client{rest: client, config: t.rest, timeout: timeout, context: t.context, server: t.rest.Host, namespace: t.namespace, answered: new(atomic.Bool)}, nil
}

// logging is set up once: client-go logs by a state of the process.
var logging sync.Once

// setLogging keeps client-go from writing to standard error what its errors say
// as well, unless it is asked to.
func setLogging(verbosity int) {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	klog.InitFlags(flags)
	set := map[string]string{"v": strconv.Itoa(verbosity)}
	if verbosity <= 0 {
		set = map[string]string{"logtostderr": "false", "stderrthreshold": "FATAL"}
		klog.SetOutput(io.Discard)
	}
	for name, value := range set {
		_ = flags.Set(name, value) // the values are sound
	}
}

// String says which cluster it is: `context "prod" (https://10.0.0.1:6443)`.
func (c *Client) String() string {
	if c.context == "" {
		return "this pod (" + c.server + ")"
	}
	return fmt.Sprintf("context %q (%s)", c.context, c.server)
}

// Within returns a client for the same cluster that waits so long for an answer.
func (c *Client) Within(timeout time.Duration) *Client {
	other := *c
	other.timeout = timeout
	return &other
}

// Bounded returns a context for several requests which together take no longer
// than the client waits for one. The cluster counts as unreachable where they do.
func (c *Client) Bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, c.timeout, &noAnswer{c.timeout})
}

// DefaultNamespace is the namespace that the kubeconfig's context works in.
func (c *Client) DefaultNamespace() string { return c.namespace }

// get reads one path. The answer is an object; a status above 299 and an
// answer that is no object are errors.
func (c *Client) get(ctx context.Context, doing, accept, path string, query url.Values) (*source.Node, error) {
	request := c.rest.Get().AbsPath(path).SetHeader("Accept", accept)
	for key, values := range query {
		for _, value := range values {
			request.Param(key, value)
		}
	}
	return c.do(ctx, doing, path, request)
}

// do sends a request for an object.
func (c *Client) do(ctx context.Context, doing, path string, request *rest.Request) (*source.Node, error) {
	bounded, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	body, err := request.Do(bounded).Raw()
	if err != nil {
		if bounded.Err() != nil {
			err = bounded.Err()
		}
		return nil, c.failed(ctx, doing, body, err)
	}
	c.answered.Store(true)
	doc, err := source.Parse(source.NewText(path, body))
	if err == nil && doc.Root.Kind() != source.Map {
		err = errors.New("the answer is no object")
	}
	if err != nil {
		return nil, &Error{Failed, "", fmt.Errorf("%s: %s does not answer like an API server: %w", doing, c.server, err)}
	}
	return doc.Root, nil
}

// failed turns the error of a request into one for people. body is what the
// server said, if anything.
func (c *Client) failed(ctx context.Context, doing string, body []byte, err error) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return c.unreachable(ctx, doing, err)
	}
	message := messageOf(body)
	if message == "" {
		message = status.Status().Message
	}
	return c.refused(doing, int(status.Status().Code), message)
}

// messageOf returns the message of a Status, or "" where the body is none.
func messageOf(body []byte) string {
	doc, err := source.Parse(source.NewText("", body))
	if err != nil {
		return ""
	}
	return doc.Root.Get("message").Str()
}

const (
	acceptJSON  = "application/json"
	acceptMeta  = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
	acceptTable = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json"
)

// pathOf returns the path of a resource, or of one object of it.
func pathOf(r schema.GroupVersionResource, namespace, name string) string {
	path := "/apis/" + r.Group
	if r.Group == "" {
		path = "/api"
	}
	path += "/" + r.Version
	if namespace != "" {
		path += "/namespaces/" + url.PathEscape(namespace)
	}
	path += "/" + r.Resource
	if name != "" {
		path += "/" + url.PathEscape(name)
	}
	return path
}

// Get returns an object; namespace is "" for what has none.
func (c *Client) Get(ctx context.Context, r schema.GroupVersionResource, namespace, name string) (*source.Node, error) {
	return c.get(ctx, "reading "+describe(r, namespace, name), acceptJSON, pathOf(r, namespace, name), nil)
}

// describe names an object, or all of a kind, in an error.
func describe(r schema.GroupVersionResource, namespace, name string) string {
	s := r.GroupResource().String()
	switch {
	case name != "" && namespace != "":
		return s + " " + namespace + "/" + name
	case name != "":
		return s + " " + name
	case namespace != "":
		return s + " of namespace " + namespace
	}
	return s
}

// ListOptions narrow a list.
type ListOptions struct {
	LabelSelector, FieldSelector string
	// MetadataOnly asks for apiVersion, kind and metadata alone, which is much
	// less to send. A server may send all the same.
	MetadataOnly bool
}

// pageSize is the number of objects that are asked for at a time.
const pageSize = 500

// List returns the objects of a resource, those of all namespaces where
// namespace is "". The API server leaves out apiVersion and kind of objects in
// a list. The iteration ends with the first error.
func (c *Client) List(ctx context.Context, r schema.GroupVersionResource, namespace string, o ListOptions) iter.Seq2[*source.Node, error] {
	accept, query := o.request(acceptMeta)
	return func(yield func(*source.Node, error) bool) {
		for page, err := range c.pages(ctx, r, namespace, accept, query) {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, item := range page.Get("items").Items() {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// pages returns the answers to a list request, page by page.
func (c *Client) pages(ctx context.Context, r schema.GroupVersionResource, namespace, accept string, query url.Values) iter.Seq2[*source.Node, error] {
	return func(yield func(*source.Node, error) bool) {
		query := maps.Clone(query)
		query.Set("limit", strconv.Itoa(pageSize))
		for {
			page, err := c.get(ctx, "listing "+describe(r, namespace, ""), accept, pathOf(r, namespace, ""), query)
			if err != nil {
				yield(nil, err)
				return
			}
			next := page.Get("metadata", "continue").Str()
			if !yield(page, nil) || next == "" {
				return
			}
			query.Set("continue", next)
		}
	}
}

// ServerVersion is the version of an API server.
type ServerVersion struct {
	// GitVersion is all of it: v1.33.4-gke.1245000.
	GitVersion string
	// Major and Minor are the two numbers of it, as the server spells them; a
	// Minor may have a plus sign behind it.
	Major, Minor string
}

// ServerVersion asks the API server for its version.
func (c *Client) ServerVersion(ctx context.Context) (ServerVersion, error) {
	n, err := c.get(ctx, "reading the version of the API server", acceptJSON, "/version", nil)
	if err != nil {
		return ServerVersion{}, err
	}
	return ServerVersion{n.Get("gitVersion").Str(), n.Get("major").Str(), n.Get("minor").Str()}, nil
}
