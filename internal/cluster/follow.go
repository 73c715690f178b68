package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ingraft/ingraft/internal/source"
)

// Follower is told what happens to the objects of a resource. It is called by
// one goroutine.
type Follower interface {
	// Listed tells all objects that there are, at first, and again where some
	// changes may have been missed.
	Listed(objects []*source.Node)
	// Changed tells an object that was made or changed, Deleted one that is gone.
	Changed(object *source.Node)
	Deleted(object *source.Node)
	// Failed tells that nothing is heard of the API server, or that it refuses;
	// it is asked again later.
	Failed(err error)
}

// The times of following.
const (
	// watchTime is how long one watch lasts. It ends and is begun anew so that a
	// connection which is dead is not waited for any longer.
	watchTime = 4 * time.Minute
	// firstPause and longestPause bound the wait after a failure, which doubles.
	firstPause, longestPause = 500 * time.Millisecond, 30 * time.Second
	// maxEvent bounds the bytes of one event: an object has 3 MiB at most.
	maxEvent = 8 << 20
)

// Follow tells a Follower about the objects of a resource until the context
// ends. namespace is "" for all namespaces.
func (c *Client) Follow(ctx context.Context, r schema.GroupVersionResource, namespace string, o ListOptions, f Follower) {
	wait := firstPause
	for ctx.Err() == nil {
		version, err := c.listAll(ctx, r, namespace, o, f)
		for err == nil && ctx.Err() == nil {
			wait = firstPause
			began := time.Now()
			if version, err = c.watch(ctx, r, namespace, o, version, f); time.Since(began) < firstPause {
				pause(ctx, firstPause) // whoever hangs up at once is not called in a loop
			}
		}
		if ctx.Err() != nil {
			return
		}
		if !errors.Is(err, errStale) {
			f.Failed(err)
		}
		pause(ctx, wait)
		wait = min(2*wait, longestPause)
	}
}

// pause waits, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// errStale tells that the server cannot go on from the version that it was
// asked to.
var errStale = errors.New("the version is too old to be followed")

// listAll tells all objects, and returns the version that they are of.
func (c *Client) listAll(ctx context.Context, r schema.GroupVersionResource, namespace string, o ListOptions, f Follower) (version string, err error) {
	accept, query := o.request(acceptMeta)
	var all []*source.Node
	for page, err := range c.pages(ctx, r, namespace, accept, query) {
		if err != nil {
			return "", err
		}
		all = append(all, page.Get("items").Items()...)
		version = page.Get("metadata", "resourceVersion").Str()
	}
	f.Listed(all)
	return version, nil
}

// watch tells what changes after a version, until the server ends the watch,
// and returns the version that it came to.
func (c *Client) watch(ctx context.Context, r schema.GroupVersionResource, namespace string, o ListOptions, version string, f Follower) (string, error) {
	doing := "watching " + describe(r, namespace, "")
	bounded, cancel := context.WithTimeout(ctx, watchTime+30*time.Second)
	defer cancel()
	accept, query := o.request(acceptMetaObject)
	query.Set("watch", "true")
	query.Set("allowWatchBookmarks", "true")
	query.Set("resourceVersion", version)
	query.Set("timeoutSeconds", strconv.Itoa(int(watchTime.Seconds())))
	request := c.rest.Get().AbsPath(pathOf(r, namespace, "")).SetHeader("Accept", accept)
	for key := range query {
		request.Param(key, query.Get(key))
	}
	stream, err := request.Stream(bounded)
	if err != nil {
		err = c.failed(ctx, doing, nil, err)
		return version, err
	}
	defer stream.Close()
	lines := bufio.NewReaderSize(stream, 64<<10)
	for {
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) || bounded.Err() != nil {
			return version, nil // it is begun anew from here
		}
		if err != nil {
			return version, fmt.Errorf("%s: %w", doing, err)
		}
		doc, err := source.Parse(source.NewText("event", line))
		if err != nil {
			return version, fmt.Errorf("%s: reading an event: %w", doing, err)
		}
		object := doc.Root.Get("object")
		switch kind := doc.Root.Get("type").Str(); kind {
		case "ADDED", "MODIFIED":
			f.Changed(object)
		case "DELETED":
			f.Deleted(object)
		case "BOOKMARK":
		default: // ERROR
			if code, _ := object.Get("code").Int(); code == http.StatusGone {
				return version, errStale
			}
			return version, fmt.Errorf("%s: %s %s", doing, kind, object.Get("message").Str())
		}
		if v := object.Get("metadata", "resourceVersion").Str(); v != "" {
			version = v
		}
	}
}

// readLine reads a line of bounded length.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if err == nil {
			return line, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
		if len(line) > maxEvent {
			return nil, fmt.Errorf("an event has more than %d bytes", maxEvent)
		}
	}
}

const acceptMetaObject = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

// request returns the header Accept and the query for options; meta is what to
// accept where only metadata is wanted.
func (o ListOptions) request(meta string) (accept string, query url.Values) {
	accept, query = acceptJSON, url.Values{}
	if o.MetadataOnly {
		accept = meta
	}
	if o.LabelSelector != "" {
		query.Set("labelSelector", o.LabelSelector)
	}
	if o.FieldSelector != "" {
		query.Set("fieldSelector", o.FieldSelector)
	}
	return accept, query
}
