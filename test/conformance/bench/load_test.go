package main

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
)

// The reviews that a driver fills in are reviews of pods; those of replicas
// differ in what replicas differ in, those of applications in their names.
func TestTemplates(t *testing.T) {
	read := func(replicas bool, number string) []*corev1.Pod {
		t.Helper()
		file, err := templates(t.TempDir(), replicas)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list []*corev1.Pod
		for line := range bytes.Lines(bytes.ReplaceAll(data, []byte("@@@@@"), []byte(number))) {
			var r admissionv1.AdmissionReview
			p := &corev1.Pod{}
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(r.Request.Object.Raw, p); err != nil {
				t.Fatal(err)
			}
			if len(r.Request.UID) != 36 || !bytes.HasSuffix([]byte(r.Request.UID), []byte(number)) {
				t.Errorf("the request has id %s", r.Request.UID)
			}
			list = append(list, p)
		}
		return list
	}
	one, two := read(true, "00001"), read(true, "00002")
	if len(one) != 1 || one[0].Labels["app"] != two[0].Labels["app"] || one[0].OwnerReferences[0].UID != two[0].OwnerReferences[0].UID ||
		one[0].Spec.Volumes[0].Name == two[0].Spec.Volumes[0].Name {
		t.Errorf("replicas are %v and %v", one, two)
	}
	one, two = read(false, "00001"), read(false, "00002")
	if len(one) != 600 || len(two) != len(one) {
		t.Fatalf("there are %d and %d applications", len(one), len(two))
	}
	for i := range one {
		if one[i].Labels["app"] == two[i].Labels["app"] || one[i].OwnerReferences[0].UID == two[i].OwnerReferences[0].UID {
			t.Errorf("%s comes twice", one[i].Labels["app"])
		}
	}
}

func TestQuantile(t *testing.T) {
	p := &pressure{}
	for n := range 1000 {
		p.add(&pressure{took: []time.Duration{time.Duration(1000 - n)}, wall: time.Millisecond})
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 501, 0.99: 991, 0.999: 1000, 1: 1000} {
		if got := p.quantile(q); got != want {
			t.Errorf("quantile %v is %d, want %d", q, got, want)
		}
	}
	if p.rate() != 1000 {
		t.Errorf("the rate is %v", p.rate())
	}
}
