package webhook

import (
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// MaxBody bounds the body of a request, in bytes. The API server takes objects
// of at most 3 MiB (its limit on a request's body), a review of an update holds
// two, and around them stands who asks for what.
const MaxBody = 2*3<<20 + 64<<10

// Installation is a configuration to inject with, and what is known of the
// cluster. It does not change.
type Installation struct {
	Engine *inject.Engine
	// Revision is that of the control plane; "" means default.
	Revision string
	// Getenv answers the engine's questions for the environment; nil means
	// that every variable is unset.
	Getenv func(string) string
	// Native tells whether the node of a pod runs native sidecars; nil means no.
	Native func(pod *source.Node) bool
	// Namespace returns the Namespace object of that name, nil where it is not
	// known; nil means that none is. An object that did not change is to be the
	// same node.
	Namespace func(name string) *source.Node
	// ProxyConfigs returns the ProxyConfig objects, nil for none; nil means that
	// there never are any. Where none changed it is to be the same value.
	ProxyConfigs func() *inject.ProxyConfigs
}

// Options say how a Handler works.
type Options struct {
	// Log gets one line for every admission, and never an object.
	Log *slog.Logger
	// Metrics counts; it must not be nil.
	Metrics *Metrics
	// AllowOnError admits pods untouched, with a warning, which cannot be
	// injected into and would be denied else.
	AllowOnError bool
	// CacheBytes bounds the memory for answers to replicas; 0 keeps none.
	CacheBytes int
	// Now is the clock.
	Now func() time.Time
	// Notice is told what happened to a pod that was denied, or admitted with
	// warnings, unless it was a dry run; nil for nobody. Replicas that get an answer
	// from the cache are not told again. It must not wait.
	Notice func(Notice)
}

// Notice is what there is to tell about a pod.
type Notice struct {
	// Namespace is the pod's.
	Namespace string
	// About is the object that people look at: the pod's controller, since a pod
	// that is denied does not exist, or a pod that has none. UID is its uid.
	About kube.Ref
	UID   string
	// Reason is InjectionDenied, InjectionFailed for a pod that was admitted as it
	// is, or InjectionWarning.
	Reason, Message string
}

// Handler answers reviews: POST on any path. It may be used by any number of
// goroutines.
type Handler struct {
	Options
	current atomic.Pointer[installed]
}

// installed is an Installation with the answers that it gave.
type installed struct {
	Installation
	cache *cache // may be nil
}

// New returns a Handler that has no configuration yet.
func New(o Options) *Handler { return &Handler{Options: o} }

// Install makes a configuration the one that reviews are answered with from
// now on. Those under way are answered with the one before.
func (h *Handler) Install(i *Installation) {
	next := &installed{Installation: *i}
	if h.CacheBytes > 0 {
		next.cache = newCache(h.CacheBytes)
	}
	h.current.Store(next)
}

// Installed reports whether there is a configuration.
func (h *Handler) Installed() bool { return h.current.Load() != nil }

// CacheUsed returns how many bytes and answers the cache of replicas holds.
func (h *Handler) CacheUsed() (size, entries int) {
	if in := h.current.Load(); in != nil && in.cache != nil {
		return in.cache.used()
	}
	return 0, 0
}

// exchange is one request while it is answered.
type exchange struct {
	*Handler
	http    *http.Request
	w       http.ResponseWriter
	began   time.Time
	review  *review // nil until it is read
	written bool
}

// ServeHTTP answers a review. What cannot be answered with one gets an error
// status, on which the API server does as the failure policy of the webhook
// says.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{Handler: h, http: r, w: w, began: h.Now()}
	defer x.recovered()
	if bad := x.serve(); bad != nil {
		x.refuse(bad)
	}
}

func (x *exchange) serve() *refusal {
	body, bad := x.body()
	if bad != nil {
		return bad
	}
	if x.review, bad = readReview(body); bad != nil {
		return bad
	}
	in := x.current.Load()
	if in == nil {
		return &refusal{http.StatusServiceUnavailable, "unconfigured", "there is no configuration to inject with yet"}
	}
	a, tail := in.admit(x.review, x.http.URL.Path, x.Options)
	x.reply(a, tail)
	return nil
}

// body reads the body of a request that is one for a review.
func (x *exchange) body() ([]byte, *refusal) {
	r := x.http
	if r.Method != http.MethodPost {
		x.w.Header().Set("Allow", http.MethodPost)
		return nil, &refusal{http.StatusMethodNotAllowed, "method", "reviews are sent with POST, not " + short(r.Method)}
	}
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return nil, &refusal{
			http.StatusUnsupportedMediaType, "content-type",
			"the content type is " + strconv.Quote(short(r.Header.Get("Content-Type"))) + ", not application/json",
		}
	}
	tooLong := &refusal{http.StatusRequestEntityTooLarge, "too-large", "the body has more than " + strconv.Itoa(MaxBody) + " bytes"}
	if r.ContentLength > MaxBody {
		return nil, tooLong
	}
	var body []byte
	var err error
	if r.ContentLength >= 0 {
		body = make([]byte, r.ContentLength)
		_, err = io.ReadFull(r.Body, body)
	} else {
		body, err = io.ReadAll(io.LimitReader(r.Body, MaxBody+1))
	}
	switch {
	case err != nil:
		return nil, &refusal{http.StatusBadRequest, "body", "reading the body: " + err.Error()}
	case len(body) > MaxBody:
		return nil, tooLong
	case len(body) == 0:
		return nil, &refusal{http.StatusBadRequest, "empty", "the body is empty; an AdmissionReview was expected"}
	}
	return body, nil
}

// admit answers a review, and returns the rest of the answer's text.
func (in *installed) admit(rv *review, path string, o Options) (*answer, []byte) {
	if why := rv.passes(); why != "" {
		a := &answer{verdict: skipped, reason: "no-new-pod", message: why + " makes no new pod"}
		return a, a.tail()
	}
	if why := rv.unfit(); why != "" {
		a := o.failed("kind", why, http.StatusBadRequest)
		return a, a.tail()
	}
	r := in.request(rv, path, o)
	var k *key
	if in.cache != nil {
		if k = keyOf(in.Engine, r, path); k == nil {
			o.Metrics.lookups.With("bypass").Add(1)
		} else {
			defer k.release()
			if e := in.cache.get(k); e != nil {
				o.Metrics.lookups.With("hit").Add(1)
				return &e.answer, e.tail
			}
			o.Metrics.lookups.With("miss").Add(1)
		}
	}
	a := in.decide(r, o)
	tail := a.tail()
	if k != nil && a.verdict == injected && !k.quoted(a) {
		in.cache.put(k, a, tail)
	}
	return a, tail
}

// request says to the engine what is known about the pod of a review.
func (in *installed) request(rv *review, path string, o Options) *inject.Request {
	r := &inject.Request{
		Door:          inject.Admission,
		Pod:           rv.object,
		Owner:         in.Engine.OwnerOf(inject.Admission, rv.object),
		OwnerMeta:     rv.object.Get("metadata"),
		NamespaceName: rv.namespace,
		Revision:      in.Revision,
		ProxyEnv:      ParsePath(path, in.Engine.Release()),
		Getenv:        in.Getenv,
		Now:           o.Now(),
	}
	if r.Owner.Namespace == "" {
		r.Owner.Namespace = rv.namespace
	}
	if in.Native != nil {
		r.NativeSidecars = in.Native(rv.object)
	}
	if in.ProxyConfigs != nil {
		r.ProxyConfigs = in.ProxyConfigs()
	}
	if in.Namespace != nil {
		r.Namespace = in.Namespace(rv.namespace)
	}
	return r
}

// decide asks the engine.
func (in *installed) decide(r *inject.Request, o Options) *answer {
	result := in.Engine.Run(r)
	findings := len(result.Diagnostics)
	if result.Diagnostics.HasErrors() {
		a := o.failed(firstCode(result), denial(result.Diagnostics, r.Pod), http.StatusBadRequest)
		a.findings = findings
		return a
	}
	a := &answer{
		reason: string(result.Decision.Reason), message: result.Decision.Message,
		warnings: warningsOf(result.Diagnostics, r.Pod), findings: findings,
	}
	if result.Decision.Verdict == inject.Inject {
		a.verdict, a.patch = injected, result.JSONPatch()
		a.size = len(a.patch)
	}
	return a
}

// firstCode returns the code of the error that a pod is denied for.
func firstCode(r *inject.Result) string {
	for _, d := range r.Diagnostics {
		if d.Severity == diag.Error {
			return d.Code
		}
	}
	return "error"
}

// failed is the answer where a pod cannot be injected into.
func (o *Options) failed(reason, message string, code int) *answer {
	o.Metrics.errors.With(reason).Add(1)
	a := &answer{verdict: denied, reason: reason, message: message, code: code}
	if o.AllowOnError {
		a.verdict = passed
		a.warnings = []string{warning("no sidecar was injected: "+message, "", "")}
	}
	return a
}

// recovered answers in place of code that panicked.
func (x *exchange) recovered() {
	what := recover()
	if what == nil {
		return
	}
	if what == http.ErrAbortHandler { //nolint:errorlint // it is compared by net/http, too
		panic(what)
	}
	x.Log.Error("answering a review panicked", "panic", fmt.Sprint(what), "stack", string(debug.Stack()))
	const message = "the injector has a bug that this pod brings to light; its log says more"
	switch {
	case x.written:
		x.Metrics.errors.With("panic").Add(1)
	case x.review == nil:
		x.refuse(&refusal{http.StatusInternalServerError, "panic", message})
	default:
		a := x.failed("panic", message, http.StatusInternalServerError)
		x.reply(a, a.tail())
	}
}

func (x *exchange) refuse(bad *refusal) {
	x.written = true
	x.Metrics.errors.With(bad.kind).Add(1)
	http.Error(x.w, bad.message, bad.status)
	x.done(bad.status)
	x.Log.LogAttrs(x.http.Context(), slog.LevelWarn, "refused a request",
		slog.Int("status", bad.status), slog.String("kind", bad.kind), slog.String("error", bad.message),
		slog.String("path", short(x.http.URL.Path)), slog.String("from", x.http.RemoteAddr))
}

var replies = sync.Pool{New: func() any { return new([]byte) }}

func (x *exchange) reply(a *answer, tail []byte) {
	x.written = true
	buffer := replies.Get().(*[]byte)
	defer replies.Put(buffer)
	*buffer = appendAnswer((*buffer)[:0], x.review, tail)
	header := x.w.Header()
	header["Content-Type"] = jsonType
	header["Content-Length"] = []string{strconv.Itoa(len(*buffer))}
	_, err := x.w.Write(*buffer)
	x.done(http.StatusOK)
	x.Metrics.admissions.With(a.verdict.String(), a.reason, x.review.namespace).Add(1)
	if a.verdict == injected {
		x.Metrics.patch.Observe(float64(a.size))
	}
	x.tell(a, err)
	if x.Notice != nil && (a.verdict >= denied || len(a.warnings) > 0) && !x.review.request.Get("dryRun").IsTrue() {
		x.notice(a)
	}
}

// notice tells what happened to a pod: once for all its warnings.
func (x *exchange) notice(a *answer) {
	n := Notice{Namespace: x.review.namespace, Reason: "InjectionWarning", Message: strings.Join(a.warnings, "; ")}
	switch a.verdict {
	case denied:
		n.Reason, n.Message = "InjectionDenied", a.message
	case passed:
		n.Reason = "InjectionFailed"
	}
	metadata := x.review.object.Get("metadata")
	n.About = kube.Ref{APIVersion: "v1", Kind: "Pod", Name: metadata.Get("name").Str()}
	for _, ref := range metadata.Get("ownerReferences").Items() {
		if ref.Get("controller").IsTrue() {
			n.About = kube.Ref{APIVersion: ref.Get("apiVersion").Str(), Kind: ref.Get("kind").Str(), Name: ref.Get("name").Str()}
			n.UID = ref.Get("uid").Str()
		}
	}
	if n.About.Name == "" {
		n.About.Name = strings.TrimSuffix(metadata.Get("generateName").Str(), "-")
	}
	if n.Namespace == "" || n.About.Name == "" {
		return // nowhere to tell it
	}
	x.Notice(n)
}

var jsonType = []string{"application/json"}

func (x *exchange) done(status int) {
	x.Metrics.requests.With(strconv.Itoa(status)).Add(1)
	x.Metrics.duration.Observe(x.Now().Sub(x.began).Seconds())
}

// tell writes the line of an admission into the log.
func (x *exchange) tell(a *answer, err error) {
	level := slog.LevelInfo
	if a.verdict >= denied {
		level = slog.LevelWarn
	}
	ctx := x.http.Context()
	if err != nil {
		x.Metrics.errors.With("write").Add(1)
		level = slog.LevelError
	}
	if !x.Log.Enabled(ctx, level) {
		return
	}
	metadata := x.review.object.Get("metadata")
	name := metadata.Get("name").Str()
	if name == "" {
		name = metadata.Get("generateName").Str()
	}
	attrs := [...]slog.Attr{
		slog.String("uid", x.review.request.Get("uid").Str()),
		slog.String("namespace", short(x.review.namespace)),
		slog.String("pod", short(name)),
		slog.String("verdict", a.verdict.String()),
		slog.String("reason", a.reason),
		slog.Int("patch_bytes", a.size),
		slog.Int("findings", a.findings),
		slog.Bool("cached", a.cached),
		slog.Duration("took", x.Now().Sub(x.began)),
		{},
		{},
		{},
	}
	list := attrs[:9]
	if a.verdict != injected {
		list = append(list, slog.String("message", a.message))
	}
	if x.review.request.Get("dryRun").IsTrue() {
		list = append(list, slog.Bool("dry_run", true))
	}
	if err != nil {
		list = append(list, slog.String("error", err.Error()))
	}
	x.Log.LogAttrs(ctx, level, "admission", list...)
}
