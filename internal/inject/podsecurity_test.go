package inject

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ingraft/ingraft/internal/source"
)

// Container by container the judge says no more and no less than about the pod
// as a whole.
func TestBreachesAreThoseOfTheWholePod(t *testing.T) {
	for _, text := range []string{
		`spec: {containers: [{name: a}]}`,
		`spec: {containers: [{name: a, securityContext: {privileged: true}}, {name: b, securityContext: {runAsUser: 0}}]}`,
		`spec: {hostPID: true, hostNetwork: true, containers: [{name: a, ports: [{containerPort: 80, hostPort: 80}]}]}`,
		`spec: {volumes: [{name: v}, {name: h, hostPath: {path: /}}], containers: [{name: a}], initContainers: [{name: a, securityContext: {capabilities: {add: [NET_ADMIN]}}}]}`,
		`spec: {securityContext: {runAsUser: 0, runAsNonRoot: false, seccompProfile: {type: Unconfined}, sysctls: [{name: kernel.msgmax, value: "1"}]}, containers: [{name: a}, {name: b, securityContext: {runAsNonRoot: true}}]}`,
		`{metadata: {annotations: {container.apparmor.security.beta.kubernetes.io/a: unconfined}}, spec: {containers: [{name: a}]}}`,
		`spec: {containers: [{name: a, securityContext: {allowPrivilegeEscalation: false, runAsNonRoot: true, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}}]}`,
		`spec: {containers: [{name: a, livenessProbe: {httpGet: {host: 1.2.3.4, port: 80}}, securityContext: {procMount: Unmasked, seLinuxOptions: {user: x}}}]}`,
	} {
		doc, err := source.Parse(source.NewText("pod", []byte(text)))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"privileged", "baseline", "restricted", "restricted:v1.0", "baseline:v1.20"} {
			level, err := ParsePodSecurity(name)
			if err != nil {
				t.Fatal(err)
			}
			var meta metav1.ObjectMeta
			var spec corev1.PodSpec
			if err := decodeJSON(doc.Root.Get("metadata"), &meta); err != nil {
				t.Fatal(err)
			}
			if err := decodeJSON(doc.Root.Get("spec"), &spec); err != nil {
				t.Fatal(err)
			}
			for i := range spec.Volumes {
				if spec.Volumes[i].VolumeSource == (corev1.VolumeSource{}) {
					spec.Volumes[i].EmptyDir = &corev1.EmptyDirVolumeSource{}
				}
			}
			var want, got []string
			for _, r := range level.judge(&meta, &spec) {
				want = append(want, r.ForbiddenReason)
			}
			for _, b := range level.breaches(doc.Root) {
				got = append(got, b.rule)
			}
			slices.Sort(want)
			slices.Sort(got)
			if want, got = slices.Compact(want), slices.Compact(got); !slices.Equal(want, got) {
				t.Errorf("%s, %s: %q, want %q", name, text, got, want)
			}
		}
	}
}

func TestParsePodSecurity(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "restricted": "restricted", "baseline:latest": "baseline", "restricted:v1.30": "restricted:v1.30",
		"privileged": "privileged",
	} {
		if p, err := ParsePodSecurity(text); err != nil || p.String() != want {
			t.Errorf("%q: %q, %v", text, p, err)
		}
	}
	for _, text := range []string{"strict", ":", "baseline:", "baseline:1.30", "baseline:v2.0", "Restricted"} {
		if p, err := ParsePodSecurity(text); err == nil {
			t.Errorf("%q was taken for %q", text, p)
		}
	}
}
