package injection

import (
	"errors"
	"fmt"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"

	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// ingraft is our side, made ready for one setting in one world.
type ingraft struct {
	engine     *inject.Engine
	setting    *setting
	world      world
	namespaces map[string]*source.Node
}

// newIngraft compiles a setting. An error means that ingraft refuses it.
func newIngraft(s *setting, w world) (*ingraft, error) {
	cfg, findings := config.ParseInjection(source.NewText("config.yaml", []byte(s.config)))
	if findings.HasErrors() {
		return nil, firstError(findings)
	}
	mesh, findings := config.ParseMesh(source.NewText("mesh.yaml", []byte(s.mesh)))
	if findings.HasErrors() {
		return nil, firstError(findings)
	}
	values, findings := config.ParseValues(source.NewText("values.json", []byte(s.values)))
	if findings.HasErrors() {
		return nil, firstError(findings)
	}
	engine, findings := inject.Compile(cfg, mesh, values, inject.Options{Eager: true})
	if findings.HasErrors() {
		return nil, firstError(findings)
	}
	i := &ingraft{engine: engine, setting: s, world: w, namespaces: map[string]*source.Node{}}
	if w.OpenShift {
		for _, ns := range openShiftNamespaces() {
			n, err := source.Value(ns)
			if err != nil {
				return nil, err
			}
			i.namespaces[ns.Name] = n
		}
	}
	return i, nil
}

func firstError(findings diag.List) error {
	for _, d := range findings {
		if d.Severity == diag.Error {
			return d
		}
	}
	return errors.New("no error among the findings")
}

// kubeInject injects an object as ingraft's kube-inject does.
func (i *ingraft) kubeInject(object []byte) outcome {
	return guard(func() outcome {
		doc, err := source.Parse(source.NewText("in.json", object))
		if err != nil {
			return refuse(err)
		}
		root, injected, skipped := doc.Root, false, []string{}
		for o := range kube.Objects(doc.Root) {
			w, ok := o.Workload(nil)
			if !ok {
				continue
			}
			if d := w.Missing(); d != nil {
				return refuse(d)
			}
			owner := w.Ref
			if len(w.Path) == 0 {
				owner = kube.OwnerOf(w.Template)
			}
			res := i.engine.Run(&inject.Request{
				Door: inject.CommandLine, Pod: w.Template, Owner: owner, NamespaceName: w.Ref.Namespace,
				NativeSidecars: i.world.Native, Revision: i.setting.revision, Getenv: i.world.getenv,
			})
			if res.Diagnostics.HasErrors() {
				return refuse(firstError(res.Diagnostics))
			}
			if res.Decision.Verdict == inject.Skip {
				skipped = append(skipped, res.Decision.Message)
				continue
			}
			injected = true
			root = kube.Put(root, append(o.Path[:len(o.Path):len(o.Path)], w.Path...), res.Pod)
		}
		out := outcome{injected: injected && len(skipped) == 0, message: strings.Join(skipped, "; ")}
		out.object = decodeObject(source.AppendJSON(nil, root))
		return out
	})
}

// admit injects a pod as ingraft's webhook does: the engine's patch is applied
// to the bytes that came in.
func (i *ingraft) admit(pod []byte, namespace, path string) outcome {
	return guard(func() outcome {
		doc, err := source.Parse(source.NewText("pod.json", pod))
		if err != nil {
			return refuse(err)
		}
		owner := kube.OwnerOf(doc.Root)
		if owner.Namespace == "" {
			owner.Namespace = namespace
		}
		lives := doc.Root.Get("metadata", "namespace").Str()
		if lives == "" {
			lives = namespace
		}
		res := i.engine.Run(&inject.Request{
			Door: inject.Admission, Pod: doc.Root, Owner: owner, NamespaceName: namespace, Namespace: i.namespaces[lives],
			NativeSidecars: i.world.Native, Revision: i.setting.revision, Getenv: i.world.getenv, ProxyEnv: proxyEnv(path),
		})
		if res.Diagnostics.HasErrors() {
			return refuse(firstError(res.Diagnostics))
		}
		if res.Decision.Verdict == inject.Skip {
			return outcome{object: decodePod(pod), message: res.Decision.Message}
		}
		result := pod
		if text := res.JSONPatch(); text != nil {
			patch, err := jsonpatch.DecodePatch(text)
			if err != nil {
				return refuse(fmt.Errorf("the patch is none: %w", err))
			}
			if result, err = patch.Apply(pod); err != nil {
				return refuse(fmt.Errorf("the patch does not apply: %w", err))
			}
		}
		patched := decodePod(result)
		if d := compare(outcome{object: patched}, outcome{object: decodePod(source.AppendJSON(nil, res.Pod)).(*corev1.Pod)}); d.class != "" {
			return refuse(fmt.Errorf("the patched pod is not the result: %s", d.detail))
		}
		return outcome{object: patched, injected: true}
	})
}

// proxyEnv reads the variables in the path of a request, as the control plane
// spells them: /inject/key/value/key/value, a slash in a value as --slash--,
// or /inject/:ENV:key=value:ENV:key=value.
func proxyEnv(path string) map[string]string {
	rest, ok := strings.CutPrefix(strings.TrimSuffix(path, "/"), "/inject/")
	if !ok {
		return nil
	}
	env := map[string]string{}
	set := func(key, value string) {
		switch key {
		case "cluster":
			key = "ISTIO_META_CLUSTER_ID"
		case "net":
			key = "ISTIO_META_NETWORK"
		}
		if key = strings.ToUpper(key); key != "" {
			env[key] = value
		}
	}
	if strings.HasPrefix(rest, ":ENV:") {
		for pair := range strings.SplitSeq(rest[len(":ENV:"):], ":ENV:") {
			if key, value, ok := strings.Cut(pair, "="); ok && key != "" {
				set(key, value)
			}
		}
		return env
	}
	parts := strings.Split(rest, "/")
	for i := 0; i+1 < len(parts); i += 2 {
		set(parts[i], strings.ReplaceAll(parts[i+1], "--slash--", "/"))
	}
	return env
}
