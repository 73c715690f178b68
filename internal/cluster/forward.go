package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/ingraft/ingraft/internal/source"
)

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// DialPod opens a connection to a port of a pod through the API server, as
// kubectl port-forward does: over WebSocket, or SPDY where the server, or what
// is before it, does not take that. It needs the right to create pods/portforward.
func (c *Client) DialPod(ctx context.Context, namespace, name string, port int64) (net.Conn, error) {
	doing := "connecting to port " + strconv.FormatInt(port, 10) + " of pod " + namespace + "/" + name
	type dialed struct {
		conn net.Conn
		err  error
	}
	// The dialers know no context: who gives up leaves them behind.
	done := make(chan dialed, 1)
	go func() {
		conn, err := c.forward(namespace, name, port)
		done <- dialed{conn, err}
	}()
	bounded, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	select {
	case d := <-done:
		if d.err != nil {
			return nil, c.forwardFailed(ctx, doing, d.err)
		}
		return d.conn, nil
	case <-bounded.Done():
		go func() {
			if d := <-done; d.conn != nil {
				d.conn.Close()
			}
		}()
		return nil, c.unreachable(ctx, doing, bounded.Err())
	}
}

// forwardFailed tells an answer of the API server from a network that fails. The
// dialers hide the status of an answer; what they leave is its message.
func (c *Client) forwardFailed(ctx context.Context, doing string, err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		return c.unreachable(ctx, doing, err)
	}
	kind := Failed
	if strings.Contains(err.Error(), "forbidden") {
		kind = Forbidden
	}
	return &Error{kind, "", fmt.Errorf("%s: %w", doing, err)}
}

// forward connects; the API server is asked once whether it may be.
func (c *Client) forward(namespace, name string, port int64) (net.Conn, error) {
	target := c.rest.Post().AbsPath(pathOf(pods, namespace, name), "portforward").URL()
	config := rest.CopyConfig(c.config)
	websocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(target, config)
	if err != nil {
		return nil, err
	}
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	dialer := portforward.NewFallbackDialerForStreaming(
		websocket, spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, target),
		func(err error) bool { return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err) })
	conn, protocol, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, err
	}
	if protocol != portforward.PortForwardProtocolV1Name {
		conn.Close()
		return nil, fmt.Errorf("the API server speaks %q, not %s", protocol, portforward.PortForwardProtocolV1Name)
	}
	f, err := newForwarded(conn, port)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return f, nil
}

// forwarded is one connection to a port of a pod: a stream of data, and one that
// says what went wrong at its other end.
type forwarded struct {
	conn  httpstream.Connection
	data  httpstream.Stream
	wrong chan string
	once  sync.Once
}

func newForwarded(conn httpstream.Connection, port int64) (*forwarded, error) {
	header := http.Header{}
	header.Set(corev1.StreamType, corev1.StreamTypeError)
	header.Set(corev1.PortHeader, strconv.FormatInt(port, 10))
	header.Set(corev1.PortForwardRequestIDHeader, "0")
	wrong, err := conn.CreateStream(header)
	if err != nil {
		return nil, fmt.Errorf("opening the stream for errors: %w", err)
	}
	wrong.Close() // nothing is written to it
	header.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := conn.CreateStream(header)
	if err != nil {
		return nil, fmt.Errorf("opening the stream for data: %w", err)
	}
	f := &forwarded{conn: conn, data: data, wrong: make(chan string, 1)}
	go func() {
		defer close(f.wrong)
		if message, err := io.ReadAll(io.LimitReader(wrong, maxForwardError)); err == nil && len(message) > 0 {
			f.wrong <- string(message)
			_ = data.Reset() // whoever reads or writes is told
		}
	}()
	return f, nil
}

// maxForwardError bounds what is read of the other end's error, in bytes.
const maxForwardError = 4 << 10

// because returns what the other end says, where it says something.
func (f *forwarded) because(err error) error {
	if err == nil {
		return nil
	}
	select {
	case message, ok := <-f.wrong:
		if ok {
			return errors.New(message)
		}
	case <-time.After(forwardErrorWait):
	}
	return err
}

// forwardErrorWait is how long the reason for a stream that ended may be on its
// way.
const forwardErrorWait = 200 * time.Millisecond

func (f *forwarded) Read(b []byte) (int, error) {
	n, err := f.data.Read(b)
	if n > 0 {
		return n, nil
	}
	return n, f.because(err)
}

func (f *forwarded) Write(b []byte) (int, error) {
	n, err := f.data.Write(b)
	return n, f.because(err)
}

// Close ends the connection, and the one to the API server below it.
func (f *forwarded) Close() error {
	var err error
	f.once.Do(func() {
		_ = f.data.Reset()
		err = f.conn.Close()
	})
	return err
}

// forwardedAddr is the address of a port that only the API server can name.
type forwardedAddr struct{}

func (forwardedAddr) Network() string { return "portforward" }
func (forwardedAddr) String() string  { return "portforward" }

func (f *forwarded) LocalAddr() net.Addr  { return forwardedAddr{} }
func (f *forwarded) RemoteAddr() net.Addr { return forwardedAddr{} }

// SetDeadline and its like say that streams have none: whoever wants to give up
// closes the connection, as net/http and crypto/tls do where their context ends.
func (f *forwarded) SetDeadline(time.Time) error      { return nil }
func (f *forwarded) SetReadDeadline(time.Time) error  { return nil }
func (f *forwarded) SetWriteDeadline(time.Time) error { return nil }

// PodsOf returns the pods that a label selector selects.
func (c *Client) PodsOf(ctx context.Context, namespace, selector string) ([]*source.Node, error) {
	var found []*source.Node
	for pod, err := range c.List(ctx, pods, namespace, ListOptions{LabelSelector: selector}) {
		if err != nil {
			return nil, err
		}
		found = append(found, pod)
	}
	return found, nil
}
