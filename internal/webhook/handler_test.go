package webhook_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/ingraft/ingraft/internal/chart/builtin"
	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/metrics"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/webhook"
)

var day = time.Date(2026, 8, 27, 12, 0, 0, 0, time.UTC)

// hook is a handler with what it counts and logs.
type hook struct {
	*webhook.Handler
	registry *metrics.Registry
	log      bytes.Buffer
}

func newHook(t testing.TB, e *inject.Engine, change ...func(*webhook.Options, *webhook.Installation)) *hook {
	t.Helper()
	h := &hook{registry: &metrics.Registry{}}
	o := webhook.Options{
		Log: slog.New(slog.NewJSONHandler(&h.log, nil)), Metrics: webhook.NewMetrics(h.registry),
		Now: func() time.Time { return day },
	}
	i := webhook.Installation{Engine: e}
	for _, c := range change {
		c(&o, &i)
	}
	h.Handler = webhook.New(o)
	if i.Engine != nil {
		h.Install(&i)
	}
	return h
}

// numbers returns the metrics as text.
func (h *hook) numbers(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	if err := h.registry.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func compile(t testing.TB, cfg, mesh, values []byte, asked release.Release) *inject.Engine {
	t.Helper()
	set, list := config.Load(source.NewText("config", cfg), source.NewText("mesh", mesh), source.NewText("values", values), asked)
	if list.HasErrors() {
		t.Fatal(list[0])
	}
	e, list := inject.Compile(set.Injection, set.Mesh, set.Values, inject.Options{Release: set.Detected.Release})
	if list.HasErrors() {
		t.Fatal(list[0])
	}
	return e
}

func defaultEngine(t testing.TB) *inject.Engine {
	t.Helper()
	cfg, mesh, values, err := builtin.DefaultInjection(builtin.Injection{})
	if err != nil {
		t.Fatal(err)
	}
	return compile(t, cfg, mesh, values, release.Newest)
}

func parse(t testing.TB, text string) *source.Node {
	t.Helper()
	doc, err := source.Parse(source.NewText("test", []byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root
}

// reviewOf makes the review of a pod, JSON, as an API server sends it.
func reviewOf(version, uid, namespace, pod string) string {
	return fmt.Sprintf(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/%s","request":{"uid":%q,
		"kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},
		"namespace":%q,"operation":"CREATE","userInfo":{"username":"me"},"object":%s,"oldObject":null,"dryRun":false}}`, version, uid, namespace, pod)
}

const plainPod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"nginx"}]}}`

// reply is an answer, decoded.
type reply struct {
	APIVersion, Kind string
	Response         struct {
		UID       string
		Allowed   *bool
		Patch     *string
		PatchType string
		Warnings  []string
		Status    struct {
			Status, Message, Reason string
			Code                    int
		}
	}
}

// post sends a body to a path, and decodes the answer if it is one.
func post(t testing.TB, h http.Handler, path, body string) (*httptest.ResponseRecorder, *reply) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	a := &reply{}
	if w.Code == http.StatusOK {
		if err := json.Unmarshal(w.Body.Bytes(), a); err != nil {
			t.Fatalf("the answer is not JSON: %v\n%s", err, w.Body)
		}
		if a.Response.Allowed == nil || a.Kind != "AdmissionReview" {
			t.Fatalf("the answer is none: %s", w.Body)
		}
	}
	return w, a
}

// patched applies the patch of an answer to a pod as the API server does.
func (a *reply) patched(t testing.TB, pod string) string {
	t.Helper()
	if a.Response.Patch == nil {
		if a.Response.PatchType != "" {
			t.Error("there is a patch type, but no patch")
		}
		return pod
	}
	if a.Response.PatchType != "JSONPatch" {
		t.Errorf("the patch is a %q", a.Response.PatchType)
	}
	raw, err := base64.StdEncoding.DecodeString(*a.Response.Patch)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := jsonpatch.DecodePatch(raw)
	if err != nil {
		t.Fatal(err)
	}
	out, err := patch.Apply([]byte(pod))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestAnswersInKind(t *testing.T) {
	h := newHook(t, defaultEngine(t))
	pod := `{"metadata":{"name":"web","futureField":{"a":[1.50,2e3]}},"spec":{"containers":[{"name":"web","image":"nginx","futureField":"\u00e9"}]}}`
	for _, version := range []string{"v1", "v1beta1"} {
		w, a := post(t, h, "/inject", reviewOf(version, `u-"1`, "shop", pod))
		if a.APIVersion != "admission.k8s.io/"+version || a.Response.UID != `u-"1` || !*a.Response.Allowed {
			t.Errorf("%s: %s", version, w.Body)
		}
		if got := w.Header().Get("Content-Type"); got != "application/json" {
			t.Errorf("content type %s", got)
		}
		after := a.patched(t, pod)
		if !strings.Contains(after, `"istio-proxy"`) || !strings.Contains(after, `{"a":[1.50,2e3]}`) || !strings.Contains(after, `"futureField":"\u00e9"`) {
			t.Errorf("the pod has become %s", after)
		}
	}
	if numbers := h.numbers(t); !strings.Contains(numbers, `ingraft_admissions_total{verdict="inject",reason="policy",namespace="shop"} 2`) {
		t.Error(numbers)
	}
	var line map[string]any
	if err := json.Unmarshal(bytes.SplitN(h.log.Bytes(), []byte("\n"), 2)[0], &line); err != nil {
		t.Fatal(err)
	}
	if line["msg"] != "admission" || line["pod"] != "web" || line["uid"] != `u-"1` || line["verdict"] != "inject" {
		t.Errorf("logged %v", line)
	}
	if lines := bytes.Count(h.log.Bytes(), []byte("\n")); lines != 2 || bytes.Contains(h.log.Bytes(), []byte("nginx")) {
		t.Errorf("the log has %d lines, or an object in it:\n%s", lines, h.log.Bytes())
	}
}

// What is no review gets a status that says so, and is counted.
func TestRefusals(t *testing.T) {
	long := `{"kind":"` + strings.Repeat("x", webhook.MaxBody) + `"}`
	for _, tc := range []struct {
		name, method, contentType, body string
		status                          int
		kind, message                   string
	}{
		{"GET", "GET", "application/json", plainPod, 405, "method", "reviews are sent with POST, not GET"},
		{"no content type", "POST", "", plainPod, 415, "content-type", `the content type is "", not application/json`},
		{"text", "POST", "text/plain", plainPod, 415, "content-type", `the content type is "text/plain", not application/json`},
		{"protobuf", "POST", "application/vnd.kubernetes.protobuf", "k8s", 415, "content-type", "not application/json"},
		{"empty", "POST", "application/json", "", 400, "empty", "the body is empty; an AdmissionReview was expected"},
		{"too long", "POST", "application/json", long, 413, "too-large", "the body has more than 6356992 bytes"},
		{"garbage", "POST", "application/json", "{\x00", 400, "json", "the body is not JSON"},
		{"cut off", "POST", "application/json; charset=utf-8", `{"kind":"AdmissionReview","request":{"uid":"1"`, 400, "json", "the body is not JSON"},
		{"YAML", "POST", "application/json", "kind: AdmissionReview\napiVersion: admission.k8s.io/v1\nrequest: {uid: a}\n", 400, "json", "the body is not a JSON object"},
		{"flow YAML", "POST", "application/json", "{kind: AdmissionReview}", 400, "json", "the body is not a JSON object"},
		{"list", "POST", "application/json", "[]", 400, "json", "the body is not a JSON object"},
		{"null", "POST", "application/json", "null", 400, "json", "the body is not a JSON object"},
		{"two", "POST", "application/json", "{}{}", 400, "json", ""},
		{"deep", "POST", "application/json", strings.Repeat("[", 200000), 400, "json", "the body is not JSON"},
		{"pod", "POST", "application/json", plainPod, 400, "review", `the body is of kind "Pod", not AdmissionReview`},
		{"no version", "POST", "application/json", `{"kind":"AdmissionReview"}`, 400, "review", `the review is of version ""; admission.k8s.io/v1 and admission.k8s.io/v1beta1 are answered`},
		{"new version", "POST", "application/json", reviewOf("v2", "u", "", plainPod), 400, "review", `the review is of version "admission.k8s.io/v2"`},
		{"no request", "POST", "application/json", `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`, 400, "review", "the review has no request with a uid to answer to"},
		{"no uid", "POST", "application/json", reviewOf("v1", "", "", plainPod), 400, "review", "the review has no request with a uid to answer to"},
		{"request of another type", "POST", "application/json", `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":[1]}`, 400, "review", "no request with a uid"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHook(t, defaultEngine(t))
			r := httptest.NewRequest(tc.method, "/inject", strings.NewReader(tc.body))
			if tc.contentType != "" {
				r.Header.Set("Content-Type", tc.contentType)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.message) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if tc.status == 405 && w.Header().Get("Allow") != "POST" {
				t.Error("the header Allow is missing")
			}
			if want := fmt.Sprintf(`ingraft_admission_errors_total{kind=%q} 1`, tc.kind); !strings.Contains(h.numbers(t), want) {
				t.Errorf("not counted: %s", want)
			}
			if !bytes.Contains(h.log.Bytes(), []byte("refused a request")) {
				t.Errorf("logged %s", h.log.Bytes())
			}
		})
	}
}

// A body whose length is not announced is bounded, too; one that ends early,
// or fails to come, is an error.
func TestBodiesOfUnknownLength(t *testing.T) {
	h := newHook(t, defaultEngine(t))
	for _, tc := range []struct {
		name   string
		body   io.Reader
		length int64
		status int
	}{
		{"endless", io.MultiReader(strings.NewReader("{"), endless{}), -1, 413},
		{"whole", strings.NewReader(reviewOf("v1", "u", "shop", plainPod)), -1, 200},
		{"shorter than announced", strings.NewReader("{}"), 5, 400},
		{"failing", iotest.ErrReader(errors.New("gone")), -1, 400},
		{"announced too long", strings.NewReader("{}"), webhook.MaxBody + 1, 413},
	} {
		r := httptest.NewRequest(http.MethodPost, "/inject", tc.body)
		r.ContentLength = tc.length
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != tc.status {
			t.Errorf("%s: %d %s", tc.name, w.Code, w.Body)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// What is a review, but not one of a new pod.
func TestOtherReviews(t *testing.T) {
	h := newHook(t, defaultEngine(t))
	review := func(request string) string {
		return `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":` + request + `}`
	}
	for _, tc := range []struct {
		name, request string
		allowed       bool
		message       string
	}{
		{"update", `{"uid":"u","operation":"UPDATE","object":` + plainPod + `}`, true, ""},
		{"delete", `{"uid":"u","operation":"DELETE","object":null}`, true, ""},
		{"subresource", `{"uid":"u","operation":"CREATE","subResource":"binding","object":{"kind":"Binding"}}`, true, ""},
		{"deployment", `{"uid":"u","kind":{"kind":"Deployment"},"operation":"CREATE","object":{}}`, false, "the injector was asked about a Deployment, but injects into pods; its webhook configuration should ask about resource pods only"},
		{"no kind, deployment", `{"uid":"u","object":{"kind":"Deployment"}}`, false, "asked about a Deployment"},
		{"no object", `{"uid":"u","kind":{"kind":"Pod"}}`, false, "asked about a pod, but not sent it"},
		{"null", `{"uid":"u","object":null}`, false, "asked about a pod, but not sent it"},
		{"list", `{"uid":"u","object":[]}`, false, "in place of a pod"},
		{"wrong type", `{"uid":"u","object":{"metadata":{"name":"a"},"spec":{"containers":{"name":"a"}}}}`, false, "containers"},
		{"number for a string", `{"uid":"u","object":{"metadata":{"labels":{"a":1}},"spec":{"containers":[{"name":"a"}]}}}`, false, "metadata.labels"},
	} {
		_, a := post(t, h, "/inject", review(tc.request))
		if *a.Response.Allowed != tc.allowed || a.Response.UID != "u" || !strings.Contains(a.Response.Status.Message, tc.message) {
			t.Errorf("%s: %+v", tc.name, a.Response)
		}
		if a.Response.Patch != nil {
			t.Errorf("%s: there is a patch", tc.name)
		}
	}
}

const badCPU = `{"metadata":{"name":"web","annotations":{"sidecar.istio.io/proxyCPU":"lots"}},"spec":{"containers":[{"name":"web","image":"nginx"}]}}`

// A bad annotation denies the pod, with the annotation and the mend; or admits
// it as it is.
func TestBadAnnotation(t *testing.T) {
	h := newHook(t, defaultEngine(t))
	_, a := post(t, h, "/inject", reviewOf("v1", "u", "shop", badCPU))
	if *a.Response.Allowed || a.Response.UID != "u" || a.Response.Status.Code != 400 || a.Response.Status.Reason != "BadRequest" {
		t.Errorf("%+v", a.Response)
	}
	for _, part := range []string{"annotation sidecar.istio.io/proxyCPU", `"lots"`, "100m"} {
		if !strings.Contains(a.Response.Status.Message, part) {
			t.Errorf("the message lacks %s: %s", part, a.Response.Status.Message)
		}
	}
	if !strings.Contains(h.numbers(t), `verdict="deny",reason="IGF05`) {
		t.Error(h.numbers(t))
	}

	h = newHook(t, defaultEngine(t), func(o *webhook.Options, _ *webhook.Installation) { o.AllowOnError = true })
	_, a = post(t, h, "/inject", reviewOf("v1", "u", "shop", badCPU))
	if !*a.Response.Allowed || a.Response.Patch != nil || len(a.Response.Warnings) != 1 {
		t.Fatalf("%+v", a.Response)
	}
	if w := a.Response.Warnings[0]; !strings.HasPrefix(w, "no sidecar was injected: annotation sidecar.istio.io/proxyCPU") {
		t.Error(w)
	}
}

// An error in a template is told with its place in the configuration.
func TestDenialNamesPlaceInConfiguration(t *testing.T) {
	e := compile(t, []byte("policy: enabled\ntemplates:\n  sidecar: |\n    spec:\n      x: {{ fail \"no way\" }}\n"), nil, nil, release.Newest)
	_, a := post(t, newHook(t, e), "/inject", reviewOf("v1", "u", "shop", plainPod))
	if m := a.Response.Status.Message; !strings.HasPrefix(m, "config:5:") || !strings.Contains(m, "no way") {
		t.Error(m)
	}
}

// Warnings keep to what Kubernetes passes on.
func TestWarningsKeepToTheLimits(t *testing.T) {
	names := &strings.Builder{}
	for i := range 40 {
		fmt.Fprintf(names, `"sidecar.istio.io/né%d%s":"x",`, i, strings.Repeat("y", 200))
	}
	pod := `{"metadata":{"annotations":{` + names.String() + `"sidecar.istio.io/line\nbreak\u0007":"1","sidecar.istio.io/injekt":"x"}},"spec":{"containers":[{"name":"web","image":"nginx"}]}}`
	_, a := post(t, newHook(t, defaultEngine(t)), "/inject", reviewOf("v1", "u", "shop", pod))
	if !*a.Response.Allowed || len(a.Response.Warnings) < 5 {
		t.Fatalf("%+v", a.Response)
	}
	total := 0
	for _, w := range a.Response.Warnings {
		total += len(w)
		if len(w) > 256 || !utf8.ValidString(w) || strings.ContainsAny(w, "\n\a") {
			t.Errorf("%d bytes: %q", len(w), w)
		}
	}
	last := a.Response.Warnings[len(a.Response.Warnings)-1]
	if total > 2200 || !strings.HasSuffix(last, "more; ingraft kube-inject shows them") {
		t.Errorf("%d bytes in all, the last is %q", total, last)
	}
	pod = `{"metadata":{"annotations":{"sidecar.istio.io/injekt":"x"}},"spec":{"containers":[{"name":"web","image":"nginx"}]}}`
	_, a = post(t, newHook(t, defaultEngine(t)), "/inject", reviewOf("v1", "u", "shop", pod))
	if w := a.Response.Warnings; len(w) != 1 || !strings.Contains(w[0], "did you mean sidecar.istio.io/inject?") || !strings.HasSuffix(w[0], "[IGF0623]") {
		t.Errorf("warnings %q", w)
	}
}

// A panic is answered with the UID, counted and logged; the next request is
// answered as ever.
func TestPanic(t *testing.T) {
	boom := true
	h := newHook(t, defaultEngine(t), func(_ *webhook.Options, i *webhook.Installation) {
		i.Native = func(*source.Node) bool {
			if boom {
				panic("boom")
			}
			return false
		}
	})
	w, a := post(t, h, "/inject", reviewOf("v1", "u-7", "shop", plainPod))
	if *a.Response.Allowed || a.Response.UID != "u-7" || a.Response.Status.Code != 500 || strings.Contains(w.Body.String(), "boom") {
		t.Errorf("%s", w.Body)
	}
	if !strings.Contains(h.numbers(t), `ingraft_admission_errors_total{kind="panic"} 1`) || !strings.Contains(h.log.String(), `"panic":"boom"`) {
		t.Errorf("%s\n%s", h.numbers(t), h.log.String())
	}
	boom = false
	if _, a = post(t, h, "/inject", reviewOf("v1", "u-8", "shop", plainPod)); a.Response.Patch == nil {
		t.Errorf("%+v", a.Response)
	}
}

func TestWithoutConfiguration(t *testing.T) {
	h := newHook(t, nil)
	if h.Installed() {
		t.Error("nothing was installed")
	}
	w, _ := post(t, h, "/inject", reviewOf("v1", "u", "shop", plainPod))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// Whoever wants to tell people learns of pods that were denied, admitted as they
// are or given warnings, by the object that people look at, but not of dry runs.
func TestNotices(t *testing.T) {
	var got []webhook.Notice
	for _, allow := range []bool{false, true} {
		h := newHook(t, defaultEngine(t), func(o *webhook.Options, _ *webhook.Installation) {
			o.AllowOnError = allow
			o.CacheBytes = 1 << 20
			o.Notice = func(n webhook.Notice) { got = append(got, n) }
		})
		const controlled = `"generateName":"web-5d-","ownerReferences":[{"kind":"Other","name":"x"},{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-5d","uid":"r1","controller":true}]`
		pod := func(metadata, key string) string {
			return `{"metadata":{` + metadata + `,"annotations":{"` + key + `":"http"}},"spec":{"containers":[{"name":"web","image":"nginx"}]}}`
		}
		const ports = "traffic.sidecar.istio.io/includeInboundPorts"
		post(t, h, "/inject", reviewOf("v1", "u", "shop", pod(controlled, ports)))
		post(t, h, "/inject", strings.Replace(reviewOf("v1", "u", "shop", pod(controlled, ports)), `"dryRun":false`, `"dryRun":true`, 1))
		post(t, h, "/inject", reviewOf("v1", "u", "shop", plainPod))
		post(t, h, "/inject", reviewOf("v1", "u", "shop", pod(`"name":"bare"`, "sidecar.istio.io/injekt")))
		post(t, h, "/inject", reviewOf("v1", "u", "shop", pod(controlled, "sidecar.istio.io/injekt")))
		post(t, h, "/inject", reviewOf("v1", "u", "shop", pod(controlled, "sidecar.istio.io/injekt"))) // another replica: it is known
		post(t, h, "/inject", reviewOf("v1", "u", "", pod(`"name":"nowhere"`, ports)))
	}
	var lines []string
	for _, n := range got {
		if n.Message == "" || n.Namespace != "shop" {
			t.Errorf("%+v", n)
		}
		lines = append(lines, n.Reason+" "+n.About.Kind+" "+n.About.Name+" "+n.UID)
	}
	warnings := []string{"InjectionWarning Pod bare ", "InjectionWarning ReplicaSet web-5d r1"}
	want := append(append(append([]string{"InjectionDenied ReplicaSet web-5d r1"}, warnings...), "InjectionFailed ReplicaSet web-5d r1"), warnings...)
	if !slices.Equal(lines, want) {
		t.Errorf("got %q", lines)
	}
}
