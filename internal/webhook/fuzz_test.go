package webhook_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/webhook"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError + 1}))

// Whatever is sent, the answer is an error status or a review that can be
// decoded, has the uid, and whose patch applies.
func FuzzReview(f *testing.F) {
	f.Add([]byte(reviewOf("v1", "u", "shop", plainPod)))
	f.Add([]byte(reviewOf("v1beta1", "u", "shop", badCPU)))
	f.Add([]byte(reviewOf("v1", "u", "kube-system", replica(1))))
	f.Add([]byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","object":null}}`))
	f.Add([]byte("{\"kind\":\"\xff\"}"))
	f.Add([]byte(`{"kind":"AdmissionReview","kind":1}`))
	h := newHook(f, defaultEngine(f), func(o *webhook.Options, _ *webhook.Installation) { o.Log = quiet })
	f.Fuzz(func(t *testing.T, body []byte) {
		r := httptest.NewRequest(http.MethodPost, "/inject", bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			return
		}
		a := &reply{}
		if err := json.Unmarshal(w.Body.Bytes(), a); err != nil {
			t.Fatalf("%v: %s", err, w.Body)
		}
		if a.Response.Status.Reason == "InternalError" {
			t.Fatalf("panic: %s", w.Body)
		}
		if a.Response.UID == "" || a.Response.Allowed == nil {
			t.Fatal(w.Body)
		}
		var review struct {
			Request struct{ Object json.RawMessage }
		}
		if a.Response.Patch != nil && json.Unmarshal(body, &review) == nil && json.Valid(review.Request.Object) {
			parse(t, a.patched(t, string(review.Request.Object)))
		}
	})
}

// Variables of a path are ones that Kubernetes takes, whatever the path.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"/inject", "/inject/cluster/a/net/b", "/inject/:ENV:a=b:ENV:", "/inject//x/--slash--/=", "//", "/inject/\x00/b"} {
		f.Add(seed, uint8(31))
	}
	f.Fuzz(func(t *testing.T, path string, minor uint8) {
		r := release.V(1, int(minor%32))
		for name, value := range webhook.ParsePath(path, r) {
			if name == "" || strings.ContainsAny(name, "=\x00\n") {
				t.Errorf("variable %q", name)
			}
			if !strings.Contains(path, strings.ReplaceAll(value, "/", "--slash--")) && !strings.Contains(path, value) {
				t.Errorf("value %q is not of path %q", value, path)
			}
		}
	})
}

// What is put into a pod anywhere, the cache answers as the engine does.
func FuzzCachedIsUncached(f *testing.F) {
	f.Add("", "", uint16(0))
	f.Add(`"version":"v1"`, `"version":"kube-api-access-00001"`, uint16(1))
	f.Add("00001", "00002", uint16(3))
	f.Add(`"name":"data"`, `"name":"kube-api-access-00001"`, uint16(7))
	f.Add(`"creationTimestamp":`, `"creationTimestamp":null,"x":`, uint16(9))
	f.Add(`"uid":`, `"name":"b","uid":`, uint16(2))
	engines := []*inject.Engine{
		defaultEngine(f),
		compile(f, []byte("policy: enabled\ntemplates:\n  sidecar: |\n    metadata: {annotations: {a: '{{ len .ObjectMeta.Name }}'}}\n    spec: {volumes: [{name: data, emptyDir: {}}]}\n"), nil, nil, release.Newest),
	}
	f.Fuzz(func(t *testing.T, from, to string, n uint16) {
		for _, e := range engines {
			h, plain := newHook(t, e, cached(1<<20)), newHook(t, e)
			for i := range 3 {
				// One replica as it is, one changed, and the other changed alike.
				pod := replica(1)
				if i > 0 {
					pod = replica(int(n) + i)
					pod = strings.Replace(pod, from, to, 1)
				}
				review := []byte(reviewOf("v1", "u", "shop", pod))
				var got [2]*httptest.ResponseRecorder
				for j, handler := range []http.Handler{h, plain} {
					r := httptest.NewRequest(http.MethodPost, "/inject", bytes.NewReader(review))
					r.Header.Set("Content-Type", "application/json")
					got[j] = httptest.NewRecorder()
					handler.ServeHTTP(got[j], r)
				}
				if got[0].Code != got[1].Code || !bytes.Equal(got[0].Body.Bytes(), got[1].Body.Bytes()) {
					t.Errorf("cached   %s\nuncached %s", got[0].Body, got[1].Body)
				}
			}
		}
	})
}
