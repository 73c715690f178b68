package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/ingraft/ingraft/internal/chart"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

func itoa(i int) string { return strconv.Itoa(i) }

// Object is an object of an install.
type Object struct {
	kube.Ref
	// Component is the component that it belongs to: base, pilot,
	// ingress-gateway, ...
	Component string
	// Root is the object itself.
	Root *source.Node

	// text spells made, as AppendYAML does but for the last line break; it
	// saves writing Root where that is still the same.
	text string
	made *source.Node
}

// rendering is what rendering needs besides the component.
type rendering struct {
	charts       fs.FS
	capabilities chart.Capabilities
}

// rendered is what became of one instance.
type rendered struct {
	objects []Object
	found   diag.List
	err     error
}

// renderAll renders all instances, at the same time, and patches what comes
// out.
func (r *rendering) renderAll(root *source.Node, list []instance) ([]Object, diag.List, error) {
	results := make([]rendered, len(list))
	var wait sync.WaitGroup
	for i := range list {
		wait.Go(func() { results[i] = r.render(root, &list[i]) })
	}
	wait.Wait()
	var objects []Object
	var found diag.List
	for i := range results {
		if results[i].err != nil {
			return nil, nil, results[i].err
		}
		objects = append(objects, results[i].objects...)
		found = append(found, results[i].found...)
	}
	return objects, found, nil
}

func (r *rendering) render(root *source.Node, in *instance) (out rendered) {
	c, err := chart.Load(r.charts, in.chart)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("component %s: there is no %s among the charts", in.component.name, in.chart)
	}
	if err != nil {
		out.err = err
		return out
	}
	nodes := in.valuesOf(root)
	values, _ := nodes.Any().(map[string]any)
	text, err := c.Render(values, chart.Options{
		Release:      chart.Release{Name: "istio", Namespace: in.namespace},
		Capabilities: r.capabilities,
	})
	if err != nil {
		return refused(in, err)
	}
	files := append(text.Files, c.CRDs()...)
	withoutCRDs := in.key == "base" && isFalse(nodes.Get("base", "enableIstioConfigCRDs"))
	for _, f := range files {
		if strings.HasSuffix(f.Name, ".txt") {
			continue
		}
		objects, err := split(f, in.component.name, text.Made)
		if err != nil {
			out.err = err
			return out
		}
		for _, o := range objects {
			if withoutCRDs && o.Kind == kindCRD {
				continue
			}
			out.objects = append(out.objects, o)
		}
	}
	out.found = warned(in, text)
	p := patcher{in: in, revision: nodes.Get("revision").Str(), objects: out.objects}
	if in.flat {
		p.revision = ""
	}
	p.settings()
	p.overlays()
	out.found = append(out.found, p.found...)
	out.objects = p.objects
	return out
}

func isFalse(n *source.Node) bool { return n.Kind() == source.Bool && !n.IsTrue() }

// refused is what became of an instance whose chart cannot be rendered.
func refused(in *instance, err error) (out rendered) {
	var failed *chart.Error
	if !errors.As(err, &failed) {
		out.err = fmt.Errorf("component %s: %w", in.component.name, err)
		return out
	}
	d := finding(diag.Error, CodeChart, source.Span{}, "the chart of component %s refuses its values: %s", in.component.name, failed.Message)
	d.File = failed.Template
	if !failed.Chart {
		d.Message = fmt.Sprintf("the chart of component %s cannot be rendered with these values: %s", in.component.name, failed.Message)
		d.File = fmt.Sprintf("%s:%d:%d", failed.Template, failed.Line, failed.Col+1)
	}
	out.found = diag.List{d}
	return out
}

// warned returns what a chart warns of in its notes.
func warned(in *instance, out *chart.Output) (found diag.List) {
	for _, f := range out.Notes {
		for line := range strings.SplitSeq(f.Text, "\n") {
			if message, ok := strings.CutPrefix(line, "WARNING: "); ok {
				d := finding(diag.Warning, CodeChart, source.Span{}, "the chart of component %s warns: %s", in.component.name, strings.TrimSpace(message))
				d.File = f.Name
				found = append(found, d)
			}
		}
	}
	return found
}

const kindCRD = "CustomResourceDefinition"

// split reads the objects of a rendered file. made holds texts that need no
// reading.
func split(f chart.File, component string, made map[string]*source.Node) ([]Object, error) {
	var objects []Object
	for part := range documents(f.Text) {
		if text := withoutComments(part); made[text] != nil {
			if ref := kube.RefOf(made[text]); ref.Kind != "" {
				objects = append(objects, Object{Ref: ref, Component: component, Root: made[text], text: text, made: made[text]})
				continue
			}
		}
		doc, err := source.Parse(source.NewText(f.Name, []byte(strings.TrimSpace(part))))
		if err != nil {
			return nil, fmt.Errorf("reading what chart %s renders to: %w", path.Dir(path.Dir(f.Name)), err)
		}
		if doc.Root.Kind() != source.Map {
			continue
		}
		ref := kube.RefOf(doc.Root)
		if ref.Kind == "" {
			return nil, fmt.Errorf("reading what chart %s renders to: an object without kind in %s", path.Dir(path.Dir(f.Name)), f.Name)
		}
		objects = append(objects, Object{Ref: ref, Component: component, Root: doc.Root})
	}
	return objects, nil
}

// withoutComments returns a document without the comments and empty lines at
// its beginning, and without the white space at its end.
func withoutComments(text string) string {
	for {
		line, rest, more := strings.Cut(text, "\n")
		if line = strings.TrimSpace(line); !more || line != "" && line[0] != '#' {
			return strings.TrimSpace(text)
		}
		text = rest
	}
}

// documents yields the documents of a rendered file: a line that begins with
// three dashes ends one, whatever follows on it.
func documents(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		start := 0
		for at := 0; at < len(text); {
			end := len(text)
			if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
				end = at + i + 1
			}
			if strings.HasPrefix(text[at:], "---") {
				if !yield(text[start:at]) {
					return
				}
				start = end
			}
			at = end
		}
		if start < len(text) {
			yield(text[start:])
		}
	}
}
