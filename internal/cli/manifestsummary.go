package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
	install "github.com/ingraft/ingraft/internal/manifest"
	"github.com/ingraft/ingraft/internal/source"
)

// manifestSummary is one run of manifest summary, or of manifest images.
type manifestSummary struct {
	installInput
	output string
	kinds  bool
}

func (a *app) manifestSummaryCommand() *cobra.Command {
	m := &manifestSummary{installInput: installInput{app: a}}
	c := &cobra.Command{
		Use:   "summary [FILE...]",
		Short: "Tell what a manifest, or an install, puts into a cluster",
		Long: `summary counts the objects of files (folders, patterns, - for standard input), or without any
those that manifest generate prints for the same flags, and tells what they mean:
CustomResourceDefinitions and their versions, what admission webhooks are asked
about, who gets which rights, what runs and what it requests, ports and images.`,
		Example: `  # What does an install of the demo profile put into a cluster?
  ` + a.name + ` manifest summary --set profile=demo

  # ... and what does a file, or what Helm prints?
  ` + a.name + ` manifest summary istio.yaml
  helm template istiod istio/istiod | ` + a.name + ` manifest summary -

  # Count kinds
  ` + a.name + ` manifest summary --kinds`,
		RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains([]string{"table", "json", "yaml"}, m.output) {
				return usagef("--output %q is not table, json or yaml", m.output)
			}
			if m.kinds && c.Flags().Changed("output") {
				return usagef("--kinds prints lines of its own: leave --output out")
			}
			objects, err := m.objects(c, args)
			if err != nil {
				return err
			}
			return m.print(install.Summarise(objects))
		},
	}
	m.register(c)
	c.Flags().StringVarP(&m.output, "output", "o", "table", "table, json or yaml")
	c.Flags().BoolVar(&m.kinds, "kinds", false, "print one line a kind: how many objects, and its name")
	return c
}

func (a *app) manifestImagesCommand() *cobra.Command {
	m := &manifestSummary{installInput: installInput{app: a}}
	c := &cobra.Command{
		Use:   "images [FILE...]",
		Short: "List the images that an install, and injection after it, will pull",
		Long: `images lists the container images of files (folders, patterns, - for standard input), or
without any those of what manifest generate prints for the same flags: the images that
the objects name, and those that the webhook will give to pods, by the injection
configuration among the objects. They are what a registry without a way to the
internet has to hold.`,
		Example: `  # Copy them into a registry of one's own
  ` + a.name + ` manifest images --set profile=ambient | while read image; do
    crane copy "$image" "registry.example/istio/${image##*/}"
  done

  # Who uses which
  ` + a.name + ` manifest images -o json`,
		RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains([]string{"text", "json", "yaml"}, m.output) {
				return usagef("--output %q is not text, json or yaml", m.output)
			}
			objects, err := m.objects(c, args)
			if err != nil {
				return err
			}
			return m.printImages(withInjected(install.Images(objects), objects))
		},
	}
	m.register(c)
	c.Flags().StringVarP(&m.output, "output", "o", "text", "text, json or yaml; text has one image a line")
	return c
}

// objects returns the objects of files, or those of the install that the flags
// describe.
func (m *manifestSummary) objects(c *cobra.Command, files []string) ([]*source.Node, error) {
	if len(files) == 0 {
		return m.install(c)
	}
	for _, name := range [...]string{"filename", "set", "revision", "manifests", "charts", "force"} {
		if c.Flags().Changed(name) {
			return nil, usagef("--%s is about an install, but %s names objects", name, files[0]).hinted("Leave the one or the other out.")
		}
	}
	return m.read(c.Context(), files)
}

// install returns the objects of the install that the flags describe.
func (m *manifestSummary) install(c *cobra.Command) ([]*source.Node, error) {
	input, found, err := m.input(c)
	if err != nil {
		return nil, err
	}
	return m.made(input, found)
}

func (m *manifestSummary) made(input *install.Input, found diag.List) ([]*source.Node, error) {
	made, err := m.generate(input, found)
	if err != nil {
		return nil, err
	}
	roots := make([]*source.Node, len(made))
	for i, o := range made {
		roots[i] = o.Root
	}
	return roots, nil
}

// read reads objects. What is wrong in any file is told, and ends it.
func (m *manifestSummary) read(ctx context.Context, files []string) ([]*source.Node, error) {
	inputs, err := m.inputs(files)
	if err != nil {
		return nil, err
	}
	defer inputs.close()
	if err := inputs.keepAll(ctx); err != nil {
		return nil, err
	}
	var roots []*source.Node
	var found diag.List
	for _, in := range inputs.list {
		err := inputs.documents(in, func(doc *source.Document, err error) bool {
			switch {
			case err != nil:
				found = append(found, syntaxFinding(err))
			case doc.Root != nil:
				for o := range kube.Objects(doc.Root) {
					if d := notAnObject(o); d != nil {
						found = append(found, d)
						continue
					}
					if o.Ref.Kind == "IstioOperator" {
						found = append(found, &diag.Diagnostic{
							Code: config.CodeType, Severity: diag.Error, Span: o.Node.Get("kind").Span(),
							Message: "an IstioOperator describes an install, and is no object of one", Fix: "give it with -f",
						})
						continue
					}
					roots = append(roots, o.Node)
				}
			}
			return ctx.Err() == nil
		})
		if err != nil {
			return nil, err
		}
	}
	if err := m.tell(diag.Sorted(found), "text"); err != nil {
		return nil, err
	}
	return roots, ctx.Err()
}

func (m *manifestSummary) print(s *install.Summary) error {
	var b bytes.Buffer
	var err error
	switch {
	case m.kinds:
		err = s.WriteKinds(&b)
	case m.output == "table":
		err = s.WriteText(&b)
	default:
		err = writeData(&b, s, m.output)
	}
	if err != nil {
		return err
	}
	_, err = m.Stdout.Write(b.Bytes())
	return wroteStdout(err)
}

func (m *manifestSummary) printImages(images []install.Image) error {
	var b bytes.Buffer
	if m.output == "text" {
		for _, i := range images {
			fmt.Fprintln(&b, i.Image)
		}
	} else if err := writeData(&b, images, m.output); err != nil {
		return err
	}
	_, err := m.Stdout.Write(b.Bytes())
	return wroteStdout(err)
}

// writeData writes a value as json or yaml.
func writeData(w io.Writer, v any, format string) error {
	js, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	js = append(js, '\n')
	if format == "yaml" {
		doc, err := source.Parse(source.NewText("", js))
		if err != nil {
			return err
		}
		js = source.AppendYAML(nil, doc.Root)
	}
	_, err = w.Write(js)
	return err
}

// plainPod is a pod that injection has nothing to say about.
const plainPod = `{"metadata":{"name":"app","namespace":"default"},"spec":{"containers":[{"name":"app","image":"auto-app"}]}}`

// withInjected adds the images that injection gives to pods, by each
// configuration of it among the objects.
func withInjected(images []install.Image, objects []*source.Node) []install.Image {
	for _, o := range objects {
		data := o.Get("data")
		if o.Get("kind").Str() != "ConfigMap" || data.Get("config").Str() == "" || data.Get("values").Str() == "" {
			continue
		}
		name := o.Get("metadata", "name").Scalar()
		for _, image := range injectedImages(data, meshFor(o, objects)) {
			user := "pods that are injected by ConfigMap " + o.Get("metadata", "namespace").Str() + "/" + name
			i := slices.IndexFunc(images, func(known install.Image) bool { return known.Image == image })
			if i < 0 {
				i = len(images)
				images = append(images, install.Image{Image: image})
			}
			images[i].UsedBy = append(images[i].UsedBy, user)
		}
	}
	slices.SortFunc(images, func(a, b install.Image) int { return cmp.Compare(a.Image, b.Image) })
	return images
}

// meshFor returns the mesh configuration of the revision of an injection
// configuration; empty where it is not among the objects.
func meshFor(configMap *source.Node, objects []*source.Node) string {
	revision := configMap.Get("metadata", "labels", annot.Revision).Scalar()
	for _, o := range objects {
		if o.Get("kind").Str() == "ConfigMap" && o.Get("data", "mesh").Str() != "" &&
			o.Get("metadata", "namespace").Str() == configMap.Get("metadata", "namespace").Str() &&
			o.Get("metadata", "labels", annot.Revision).Scalar() == revision {
			return o.Get("data", "mesh").Str()
		}
	}
	return ""
}

// injectedImages returns the images that a configuration gives to a plain pod,
// native sidecars or not; none where it cannot be applied.
func injectedImages(data *source.Node, mesh string) []string {
	text := func(name, s string) *source.Text { return source.NewText(name, []byte(s)) }
	cfg, d1 := config.ParseInjection(text("config", data.Get("config").Str()))
	m, d2 := config.ParseMesh(text("mesh", mesh))
	values, d3 := config.ParseValues(text("values", data.Get("values").Str()))
	if cfg == nil || m == nil || values == nil || d1.HasErrors() || d2.HasErrors() || d3.HasErrors() {
		return nil
	}
	engine, _ := inject.Compile(cfg, m, values, inject.Options{})
	pod, err := source.Parse(text("pod", plainPod))
	if engine == nil || err != nil {
		return nil
	}
	var images []string
	for _, native := range [...]bool{false, true} {
		res := engine.Run(&inject.Request{
			Door: inject.CommandLine, Pod: pod.Root, Owner: engine.OwnerOf(inject.CommandLine, pod.Root), NamespaceName: "default", NativeSidecars: native,
		})
		for _, key := range [...]string{"initContainers", "containers"} {
			for _, c := range res.Pod.Get("spec", key).Items() {
				if c.Get("name").Scalar() != "app" {
					images = append(images, c.Get("image").Scalar())
				}
			}
		}
	}
	slices.Sort(images)
	return slices.Compact(images)
}
