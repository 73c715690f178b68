package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// objectPatch is what turns an object of the input into the injected one.
type objectPatch struct {
	ref kube.Ref
	// data is the patch: JSON for RFC 6902, else YAML.
	data []byte
}

// patches makes the patches of one document. form is json, strategic or
// kustomize.
func patches(form string, pods []replacement, workloads []workload) ([]objectPatch, diag.List) {
	var list []objectPatch
	var findings diag.List
	for i, w := range workloads {
		now := kube.Settle(w.Template, withoutRecord(pods[i].node), kube.TypePod)
		if form == "strategic" {
			if !w.IsKubernetes() {
				findings = append(findings, &diag.Diagnostic{
					Code: diag.CodeNoPatch, Severity: diag.Error, Span: firstByte(w.Template), Object: w.Ref.String(),
					Message: "Kubernetes merges patches strategically for its own kinds only, and " + w.Ref.Kind + " is none of them",
					Fix:     "write --patch json",
				})
				continue
			}
			if patch := kube.StrategicPatch(w.Template, now, kube.TypePod); patch != nil {
				list = append(list, objectPatch{w.Ref, source.AppendYAML(nil, identified(w.Workload, patch))})
			}
			continue
		}
		if form == "kustomize" && w.Ref.Name == "" {
			findings = append(findings, &diag.Diagnostic{
				Code: diag.CodeNoPatch, Severity: diag.Error, Span: firstByte(w.Template), Object: w.Ref.String(),
				Message: "kustomize finds objects by their names, and this one has none",
				Fix:     "give it a metadata.name, or write --patch json",
			})
			continue
		}
		if patch := inject.Patch(w.Template, now, w.Path); patch != nil {
			list = append(list, objectPatch{w.Ref, patch})
		}
	}
	return list, findings
}

// identified returns the patch of a pod template as one of its object, which
// says what object that is.
func identified(w kube.Workload, patch *source.Node) *source.Node {
	for i := len(w.Path) - 1; i >= 0; i-- {
		patch = source.NewMap(source.F(w.Path[i], patch))
	}
	set := func(value string, path ...string) {
		if value != "" {
			patch = patch.WithAt(source.NewString(value), path...)
		}
	}
	set(w.Ref.APIVersion, "apiVersion")
	set(w.Ref.Kind, "kind")
	set(w.Ref.Name, "metadata", "name")
	set(w.Ref.Namespace, "metadata", "namespace")
	return patch
}

// patchWriter writes patches one after the other: a YAML stream, or a single
// JSON array.
type patchWriter struct {
	to    io.Writer
	count int
	// first is the patch that is alone so far; several are named.
	first *objectPatch
}

func (w *patchWriter) add(_ *input, _ *source.Document, o *outcome) error {
	for i := range o.patches {
		w.count++
		if w.count == 1 {
			w.first = &o.patches[i]
			continue
		}
		if err := w.write(w.first, true); err != nil {
			return err
		}
		w.first = nil
		if err := w.write(&o.patches[i], true); err != nil {
			return err
		}
	}
	return nil
}

func (w *patchWriter) write(p *objectPatch, named bool) error {
	if p == nil {
		return nil
	}
	var b bytes.Buffer
	if named {
		fmt.Fprintf(&b, "--- # %s\n", p.ref)
	}
	writePatch(&b, p.data)
	_, err := w.to.Write(b.Bytes())
	return err
}

// end writes the patch that stayed alone, without a name, so that it is JSON
// and nothing else.
func (w *patchWriter) end() error { return w.write(w.first, false) }

// writePatch writes a patch that is JSON on several lines, and YAML as it is.
func writePatch(b *bytes.Buffer, data []byte) {
	if data[0] != '[' || json.Indent(b, data, "", "  ") != nil {
		b.Write(data)
		return
	}
	b.WriteByte('\n')
}

// kustomization is a folder with the inputs, as they are, and patches to inject
// into their objects.
type kustomization struct {
	app       *app
	folder    string
	resources *files
	patches   *spool
	list      []kustomizePatch
	names     map[string]bool
}

type kustomizePatch struct {
	ref      kube.Ref
	name     string
	from, to int64
}

func kustomizeResults(a *app, inputs *inputSet, folder string) (results, error) {
	stdin := false
	for _, in := range inputs.list {
		stdin = stdin || in.name == "-"
	}
	if stdin && len(inputs.list) > 1 {
		return nil, usagef("-o %s is a folder: what comes from standard input has no name for a file in it", folder)
	}
	k := &kustomization{app: a, folder: folder, patches: newSpool(), names: map[string]bool{}}
	if stdin {
		in := inputs.list[0]
		k.resources = &files{app: a, spool: newSpool(), all: true, target: map[*input]string{in: filepath.Join(folder, "resources", "stdin.yaml")}}
		return k, nil
	}
	var err error
	k.resources, err = folderResults(a, inputs, filepath.Join(folder, "resources"))
	return k, err
}

func (k *kustomization) add(in *input, doc *source.Document, o *outcome) error {
	if err := k.resources.add(in, doc, &outcome{data: withoutVersion(doc)}); err != nil {
		return err
	}
	for _, p := range o.patches {
		name := k.name(p.ref)
		from := k.patches.size
		var b bytes.Buffer
		writePatch(&b, p.data)
		if _, err := k.patches.Write(b.Bytes()); err != nil {
			return err
		}
		k.list = append(k.list, kustomizePatch{p.ref, name, from, k.patches.size})
	}
	return nil
}

// withoutVersion returns the text of a document without its line %YAML, which
// kustomize cannot read; nil where there is none.
func withoutVersion(doc *source.Document) []byte {
	data := doc.Text.Data
	if doc.Format == source.JSON || !bytes.Contains(data, []byte("%YAML")) {
		return nil
	}
	for at := 0; at < len(data); {
		line, rest := cutLine(data[at:])
		bare := bytes.TrimPrefix(line, bom)
		switch {
		case bytes.HasPrefix(bare, []byte("%YAML")):
			return append(append([]byte{}, data[:at]...), rest...)
		case len(bytes.TrimSpace(bare)) > 0 && bare[0] != '#' && bare[0] != '%' && !bytes.HasPrefix(bare, []byte("...")):
			return nil
		}
		at += len(line)
	}
	return nil
}

// name returns a name for the file of an object's patch.
func (k *kustomization) name(ref kube.Ref) string {
	base := strings.ToLower(ref.Kind) + "-" + ref.Name
	if ref.Namespace != "" {
		base = strings.ToLower(ref.Kind) + "-" + ref.Namespace + "-" + ref.Name
	}
	base = strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r < ' ' {
			return '-'
		}
		return r
	}, base)
	name := base
	for i := 2; k.names[name]; i++ {
		name = base + "-" + strconv.Itoa(i)
	}
	k.names[name] = true
	return "patches/" + name + ".json"
}

func (k *kustomization) finish(ctx context.Context) error {
	if err := k.resources.finish(ctx); err != nil {
		return err
	}
	for _, p := range k.list {
		if err := k.write(ctx, p.name, k.patches.section(p.from, p.to)); err != nil {
			return err
		}
	}
	return k.write(ctx, "kustomization.yaml", bytes.NewReader(k.text()))
}

func (k *kustomization) write(ctx context.Context, name string, from io.Reader) error {
	name = filepath.Join(k.folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(k.app.path(name)), 0o777); err != nil {
		return fmt.Errorf("creating folder %s: %w", filepath.Dir(name), because(err))
	}
	target, err := k.app.openTarget(name)
	if err != nil {
		return err
	}
	return target.write(ctx, from)
}

// text returns the kustomization.
func (k *kustomization) text() []byte {
	str := source.NewString
	var resources, list []*source.Node
	for _, part := range k.resources.parts {
		rel, err := filepath.Rel(k.folder, k.resources.target[part.in])
		if err == nil {
			resources = append(resources, str(filepath.ToSlash(rel)))
		}
	}
	for _, p := range k.list {
		group := kube.Group(p.ref.APIVersion)
		target := []source.Field{source.F("version", str(path.Base(p.ref.APIVersion))), source.F("kind", str(p.ref.Kind))}
		if group != "" {
			target = append([]source.Field{source.F("group", str(group))}, target...)
		}
		// Names are patterns there.
		target = append(target, source.F("name", str(regexp.QuoteMeta(p.ref.Name))))
		// Without a namespace a target is in any; kustomize calls that of objects
		// which state none default.
		namespace := p.ref.Namespace
		if namespace == "" {
			namespace = "default"
		}
		target = append(target, source.F("namespace", str(regexp.QuoteMeta(namespace))))
		list = append(list, source.NewMap(source.F("path", str(p.name)), source.F("target", source.NewMap(target...))))
	}
	root := source.NewMap(
		source.F("apiVersion", str("kustomize.config.k8s.io/v1beta1")), source.F("kind", str("Kustomization")),
		source.F("resources", source.NewList(resources...)),
	)
	if len(list) > 0 {
		root = root.With("patches", source.NewList(list...))
	}
	return source.AppendYAML(nil, root)
}

// lost does nothing: kustomize cannot read all that is refused.
func (k *kustomization) lost(*input, []byte) error { return nil }

func (k *kustomization) empty() bool { return k.resources.empty() }

func (k *kustomization) close() {
	k.resources.close()
	k.patches.close()
}
