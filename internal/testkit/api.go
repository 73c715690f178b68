// Package testkit holds what tests of several packages need.
package testkit

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/labels"
)

// Object is an object of a fake API server.
type Object = map[string]any

// API is a small API server: it keeps objects by their path, with resource
// versions, and serves lists, watches, creation, updates that conflict, and
// JSON patches. It knows no schema and no rights but those that are taken away.
type API struct {
	*httptest.Server

	mu      sync.Mutex
	changed *sync.Cond
	version int
	objects map[string]Object // by path
	events  []event
	denied  func(verb, path string) bool
	answer  func(r *http.Request, body Object) (answer Object, code int)
	pods    map[string]string // by namespace/name: where its ports are
	stale   bool
	closed  bool
}

type event struct {
	version    int
	kind, path string
	object     Object
}

// NewAPI starts a fake API server that ends with the test.
func NewAPI(t testing.TB) *API {
	t.Helper()
	a := &API{objects: map[string]Object{}}
	a.changed = sync.NewCond(&a.mu)
	a.Server = httptest.NewTLSServer(a)
	t.Cleanup(func() {
		a.mu.Lock()
		a.closed = true
		a.mu.Unlock()
		a.changed.Broadcast()
		a.Server.CloseClientConnections()
		a.Server.Close()
	})
	return a
}

// Kubeconfig writes a kubeconfig for the server, and returns its file.
func (a *API) Kubeconfig(t testing.TB) string {
	t.Helper()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate().Raw})
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: test\nclusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}]\n"+
		"users: [{name: u, user: {token: secret}}]\ncontexts: [{name: test, context: {cluster: c, user: u}}]\n",
		a.URL, base64.StdEncoding.EncodeToString(ca))
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Put makes or replaces the object at a path, as in
// /api/v1/namespaces/a/configmaps/b.
func (a *API) Put(path string, object Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.put(path, object)
}

func (a *API) put(path string, object Object) {
	kind := "ADDED"
	if a.objects[path] != nil {
		kind = "MODIFIED"
	}
	object = clone(object)
	metadata, _ := object["metadata"].(Object)
	if metadata == nil {
		metadata = Object{}
		object["metadata"] = metadata
	}
	a.version++
	metadata["name"] = path[strings.LastIndex(path, "/")+1:]
	metadata["resourceVersion"] = strconv.Itoa(a.version)
	a.objects[path] = object
	a.events = append(a.events, event{a.version, kind, path, object})
	a.changed.Broadcast()
}

// Delete removes the object at a path.
func (a *API) Delete(path string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version++
	a.events = append(a.events, event{a.version, "DELETED", path, a.objects[path]})
	delete(a.objects, path)
	a.changed.Broadcast()
}

// Get returns a copy of the object at a path, nil where there is none.
func (a *API) Get(path string) Object {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.objects[path] == nil {
		return nil
	}
	return clone(a.objects[path])
}

// All returns copies of the objects below a path.
func (a *API) All(collection string) []Object {
	a.mu.Lock()
	defer a.mu.Unlock()
	var list []Object
	for _, p := range slices.Sorted(maps.Keys(a.objects)) {
		if within(p, collection, "") {
			list = append(list, clone(a.objects[p]))
		}
	}
	return list
}

// Deny takes rights away; verb is get, list, watch, create, update or patch, and
// path that of the object, also where a list or watch selects one by its name.
func (a *API) Deny(denied func(verb, path string) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.denied = denied
}

// Answer lets a test answer a request itself: one that gets the code 0 is
// answered as ever. It is called by one request at a time.
func (a *API) Answer(answer func(r *http.Request, body Object) (answer Object, code int)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer = answer
}

// EndWatches ends all watches, and tells the next ones that what they ask for
// is too old.
func (a *API) EndWatches() {
	a.mu.Lock()
	a.stale = true
	a.mu.Unlock()
	a.changed.Broadcast()
}

func clone(o Object) Object {
	data, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	var c Object
	if err := json.Unmarshal(data, &c); err != nil {
		panic(err)
	}
	return c
}

// ServeHTTP answers as an API server does.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, query := r.URL.Path, r.URL.Query()
	body, _ := io.ReadAll(r.Body)
	if strings.HasSuffix(path, "/portforward") {
		a.forward(w, r)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	verb := map[string]string{"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch"}[r.Method]
	if verb == "get" && query.Get("watch") != "" {
		verb = "watch"
	} else if verb == "get" && a.objects[path] == nil && isCollection(path) {
		verb = "list"
	}
	asked := path
	if name, ok := strings.CutPrefix(query.Get("fieldSelector"), "metadata.name="); ok {
		asked += "/" + name // as the authorizer sees it
	}
	if a.denied != nil && a.denied(verb, asked) {
		fail(w, http.StatusForbidden, "you may not "+verb+" "+path)
		return
	}
	if a.answer != nil {
		var object Object
		_ = json.Unmarshal(body, &object)
		if answer, code := a.answer(r, object); code != 0 {
			send(w, code, answer)
			return
		}
	}
	switch verb {
	case "watch":
		a.watch(w, r, path)
	case "list":
		items := []Object{}
		selector, err := labels.Parse(query.Get("labelSelector"))
		if err != nil {
			fail(w, http.StatusBadRequest, err.Error())
			return
		}
		for _, p := range slices.Sorted(maps.Keys(a.objects)) {
			if within(p, path, query.Get("fieldSelector")) && selector.Matches(labelsOf(a.objects[p])) {
				items = append(items, a.objects[p])
			}
		}
		send(w, http.StatusOK, Object{"kind": "List", "metadata": Object{"resourceVersion": strconv.Itoa(a.version)}, "items": items})
	case "get":
		if a.objects[path] == nil {
			fail(w, http.StatusNotFound, path+" not found")
			return
		}
		send(w, http.StatusOK, a.objects[path])
	default:
		a.write(w, verb, path, body)
	}
}

// isCollection tells the paths that lists have: those of a resource have an even
// number of parts below the version, those of an object one more.
func isCollection(path string) bool {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	below := len(parts) - 2 // /api/v1/RESOURCE
	if parts[0] == "apis" {
		below--
	}
	return below%2 == 1
}

// within tells whether an object is one of a collection, of all namespaces
// where that names none.
func within(object, collection, fields string) bool {
	at := strings.LastIndex(object, "/")
	folder, name := object[:at], object[at+1:]
	if wanted, ok := strings.CutPrefix(fields, "metadata.name="); ok && wanted != name {
		return false
	}
	if folder == collection {
		return true
	}
	base, resource := collection[:strings.LastIndex(collection, "/")], collection[strings.LastIndex(collection, "/"):]
	return strings.HasPrefix(folder, base+"/namespaces/") && strings.HasSuffix(folder, resource)
}

func labelsOf(o Object) labels.Set {
	metadata, _ := o["metadata"].(Object)
	found, _ := metadata["labels"].(Object)
	set := labels.Set{}
	for k, v := range found {
		set[k], _ = v.(string)
	}
	return set
}

func (a *API) write(w http.ResponseWriter, verb, path string, body []byte) {
	var object Object
	if verb == "patch" {
		if a.objects[path] == nil {
			fail(w, http.StatusNotFound, path+" not found")
			return
		}
		patch, err := jsonpatch.DecodePatch(body)
		if err == nil {
			was, _ := json.Marshal(a.objects[path])
			if body, err = patch.Apply(was); err == nil {
				err = json.Unmarshal(body, &object)
			}
		}
		if err != nil {
			fail(w, http.StatusUnprocessableEntity, err.Error())
			return
		}
	} else if err := json.Unmarshal(body, &object); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	metadata, _ := object["metadata"].(Object)
	name, _ := metadata["name"].(string)
	version, _ := metadata["resourceVersion"].(string)
	switch {
	case verb == "create":
		path += "/" + name
		if a.objects[path] != nil {
			fail(w, http.StatusConflict, path+" already exists")
			return
		}
	case a.objects[path] == nil:
		fail(w, http.StatusNotFound, path+" not found")
		return
	case verb == "update" && version != "" && version != a.objects[path]["metadata"].(Object)["resourceVersion"]:
		fail(w, http.StatusConflict, "the object has been modified")
		return
	}
	a.put(path, object)
	send(w, http.StatusOK, a.objects[path])
}

// watch sends what happened after a version, and what happens then.
func (a *API) watch(w http.ResponseWriter, r *http.Request, path string) {
	from, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if a.stale {
		a.stale = false
		send(w, http.StatusOK, Object{"type": "ERROR", "object": Object{"kind": "Status", "code": http.StatusGone, "message": "too old resource version"}})
		return
	}
	w.WriteHeader(http.StatusOK)
	flush, _ := w.(http.Flusher)
	flush.Flush()
	go func() {
		<-r.Context().Done()
		a.changed.Broadcast()
	}()
	for next := 0; !a.closed && !a.stale && r.Context().Err() == nil; {
		for ; next < len(a.events); next++ {
			e := a.events[next]
			if e.version > from && within(e.path, path, r.URL.Query().Get("fieldSelector")) {
				data, _ := json.Marshal(Object{"type": e.kind, "object": e.object})
				_, _ = w.Write(append(data, '\n'))
			}
		}
		flush.Flush()
		a.changed.Wait()
	}
}

func send(w http.ResponseWriter, code int, object Object) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object)
}

func fail(w http.ResponseWriter, code int, message string) {
	send(w, code, Object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code})
}
