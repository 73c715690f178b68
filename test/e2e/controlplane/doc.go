// Package controlplane runs a real control plane of Kubernetes on the loopback,
// for tests: etcd, kube-apiserver and kube-controller-manager, built from the
// module proxy. There is no scheduler and no kubelet; Kubelet plays the little
// of one that controllers wait for.
package controlplane
