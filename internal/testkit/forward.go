package testkit

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// Forward says where the ports of a pod really are: all of them at one address.
// kubectl port-forward, and what does as it does, gets there.
func (a *API) Forward(namespace, pod, address string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pods == nil {
		a.pods = map[string]string{}
	}
	a.pods[namespace+"/"+pod] = address
}

// forward answers a request for the ports of a pod, over SPDY.
func (a *API) forward(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	parts := strings.Split(r.URL.Path, "/") // /api/v1/namespaces/N/pods/P/portforward
	address, denied := a.pods[parts[4]+"/"+parts[6]], a.denied
	a.mu.Unlock()
	if denied != nil && denied("create", r.URL.Path) {
		fail(w, http.StatusForbidden, "forbidden: you may not create "+r.URL.Path)
		return
	}
	ServePortForward(w, r, address)
}

// ServePortForward connects the streams of a port forwarding request, over SPDY,
// with an address, whatever port they ask for.
func ServePortForward(w http.ResponseWriter, r *http.Request, address string) {
	if r.Method != http.MethodPost { // WebSocket, of which a client tries the other
		fail(w, http.StatusBadRequest, "only SPDY is spoken here")
		return
	}
	if _, err := httpstream.Handshake(r, w, []string{"portforward.k8s.io"}); err != nil {
		return // it has been told
	}
	streams := make(chan httpstream.Stream, 8)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
		streams <- s
		return nil
	})
	if conn == nil {
		return // it has been told
	}
	defer conn.Close()
	wrong := map[string]httpstream.Stream{}
	for {
		select {
		case <-conn.CloseChan():
			return
		case s := <-streams:
			id := s.Headers().Get("requestID")
			if s.Headers().Get("streamType") == "error" {
				wrong[id] = s
				continue
			}
			go join(s, wrong[id], address)
		}
	}
}

// join copies between a stream and an address.
func join(data, wrong httpstream.Stream, address string) {
	defer wrong.Close()
	defer data.Close()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		fmt.Fprintf(wrong, "an error occurred forwarding to port %s: %v", data.Headers().Get("port"), err)
		return
	}
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(data, conn)
		data.Close()
	})
	both.Go(func() {
		_, _ = io.Copy(conn, data)
		conn.Close()
	})
	both.Wait()
}
