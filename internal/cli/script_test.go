package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ingraft/ingraft/internal/cli"
	"github.com/ingraft/ingraft/internal/source"
)

// now is the time in scripts.
var now = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// TestMain makes the test binary answer to the program's names, for the
// scripts that need a process of its own.
func TestMain(m *testing.M) {
	process := func() {
		os.Exit(cli.Main(context.Background(), cli.Env{
			Args: os.Args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
			LookupEnv: os.LookupEnv, Now: func() time.Time { return now },
		}))
	}
	testscript.Main(m, map[string]func(){"ingraft": process, "istioctl": process})
}

// The scripts of testdata/script have these commands beside testscript's own:
//
//	run CODE [< FILE] NAME ARGS...   runs the program under that name in this
//	                                 process, and checks the exit code
//	cluster NAME [FILE]              serves the objects of FILE as an API server
//	                                 would; its kubeconfig is NAME.kubeconfig
//	cluster -hang NAME [FILE]        one that takes requests and does not answer;
//	                                 with -hang=N it answers the first N
//	cluster -forbid NAME [FILE]      one that forbids everything; with
//	                                 -forbid=KIND that kind
//	asked NAME COUNT                 checks how many requests came
//	asked-as NAME USER UID GROUPS    checks whom the last one impersonated
//	contains FILE TEXT               checks that a file, stdout or stderr holds
//	                                 a text (! for the opposite)
//	lines FILE COUNT                 checks the number of lines
//	parses FILE                      checks that a file is a YAML or JSON stream
//	repeat COUNT FILE TO             writes FILE that many times to TO
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                filepath.Join("testdata", "script"),
		RequireUniqueNames: true,
		UpdateScripts:      os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			env.Values[clustersKey{}] = map[string]*fakeCluster{}
			env.Setenv("HOME", env.WorkDir)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"run":      runInProcess,
			"cluster":  startCluster,
			"asked":    countRequests,
			"asked-as": checkImpersonation,
			"contains": contains,
			"lines":    countLines,
			"parses":   parses,
			"repeat":   repeat,
		},
	})
}

func runInProcess(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: run CODE [< FILE] NAME ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	args = args[1:]
	stdin := ""
	if args[0] == "<" {
		stdin = ts.ReadFile(args[1])
		args = args[2:]
	}
	got := cli.Main(context.Background(), cli.Env{
		Args:      args,
		Stdin:     strings.NewReader(stdin),
		Stdout:    ts.Stdout(),
		Stderr:    ts.Stderr(),
		LookupEnv: func(name string) (string, bool) { v := ts.Getenv(name); return v, v != "" },
		Dir:       ts.MkAbs("."),
		Now:       func() time.Time { return now },
	})
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func contains(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: contains FILE TEXT")
	}
	switch found := strings.Contains(ts.ReadFile(args[0]), args[1]); {
	case found && neg:
		ts.Fatalf("%s holds %q", args[0], args[1])
	case !found && !neg:
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
}

func countLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lines FILE COUNT")
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	if got := strings.Count(ts.ReadFile(args[0]), "\n"); got != want {
		ts.Fatalf("%s has %d lines, want %d", args[0], got, want)
	}
}

func parses(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: parses FILE")
	}
	documents(ts, args[0])
}

func documents(ts *testscript.TestScript, file string) []*source.Node {
	var roots []*source.Node
	r := source.NewReader(file, strings.NewReader(ts.ReadFile(file)))
	for {
		doc, err := r.Next()
		if err == io.EOF {
			return roots
		}
		ts.Check(err)
		if doc.Root != nil {
			roots = append(roots, doc.Root)
		}
	}
}

func repeat(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: repeat COUNT FILE TO")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	data := bytes.Repeat([]byte(ts.ReadFile(args[1])), n)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), data, 0o666))
}

// fakeCluster is an API server that knows how to give out the objects that it
// was given, by name and as lists.
type fakeCluster struct {
	objects map[string]*source.Node // by the path of the API
	hang    chan struct{}           // closed at the end; nil: it answers
	answers int32                   // how many requests it answers before it hangs
	forbid  string                  // what paths may not have in them; "" allows all
	asked   atomic.Int32
	last    atomic.Pointer[http.Header]
}

type clustersKey struct{}

func startCluster(ts *testscript.TestScript, neg bool, args []string) {
	c := &fakeCluster{objects: map[string]*source.Node{}}
	if len(args) > 0 && strings.HasPrefix(args[0], "-hang") {
		if _, n, ok := strings.Cut(args[0], "="); ok {
			answers, err := strconv.ParseInt(n, 10, 32)
			ts.Check(err)
			c.answers = int32(answers)
		}
		c.hang, args = make(chan struct{}), args[1:]
	}
	if len(args) > 0 && strings.HasPrefix(args[0], "-forbid") {
		_, what, _ := strings.Cut(args[0], "=")
		c.forbid, args = "/"+what, args[1:]
	}
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: cluster [-hang|-forbid] NAME [FILE]")
	}
	if len(args) == 2 {
		for file := range strings.SplitSeq(args[1], ",") {
			for _, root := range documents(ts, file) {
				c.objects[apiPath(ts, root)] = root
			}
		}
	}
	server := httptest.NewServer(c)
	ts.Defer(func() {
		if c.hang != nil {
			close(c.hang) // the server waits for its answers to end
		}
		server.Close()
	})
	ts.Value(clustersKey{}).(map[string]*fakeCluster)[args[0]] = c
	kubeconfig := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: %[1]s, cluster: {server: "%[2]s"}}]
users: [{name: user, user: {}}]
contexts: [{name: %[1]s, context: {cluster: %[1]s, user: user}}]
current-context: %[1]s
`, args[0], server.URL)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".kubeconfig"), []byte(kubeconfig), 0o666))
}

func countRequests(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: asked NAME COUNT")
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	if got := int(ts.Value(clustersKey{}).(map[string]*fakeCluster)[args[0]].asked.Load()); got != want {
		ts.Fatalf("%s got %d requests, want %d", args[0], got, want)
	}
}

func checkImpersonation(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: asked-as NAME USER UID GROUPS")
	}
	h := *ts.Value(clustersKey{}).(map[string]*fakeCluster)[args[0]].last.Load()
	got := []string{h.Get("Impersonate-User"), h.Get("Impersonate-Uid"), strings.Join(h.Values("Impersonate-Group"), ",")}
	if !slices.Equal(got, args[1:]) {
		ts.Fatalf("%s was asked as %q, want %q", args[0], got, args[1:])
	}
}

// apiPath returns the path under which the API serves an object.
func apiPath(ts *testscript.TestScript, root *source.Node) string {
	name := root.Get("metadata", "name").Str()
	switch kind := root.Get("kind").Str(); kind {
	case "ConfigMap":
		return path.Join("/api/v1/namespaces", root.Get("metadata", "namespace").Str(), "configmaps", name)
	case "Node":
		return "/api/v1/nodes/" + name
	case "MutatingWebhookConfiguration":
		return "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/" + name
	default:
		ts.Fatalf("the fake cluster does not serve %s", kind)
		return ""
	}
}

func (c *fakeCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := c.asked.Add(1)
	c.last.Store(&r.Header)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case c.hang != nil && n > c.answers:
		<-c.hang
	case c.forbid != "" && strings.Contains(r.URL.Path, c.forbid):
		writeStatus(w, http.StatusForbidden, "Forbidden", "access to "+r.URL.Path+" is forbidden")
	case c.objects[r.URL.Path] != nil:
		_, _ = w.Write(source.AppendJSON(nil, c.objects[r.URL.Path]))
	default:
		c.list(w, r)
	}
}

func (c *fakeCluster) list(w http.ResponseWriter, r *http.Request) {
	collection := path.Base(r.URL.Path)
	kinds := map[string]string{"configmaps": "ConfigMap", "nodes": "Node", "mutatingwebhookconfigurations": "MutatingWebhookConfiguration"}
	if kinds[collection] == "" {
		writeStatus(w, http.StatusNotFound, "NotFound", path.Base(path.Dir(r.URL.Path))+" "+strconv.Quote(collection)+" not found")
		return
	}
	var paths []string
	for p := range c.objects {
		if path.Dir(p) == r.URL.Path {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	list := source.NewMap(
		source.F("apiVersion", c.versionOf(collection)), source.F("kind", source.NewString(kinds[collection]+"List")),
		source.F("metadata", source.NewMap()),
	)
	items := make([]*source.Node, 0, len(paths))
	for _, p := range paths {
		items = append(items, c.objects[p])
	}
	_, _ = w.Write(source.AppendJSON(nil, list.With("items", source.NewList(items...))))
}

func (c *fakeCluster) versionOf(collection string) *source.Node {
	if collection == "mutatingwebhookconfigurations" {
		return source.NewString("admissionregistration.k8s.io/v1")
	}
	return source.NewString("v1")
}

func writeStatus(w http.ResponseWriter, code int, reason, message string) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message,
	})
}
