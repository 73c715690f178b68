package webhook

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// review is a request of an API server for admission.
type review struct {
	// version is the apiVersion, in which the answer has to be.
	version string
	// uid is the JSON that spells the request's UID; the answer repeats it.
	uid []byte
	// request is AdmissionReview.request, object the pod in it.
	request, object *source.Node
	// namespace is the one that the pod will live in.
	namespace string
}

// The versions of AdmissionReview that are answered.
const (
	reviewV1      = "admission.k8s.io/v1"
	reviewV1beta1 = "admission.k8s.io/v1beta1"
)

// refusal is a request that is no review, and so cannot be answered with one.
type refusal struct {
	status int
	// kind is the reason as the metric of errors has it.
	kind    string
	message string
}

// readReview reads the body of a request. The object may be missing in it.
func readReview(body []byte) (*review, *refusal) {
	bad := func(kind, message string) (*review, *refusal) {
		return nil, &refusal{http.StatusBadRequest, kind, message}
	}
	doc, err := source.Parse(source.NewText(reviewText, body))
	switch {
	case err != nil:
		message := err.Error()
		var syntax *source.SyntaxError
		if errors.As(err, &syntax) {
			message = "byte " + strconv.Itoa(syntax.Span.Start) + ": " + syntax.Message
		}
		return bad("json", "the body is not JSON: "+message)
	case doc.Format != source.JSON || doc.Root.Kind() != source.Map:
		return bad("json", "the body is not a JSON object")
	}
	root := doc.Root
	if kind := root.Get("kind").Str(); kind != "AdmissionReview" {
		return bad("review", "the body is of kind "+strconv.Quote(short(kind))+", not AdmissionReview")
	}
	r := &review{version: root.Get("apiVersion").Str(), request: root.Get("request")}
	if r.version != reviewV1 && r.version != reviewV1beta1 {
		return bad("review", "the review is of version "+strconv.Quote(short(r.version))+"; "+reviewV1+" and "+reviewV1beta1+" are answered")
	}
	uid := r.request.Get("uid")
	if uid.Str() == "" {
		return bad("review", "the review has no request with a uid to answer to")
	}
	r.uid = source.AppendJSON(nil, uid)
	r.object, r.namespace = r.request.Get("object"), r.request.Get("namespace").Str()
	return r, nil
}

// unfit tells why a review is not about a pod, "" where it is.
func (r *review) unfit() string {
	const mend = "; its webhook configuration should ask about resource pods only"
	kind := r.request.Get("kind", "kind").Str()
	if kind == "" {
		kind = r.object.Get("kind").Str()
	}
	switch {
	case kind != "" && kind != "Pod":
		return "the injector was asked about a " + short(kind) + ", but injects into pods" + mend
	case r.object.IsNull():
		return "the injector was asked about a pod, but not sent it" + mend
	case r.object.Kind() != source.Map:
		return "the injector was sent " + r.object.Kind().String() + " in place of a pod" + mend
	}
	return ""
}

// passes tells why a review asks nothing of an injector, "" where it does:
// only new pods can get a sidecar.
func (r *review) passes() string {
	if op := r.request.Get("operation").Str(); op != "" && op != "CREATE" {
		return "operation " + short(op)
	}
	if sub := r.request.Get("subResource").Str(); sub != "" {
		return "subresource " + short(sub)
	}
	return ""
}

// short cuts text from outside that goes into a message.
func short(s string) string {
	const limit = 80
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-3], "") + "..."
}

// answer is what is said to a review.
type answer struct {
	verdict verdict
	// reason is a code, and message says it to people where it is no.
	reason, message string
	// patch is the JSON patch, and size its length.
	patch    []byte
	size     int
	warnings []string
	// findings counts what the engine found, warnings and errors.
	findings int
	// code is the HTTP status that goes with a denial.
	code int
	// cached tells that the answer was known from another replica.
	cached bool
}

// verdict is what becomes of a pod.
type verdict uint8

const (
	skipped  verdict = iota
	injected         // with a patch, or none where nothing changes
	denied
	passed // untouched, although injection failed: --on-error allow
)

func (v verdict) String() string { return [...]string{"skip", "inject", "deny", "pass"}[v] }

// tail is what follows the uid in the JSON of the answer.
func (a *answer) tail() []byte {
	size := 128 + base64.StdEncoding.EncodedLen(len(a.patch))
	for _, w := range a.warnings {
		size += len(w) + 16
	}
	b := make([]byte, 0, size)
	if a.verdict == denied {
		b = append(b, `,"allowed":false,"status":{"status":"Failure","message":`...)
		b = source.AppendJSON(b, source.NewString(a.message))
		b = append(b, `,"reason":"`...)
		b = append(b, statusReason(a.code)...)
		b = append(b, `","code":`...)
		b = append(strconv.AppendInt(b, int64(a.code), 10), '}')
	} else {
		b = append(b, `,"allowed":true`...)
	}
	if a.patch != nil {
		b = append(b, `,"patchType":"JSONPatch","patch":"`...)
		b = base64.StdEncoding.AppendEncode(b, a.patch)
		b = append(b, '"')
	}
	for i, w := range a.warnings {
		if i == 0 {
			b = append(b, `,"warnings":[`...)
		} else {
			b = append(b, ',')
		}
		b = source.AppendJSON(b, source.NewString(w))
	}
	if len(a.warnings) > 0 {
		b = append(b, ']')
	}
	return append(b, "}}\n"...)
}

// statusReason is the reason that Kubernetes gives with an HTTP status; kubectl
// prints it before the message.
func statusReason(code int) string {
	if code >= 500 {
		return "InternalError"
	}
	return "BadRequest"
}

// appendAnswer writes an AdmissionReview that answers one.
func appendAnswer(b []byte, r *review, tail []byte) []byte {
	b = append(b, `{"kind":"AdmissionReview","apiVersion":"`...)
	b = append(b, r.version...)
	b = append(b, `","response":{"uid":`...)
	b = append(b, r.uid...)
	return append(b, tail...)
}

// The limits of Kubernetes on warnings: the API server may cut one at 256
// characters, and drops what goes beyond 4096 in all, those of other webhooks
// included, so half of it is left to them.
const (
	maxWarning  = 256
	maxWarnings = 2048
)

// warningsOf returns the warnings among findings as an API server passes them
// on to the user.
func warningsOf(list diag.List, pod *source.Node) []string {
	var out []string
	room, more := maxWarnings, 0
	for _, d := range list {
		if d.Severity != diag.Warning {
			continue
		}
		w := warning(subject(d, pod)+d.Message, d.Fix, d.Code)
		if room -= len(w); room < 0 {
			more++
			continue
		}
		out = append(out, w)
	}
	if more > 0 {
		out = append(out, "and "+strconv.Itoa(more)+" more; ingraft kube-inject shows them")
	}
	return out
}

// warning fits a message into the limit: with its mend where there is room.
func warning(message, fix, code string) string {
	message = oneLine(message)
	if code != "" {
		code = " [" + code + "]"
	}
	if whole := message + "; " + oneLine(fix) + code; fix != "" && len(whole) <= maxWarning {
		return whole
	}
	if len(message)+len(code) > maxWarning {
		message = strings.ToValidUTF8(message[:maxWarning-len(code)-3], "") + "..."
	}
	return message + code
}

// oneLine replaces what may not stand in an HTTP header, where warnings go.
func oneLine(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r):
			return utf8.RuneError
		}
		return r
	}, s)
}

// subject names the annotation or label that a finding is about, where its
// message does not: there is no line for the reader to look at.
func subject(d *diag.Diagnostic, pod *source.Node) string {
	if !d.Span.IsValid() {
		return ""
	}
	text, at := d.Span.Text.Outermost(d.Span.Start)
	for _, part := range [...]struct{ key, name string }{{"annotations", "annotation"}, {"labels", "label"}} {
		for _, f := range pod.Get("metadata", part.key).Fields() {
			if span := f.Value.Span(); span.Text == text && span.Start <= at && at < span.End && !strings.Contains(d.Message, f.Key) {
				return part.name + " " + short(f.Key) + ": "
			}
		}
	}
	return ""
}

// maxDenial bounds what is told about a pod that is denied: the message ends up
// in events and conditions.
const maxDenial = 4096

// denial says to the user of kubectl what is wrong with a pod, and the mend.
func denial(list diag.List, pod *source.Node) string {
	var b strings.Builder
	for _, d := range list {
		if d.Severity != diag.Error {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		// Lines of the review mean nothing to anybody; those of the
		// configuration do.
		if text := d.Span.Text; text != nil {
			if outer, _ := text.Outermost(d.Span.Start); outer.Name != reviewText && outer.Name != "" {
				b.WriteString(d.Pos().String() + ": ")
			}
		}
		b.WriteString(oneLine(subject(d, pod) + d.Message))
		if d.Code != "" {
			b.WriteString(" [" + d.Code + "]")
		}
		if d.Fix != "" {
			b.WriteString(": " + oneLine(d.Fix))
		}
	}
	if b.Len() > maxDenial {
		return strings.ToValidUTF8(b.String()[:maxDenial-3], "") + "..."
	}
	return b.String()
}

// reviewText is the name of the text that a review is.
const reviewText = "AdmissionReview"
