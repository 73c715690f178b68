package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// deployment returns a Deployment as people write them. No two are alike in
// what names, images, ports and labels hold.
func deployment(i int) []byte {
	var b bytes.Buffer
	name := fmt.Sprintf("shop-%04d", i)
	fmt.Fprintf(&b, `apiVersion: apps/v1
kind: Deployment
metadata:
  name: %[1]s
  namespace: shop
  labels: {app: %[1]s, version: v%[2]d}
spec:
  replicas: 3
  selector:
    matchLabels:
      app: %[1]s
  template:
    metadata:
      labels:
        app: %[1]s
        version: v%[2]d
    spec:
      serviceAccountName: shop
      containers:
      - name: %[1]s
        image: "registry.example.com/shop/%[1]s:1.%[2]d.0"
        args: ["--port", "%[3]d"]
        ports:
        - containerPort: %[3]d
          name: http
        - {containerPort: 9090, name: metrics}
        env:
        - name: GREETING
          value: "hello, %[1]s"
        readinessProbe:
          httpGet:
            path: /healthz
            port: http
        resources:
          requests: {cpu: 100m, memory: 128Mi}
          limits:
            memory: 256Mi
        volumeMounts:
        - name: data
          mountPath: /var/lib/shop
      volumes:
      - name: data
        emptyDir: {}
`, name, i%7, 8000+i%50)
	return b.Bytes()
}

// service returns the Service that belongs to a Deployment.
func service(i int) []byte {
	name := fmt.Sprintf("shop-%04d", i)
	return fmt.Appendf(nil, `apiVersion: v1
kind: Service
metadata:
  name: %s
  namespace: shop
spec:
  selector: {app: %s}
  ports:
  - name: http
    port: 80
    targetPort: http
`, name, name)
}

// manifests returns n Deployments, each followed by its Service.
func manifests(n int) []byte {
	var documents [][]byte
	for i := range n {
		documents = append(documents, deployment(i), service(i))
	}
	return bytes.Join(documents, []byte("---\n"))
}

// review returns what an API server asks a webhook about the pod of a replica
// of an application: every application is its own, in shape too, while the
// pods of its replicas differ as Kubernetes makes them differ.
func review(application, replica int) ([]byte, error) {
	pod, err := json.Marshal(pod(application, replica))
	if err != nil {
		return nil, fmt.Errorf("encoding a pod: %w", err)
	}
	b, err := json.Marshal(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID:       types.UID(fmt.Sprintf("705ab4f5-6393-11e8-%04x-%012x", replica, application)),
			Kind:      metav1.GroupVersionKind{Version: "v1", Kind: "Pod"},
			Resource:  metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
			Namespace: "shop", Operation: admissionv1.Create,
			Object: runtime.RawExtension{Raw: pod},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("encoding a review: %w", err)
	}
	return b, nil
}

// pod returns a pod as it reaches a webhook: with the API server's defaults,
// the owner, the fields' managers and the volume of the service account.
func pod(application, replica int) *corev1.Pod {
	app := fmt.Sprintf("app-%05d", application)
	token := fmt.Sprintf("kube-api-access-%05x", application*131+replica)
	p := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: app + "-7d4b9c6f5d-",
			Namespace:    "shop",
			Labels:       map[string]string{"app": app, "pod-template-hash": "7d4b9c6f5d", "version": fmt.Sprintf("v%d", application%5)},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app + "-7d4b9c6f5d",
				UID: types.UID(fmt.Sprintf("b3a8c7de-0000-4000-8000-%012x", application)), Controller: ptr(true), BlockOwnerDeletion: ptr(true),
			}},
			ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: "kube-controller-manager", Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1",
				FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:metadata":{"f:generateName":{},"f:labels":{".":{},"f:app":{},"f:pod-template-hash":{},"f:version":{}},"f:ownerReferences":{}},"f:spec":{"f:containers":{},"f:dnsPolicy":{},"f:enableServiceLinks":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},"f:terminationGracePeriodSeconds":{}}}`)},
			}},
		},
		Spec: corev1.PodSpec{
			ServiceAccountName: "shop", DeprecatedServiceAccount: "shop",
			RestartPolicy: corev1.RestartPolicyAlways, DNSPolicy: corev1.DNSClusterFirst, SchedulerName: "default-scheduler",
			TerminationGracePeriodSeconds: ptr(int64(30)), EnableServiceLinks: ptr(true), Priority: ptr(int32(0)),
			SecurityContext: &corev1.PodSecurityContext{},
			Tolerations: []corev1.Toleration{
				{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr(int64(300))},
				{Key: "node.kubernetes.io/unreachable", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr(int64(300))},
			},
			Volumes: []corev1.Volume{{Name: token, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				DefaultMode: ptr(int32(0o644)),
				Sources: []corev1.VolumeProjection{
					{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: ptr(int64(3607)), Path: "token"}},
					{ConfigMap: &corev1.ConfigMapProjection{
						LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
						Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
					}},
				},
			}}}},
		},
	}
	for i := range 1 + application%3 {
		p.Spec.Containers = append(p.Spec.Containers, container(application, i, token))
	}
	vary(p, application)
	return p
}

func container(application, i int, token string) corev1.Container {
	port := int32(8000 + application%400 + 10*i)
	c := corev1.Container{
		Name: fmt.Sprintf("part-%d", i), Image: fmt.Sprintf("registry.example.com/shop/app-%d:1.%d", application, i),
		ImagePullPolicy: corev1.PullIfNotPresent, TerminationMessagePath: "/dev/termination-log",
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		Ports:                    []corev1.ContainerPort{{Name: fmt.Sprintf("http-%d", i), ContainerPort: port, Protocol: corev1.ProtocolTCP}},
		Env:                      []corev1.EnvVar{{Name: "APPLICATION", Value: fmt.Sprint(application)}},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi"),
		}},
		VolumeMounts: []corev1.VolumeMount{{Name: token, ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}},
	}
	if application%2 == 0 {
		c.ReadinessProbe = &corev1.Probe{
			ProbeHandler:   corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(port), Scheme: corev1.URISchemeHTTP}},
			TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3,
		}
	}
	return c
}

// vary gives some applications what users add for the mesh.
func vary(p *corev1.Pod, application int) {
	annotations := map[string]string{}
	switch application % 6 {
	case 1:
		annotations["prometheus.io/scrape"], annotations["prometheus.io/port"] = "true", fmt.Sprint(9000+application%90)
	case 2:
		annotations["traffic.sidecar.istio.io/excludeOutboundPorts"] = fmt.Sprint(3000 + application%1000)
	case 3:
		annotations["sidecar.istio.io/proxyCPU"] = fmt.Sprintf("%dm", 50+application%500)
	case 4:
		annotations["proxy.istio.io/config"] = fmt.Sprintf("concurrency: %d\n", 1+application%8)
	}
	if len(annotations) > 0 {
		p.Annotations = annotations
	}
}

func ptr[T any](v T) *T { return &v }
