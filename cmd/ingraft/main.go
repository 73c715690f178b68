// Command ingraft grafts a service-mesh sidecar onto Kubernetes workloads and
// shows what it did.
package main

func main() {}
