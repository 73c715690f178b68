package cli

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/cluster"
)

// clusterConfig says which cluster the flags and the environment name.
func (a *app) clusterConfig() cluster.Config {
	g := &a.globals
	return cluster.Config{
		Kubeconfig: g.kubeconfig, Context: g.context,
		As: g.as, AsUID: g.asUID, AsGroups: g.asGroups,
		Timeout: g.clientTimeout, Verbosity: g.logging.verbosity,
		Getenv: a.getenv,
		Dir:    a.Dir,
	}
}

// tellCluster turns an error of the cluster into one with its mend.
func tellCluster(err error) error {
	var e *cluster.Error
	if errors.As(err, &e) {
		return &hintedError{err, e.Fix}
	}
	return err
}

// fromCluster fills the pieces that are missing from the ConfigMaps of the
// cluster, if one is configured; asked tells that it is. The source of nodes
// is nil where nobody has to know them, or nobody may.
func (k *kubeInject) fromCluster(ctx context.Context, p *pieces) (nodes nodeSource, asked bool, err error) {
	client, err := cluster.Connect(k.kubeconfigOnly())
	if errors.Is(err, cluster.ErrNotConfigured) {
		return nil, false, nil
	}
	if err != nil {
		return nil, true, tellCluster(err)
	}
	ctx, cancel := client.Bounded(ctx)
	defer cancel()
	if err := k.readConfigMaps(ctx, client, p); err != nil {
		return nil, true, tellCluster(err)
	}
	nodes, err = k.readNodes(ctx, client)
	return nodes, true, tellCluster(err)
}

// kubeconfigOnly says which cluster the flags and the environment name, leaving
// out the one of the pod that the process may run in: a job that happens to run
// in a pod of some cluster has not configured one.
func (k *kubeInject) kubeconfigOnly() cluster.Config {
	c := k.clusterConfig()
	c.Getenv = func(name string) string {
		if name == "KUBERNETES_SERVICE_HOST" {
			return ""
		}
		return k.getenv(name)
	}
	return c
}

// checkClusterFlags refuses a --kubeconfig or --context that does not exist
// also where no cluster is asked.
func (k *kubeInject) checkClusterFlags() error {
	if k.globals.kubeconfig == "" && k.globals.context == "" {
		return nil
	}
	return tellCluster(cluster.CheckNames(k.kubeconfigOnly()))
}

// warnOfMaps tells of names of ConfigMaps that nothing was read from.
func (k *kubeInject) warnOfMaps(p *pieces) {
	why := func(what string, list ...piece) string {
		for _, piece := range list {
			switch piece.kind {
			case fromCluster:
				return ""
			case fromBuiltin:
				return "no cluster is configured"
			}
		}
		return what + " from a file"
	}
	if reason := why("template and values come", p.template, p.values); reason != "" && k.injectMapGiven {
		k.warn("--injectConfigMapName has no effect: %s", reason)
	}
	if reason := why("the mesh config comes", p.mesh); reason != "" && k.meshMapGiven {
		k.warn("--meshConfigMapName has no effect: %s", reason)
	}
}

// readConfigMaps fills the pieces that are missing.
func (k *kubeInject) readConfigMaps(ctx context.Context, client *cluster.Client, p *pieces) error {
	if !k.revisionGiven {
		revision, err := k.defaultRevision(ctx, client)
		if err != nil {
			return err
		}
		k.revision = revision
	}
	injector, mesh := k.injectConfigMap, k.meshConfigMap
	if k.revision != "" && injector == cluster.InjectorConfigMap {
		injector += "-" + k.revision
	}
	if k.revision != "" && mesh == cluster.MeshConfigMap {
		mesh += "-" + k.revision
	}
	for _, m := range []struct {
		name string
		keys []wanted
	}{
		{injector, []wanted{{"config", &p.template}, {"values", &p.values}}},
		{mesh, []wanted{{"mesh", &p.mesh}}},
	} {
		if err := k.readConfigMap(ctx, client, m.name, m.keys); err != nil {
			return err
		}
	}
	return nil
}

// wanted is a key of a ConfigMap, and the piece that it holds.
type wanted struct {
	key string
	to  *piece
}

func (k *kubeInject) readConfigMap(ctx context.Context, client *cluster.Client, name string, keys []wanted) error {
	namespace := k.globals.istioNamespace
	var configMap *cluster.ConfigMap
	for _, w := range keys {
		if w.to.text != nil {
			continue
		}
		if configMap == nil {
			var err error
			if configMap, err = client.ConfigMap(ctx, namespace, name); err != nil {
				return err
			}
		}
		text, err := configMap.Text(w.key)
		if err != nil {
			return err
		}
		*w.to = piece{text, fmt.Sprintf("ConfigMap %s/%s", namespace, name), fromCluster}
	}
	return nil
}

var webhooks = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"}

// defaultRevision returns the revision that the tag "default" of the control
// plane's namespace stands for, as istioctl does; "" where there is no such tag,
// or it may not be read.
func (k *kubeInject) defaultRevision(ctx context.Context, client *cluster.Client) (string, error) {
	name := "istio-revision-tag-default"
	if ns := k.globals.istioNamespace; ns != defaultIstioNamespace {
		name += "-" + ns
	}
	tag, err := client.Get(ctx, webhooks, "", name)
	if cluster.IsKind(err, cluster.NotFound) || cluster.IsKind(err, cluster.Forbidden) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if revision := tag.Get("metadata", "labels", annot.Revision).Str(); revision != "default" {
		return revision, nil
	}
	return "", nil
}

// readNodes returns the nodes of the cluster where they decide about native
// sidecars.
func (k *kubeInject) readNodes(ctx context.Context, client *cluster.Client) (nodeSource, error) {
	if _, decided := k.nativeWithoutNodes(); decided {
		return nil, nil
	}
	nodes, err := client.Nodes(ctx)
	if cluster.IsKind(err, cluster.Forbidden) {
		k.warn("whether the cluster runs native sidecars is not known, so none are made: %v; decide with --native-sidecars", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return nodes, nil
}
