package injection

// controlledPod is a pod as the controller of a workload makes it.
type controlledPod struct {
	object
	// namespace is the workload's.
	namespace string
}

// podsOf returns the pods that the controllers make of an object: of a bare
// pod itself, of a Deployment the pod of its ReplicaSet, of a List those of
// its items.
func podsOf(o object) []controlledPod {
	kind, _ := o["kind"].(string)
	meta, _ := o["metadata"].(object)
	name, _ := meta["name"].(string)
	namespace, _ := meta["namespace"].(string)
	spec, _ := o["spec"].(object)
	if kind == "List" {
		items, _ := o["items"].([]any)
		var all []controlledPod
		for _, item := range items {
			if item, ok := item.(object); ok {
				all = append(all, podsOf(item)...)
			}
		}
		return all
	}
	if kind == "Pod" {
		return []controlledPod{{o, namespace}}
	}
	owner := object{"apiVersion": o["apiVersion"], "kind": kind, "name": name, "uid": "1", "controller": true}
	labels := object{}
	generateName := name + "-"
	switch kind {
	case "Deployment":
		owner["apiVersion"], owner["kind"], owner["name"] = "apps/v1", "ReplicaSet", name+"-fake"
		labels["pod-template-hash"] = "fake"
		generateName = name + "-fake-"
	case "CronJob":
		jobTemplate, _ := spec["jobTemplate"].(object)
		spec, _ = jobTemplate["spec"].(object)
		owner["kind"], owner["name"] = "Job", name+"-28000000"
		generateName = name + "-28000000-"
	case "DeploymentConfig":
		owner["apiVersion"], owner["kind"], owner["name"] = "v1", "ReplicationController", name+"-1"
		labels["deploymentconfig"] = name
	}
	template, ok := spec["template"].(object)
	if !ok {
		return nil
	}
	pod := copyTree(template).(object)
	pod["apiVersion"], pod["kind"] = "v1", "Pod"
	podMeta, _ := pod["metadata"].(object)
	if podMeta == nil {
		podMeta = object{}
		pod["metadata"] = podMeta
	}
	podMeta["generateName"] = generateName
	podMeta["ownerReferences"] = []any{owner}
	if old, ok := podMeta["labels"].(object); ok {
		for k, v := range labels {
			old[k] = v
		}
	} else if len(labels) > 0 {
		podMeta["labels"] = labels
	}
	return []controlledPod{{pod, namespace}}
}

func copyTree(v any) any {
	switch v := v.(type) {
	case object:
		c := make(object, len(v))
		for k, e := range v {
			c[k] = copyTree(e)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, e := range v {
			c[i] = copyTree(e)
		}
		return c
	}
	return v
}
