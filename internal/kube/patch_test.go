package kube_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// A strategic patch, applied by Kubernetes, gives what it was made for.
func TestStrategicPatch(t *testing.T) {
	base := `{"metadata":{"labels":{"a":"1","b":"2"},"finalizers":["x","y"]},"spec":{"containers":[{"name":"a","image":"i","args":["1"],"ports":[{"containerPort":80,"protocol":"TCP"}]},{"name":"b","image":"j"}],"volumes":[{"name":"v","emptyDir":{}}],"tolerations":[{"key":"k"}]}}`
	for name, now := range map[string]string{
		"added and changed":      `{"metadata":{"labels":{"a":"1","b":"3","c":"4"},"finalizers":["x","y"]},"spec":{"containers":[{"name":"a","image":"i","args":["2"],"ports":[{"containerPort":80,"protocol":"TCP"},{"containerPort":81}]},{"name":"b","image":"j"},{"name":"c","image":"k"}],"volumes":[{"name":"w","secret":{"secretName":"s"}},{"name":"v","emptyDir":{}}],"tolerations":[{"key":"k"},{"key":"l"}]}}`,
		"removed":                `{"metadata":{"labels":{"b":"2"},"finalizers":["y"]},"spec":{"containers":[{"name":"b","image":"j"}]}}`,
		"other order":            `{"metadata":{"labels":{"a":"1","b":"2"},"finalizers":["y","x"]},"spec":{"containers":[{"name":"b","image":"j"},{"name":"n","image":"n"},{"name":"a","image":"i","args":["1"],"ports":[{"containerPort":80,"protocol":"TCP"}]}],"volumes":[{"name":"v","emptyDir":{}}],"tolerations":[{"key":"k"}]}}`,
		"another source":         `{"metadata":{"labels":{"a":"1","b":"2"},"finalizers":["x","y"]},"spec":{"containers":[{"name":"a","image":"i","args":["1"],"ports":[{"containerPort":80,"protocol":"TCP"}]},{"name":"b","image":"j"}],"volumes":[{"name":"v","hostPath":{"path":"/d"}}],"tolerations":[{"key":"k"}]}}`,
		"keys that repeat":       `{"metadata":{"labels":{"a":"1","b":"2"},"finalizers":["x","y"]},"spec":{"containers":[{"name":"a","image":"i","args":["1"],"ports":[{"containerPort":80,"protocol":"TCP"},{"containerPort":80,"protocol":"UDP"}]},{"name":"b","image":"j"}],"volumes":[{"name":"v","emptyDir":{}}],"tolerations":[{"key":"k"}]}}`,
		"a list that is emptied": `{"metadata":{"labels":{"a":"1","b":"2"},"finalizers":["x","y"]},"spec":{"containers":[],"volumes":[{"name":"v","emptyDir":{}}],"tolerations":[{"key":"k"}]}}`,
		"nothing":                base,
	} {
		t.Run(name, func(t *testing.T) {
			was, want := parseJSON(t, base), parseJSON(t, now)
			patch := kube.StrategicPatch(was, want, kube.TypePod)
			if patch == nil {
				if now != base {
					t.Fatal("no patch")
				}
				return
			}
			text := source.AppendJSON(nil, patch)
			out, err := strategicpatch.StrategicMergePatch([]byte(base), text, corev1.Pod{})
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if got := parseJSON(t, string(out)); !got.Equal(want) {
				t.Errorf("patch\n%s\ngives\n%s\nwant\n%s", text, out, now)
			}
		})
	}
}

func parseJSON(t *testing.T, text string) *source.Node {
	t.Helper()
	doc, err := source.Parse(source.NewText("f", []byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root
}

func TestSettle(t *testing.T) {
	was := parseJSON(t, "spec:\n  nodeName:\n  containers:\n  - image: i\n    name: a\n    env:\n    - name: NN\n      value: 5\nmetadata:\n  annotations: {z: 1, a: true}\n")
	now := kube.Normalize(was, kube.TypePod)
	if got := kube.Settle(was, now, kube.TypePod); got != was {
		t.Errorf("nothing but the spelling differs, but it becomes\n%s", source.AppendYAML(nil, got))
	}
	overlay := parseJSON(t, "spec:\n  volumes:\n  - emptyDir: {}\n    name: v\n  containers:\n  - env: []\n    args: [x]\n    image: k\n    name: new\n    volumeMounts:\n    - mountPath: /p\n      name: v\nmetadata:\n  annotations: {yy: yy, b: b}\n")
	merged, err := kube.Merge(now, overlay, kube.TypePod)
	if err != nil {
		t.Fatal(err)
	}
	got := string(source.AppendJSON(nil, kube.Settle(was, merged, kube.TypePod)))
	want := `{"spec":{"nodeName":null,"containers":[{"name":"new","image":"k","args":["x"],"env":[],"volumeMounts":[{"name":"v","mountPath":"/p"}]},{"image":"i","name":"a","env":[{"name":"NN","value":5}]}],"volumes":[{"name":"v","emptyDir":{}}]},"metadata":{"annotations":{"z":1,"a":true,"b":"b","yy":"yy"}}}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
