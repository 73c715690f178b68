package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ingraft/ingraft/internal/chart"
	"github.com/ingraft/ingraft/internal/cluster"
	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	install "github.com/ingraft/ingraft/internal/manifest"
)

// installInput are the flags that say what is installed.
type installInput struct {
	*app
	files     []string
	settings  []string
	revision  string
	manifests string
	force     bool
}

func (in *installInput) register(c *cobra.Command) {
	f := c.Flags()
	f.StringSliceVarP(&in.files, "filename", "f", nil, "IstioOperator files, laid over each other (repeatable, or with commas); - is standard input, and comes last")
	f.StringArrayVarP(&in.settings, "set", "s", nil, "PATH=VALUE below spec of the IstioOperator (repeatable)")
	f.StringVarP(&in.revision, "revision", "r", "", "revision of the control plane; empty or default for none")
	f.StringVarP(&in.manifests, "manifests", "d", "", "folder or release archive (.tgz) with charts and profiles; empty for those of the release that is built in")
	f.StringVar(&in.manifests, "charts", "", "former name of --manifests")
	f.BoolVar(&in.force, "force", false, "print also what is refused: what is wrong becomes a warning")
	_ = f.MarkHidden("charts")
}

// manifestGenerate is one run of manifest generate.
type manifestGenerate struct {
	installInput
	output          string
	kubeVersion     string
	only, without   []string
	namespaceObject bool
	clusterSpecific bool
	filter          []string
}

func (a *app) manifestGenerateCommand() *cobra.Command {
	g := &manifestGenerate{installInput: installInput{app: a}}
	c := &cobra.Command{
		Use:   "generate",
		Short: "Print the objects of a mesh install",
		Long: `generate prints the objects that an install of the mesh puts into a cluster, in the order
in which they are to be applied; the same input gives the same bytes. What is
wrong in the input is told at its place, and then nothing is printed.`,
		Example: `  # An install of the default profile, and its namespace
  ` + a.name + ` manifest generate --namespace-object | kubectl apply -f -

  # Another profile, with settings of one's own
  ` + a.name + ` manifest generate --set profile=ambient -f iop.yaml --set values.global.logging.level=default:debug

  # A dot within a key has a backslash before it
  ` + a.name + ` manifest generate --set 'values.pilot.podAnnotations.example\.com/team=mesh'

  # The CustomResourceDefinitions first, then all else
  ` + a.name + ` manifest generate --only crds -o crds.yaml
  ` + a.name + ` manifest generate --without crds -o istio.yaml

  # The charts of another release
  ` + a.name + ` manifest generate --manifests istio-1.30.0/manifests`,
		Args: noManifestArguments,
		RunE: func(c *cobra.Command, _ []string) error { return g.run(c) },
	}
	g.register(c)
	f := c.Flags()
	f.StringVarP(&g.output, "output", "o", "", "file to write to; empty for standard output")
	f.StringVar(&g.kubeVersion, "kube-version", "", "version of Kubernetes to render for, as in 1.33; empty for the oldest that the release supports")
	f.BoolVar(&g.namespaceObject, "namespace-object", false, "print also the Namespaces that the objects are in")
	f.StringSliceVar(&g.only, "only", nil, "print nothing but these (repeatable, or with commas): crds, a kind, or a component: "+strings.Join(install.ComponentNames(), ", "))
	f.StringSliceVar(&g.without, "without", nil, "leave these out: what --only takes")
	f.BoolVar(&g.clusterSpecific, "cluster-specific", false, "render for the cluster of the kubeconfig: its version, and what GKE needs")
	f.StringSliceVar(&g.filter, "filter", nil, "has no effect")
	_ = f.MarkHidden("filter")
	return c
}

// noManifestArguments is noArguments with the exit code of istioctl.
func noManifestArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &hintedError{fmt.Errorf("unexpected argument %q", args[0]), fmt.Sprintf("Run '%s --help' for what it takes.", c.CommandPath())}
	}
	return nil
}

func (g *manifestGenerate) run(c *cobra.Command) error {
	if g.kubeVersion != "" {
		if _, err := chart.ParseKubeVersion(g.kubeVersion); err != nil {
			return usagef("--kube-version %q is no version of Kubernetes", g.kubeVersion).hinted("Write for example 1.33 or v1.33.4.")
		}
	}
	out, err := g.openTarget(g.output)
	if err != nil {
		return err
	}
	in, found, err := g.input(c)
	if err != nil {
		return err
	}
	in.KubeVersion = g.kubeVersion
	if g.clusterSpecific {
		if err := g.detect(c.Context(), in); err != nil {
			return err
		}
	}
	if len(g.filter) > 0 {
		found = append(found, &diag.Diagnostic{
			Code: config.CodeNoEffect, Severity: diag.Warning, File: "--filter", Message: "the flag has no effect, as in istioctl",
			Fix: "write --only " + strings.Join(g.filter, ","),
		})
	}
	objects, err := g.generate(in, found)
	if err != nil {
		return err
	}
	if objects, err = g.selected(objects); err != nil {
		return err
	}
	return out.write(c.Context(), bytes.NewReader(install.Append(nil, objects)))
}

// generate makes the objects, and tells what was found.
func (in *installInput) generate(input *install.Input, found diag.List) ([]install.Object, error) {
	res, more, err := install.Generate(*input)
	if told := in.tell(diag.Sorted(append(found, more...)), "text"); told != nil && err == nil {
		err = told
	}
	if err != nil {
		return nil, err
	}
	return res.Objects, nil
}

// input puts together what the flags name. The findings are about flags.
func (in *installInput) input(c *cobra.Command) (*install.Input, diag.List, error) {
	input := &install.Input{Force: in.force, OpenCharts: in.openCharts}
	var found diag.List
	for i, name := range in.files {
		name = strings.TrimSpace(name)
		if name == "-" {
			if i != len(in.files)-1 {
				return nil, nil, usagef("-f - comes last: what is read from standard input lies over the files")
			}
			input.Files = append(input.Files, install.File{Name: "-", In: in.Stdin})
			continue
		}
		data, err := os.ReadFile(in.path(name))
		if err != nil {
			return nil, nil, fmt.Errorf("reading %s: %w", name, because(err))
		}
		input.Files = append(input.Files, install.File{Name: name, In: bytes.NewReader(data)})
	}
	if c.Flags().Changed("istioNamespace") {
		input.Settings = append(input.Settings, install.Setting{
			Flag: "--istioNamespace", Path: "values.global.istioNamespace", Value: in.globals.istioNamespace, Word: in.globals.istioNamespace,
		})
	}
	if c.Flags().Changed("namespace") {
		found = append(found, &diag.Diagnostic{
			Code: config.CodeNoEffect, Severity: diag.Warning, File: "--namespace " + in.globals.namespace,
			Message: "the flag has no effect: the objects of an install say where they go", Fix: "write --istioNamespace " + in.globals.namespace,
		})
	}
	for _, text := range in.settings {
		s, bad := install.ParseSetting(text)
		if bad != nil {
			found = append(found, bad)
			continue
		}
		input.Settings = append(input.Settings, s)
	}
	if in.revision != "" && in.revision != "default" {
		input.Settings = append(input.Settings, install.Setting{Flag: "--revision", Path: "revision", Value: in.revision, Word: in.revision})
	}
	if in.manifests != "" {
		charts, err := in.openCharts(in.manifests)
		if err != nil {
			return nil, nil, fmt.Errorf("reading --manifests %s: %w", in.manifests, err)
		}
		input.Charts = charts
	}
	return input, found, nil
}

// openCharts opens a folder with charts and profiles, or that of a release, of
// which they are in the folder manifests.
func (in *installInput) openCharts(name string) (fs.FS, error) {
	info, err := os.Stat(in.path(name))
	if err != nil {
		return nil, because(err)
	}
	var files fs.FS
	if info.IsDir() {
		files = os.DirFS(in.path(name))
	} else {
		data, err := os.ReadFile(in.path(name))
		if err != nil {
			return nil, because(err)
		}
		if files, err = unpack(data); err != nil {
			return nil, err
		}
	}
	return chartsIn(files)
}

// chartsIn finds the folder that holds charts and profiles.
func chartsIn(files fs.FS) (fs.FS, error) {
	for _, pattern := range []string{".", "manifests", "*", "*/manifests"} {
		found, _ := fs.Glob(files, pattern)
		for _, dir := range found {
			if isDir(files, dir+"/charts") && isDir(files, dir+"/profiles") {
				return fs.Sub(files, dir)
			}
		}
	}
	return nil, errors.New("it has no folders charts and profiles")
}

func isDir(files fs.FS, name string) bool {
	info, err := fs.Stat(files, strings.TrimPrefix(name, "./"))
	return err == nil && info.IsDir()
}

// detect asks the cluster what to render for.
func (g *manifestGenerate) detect(ctx context.Context, in *install.Input) error {
	client, err := cluster.Connect(g.clusterConfig())
	if err != nil {
		return tellCluster(err)
	}
	version, err := client.ServerVersion(ctx)
	if err != nil {
		return tellCluster(err)
	}
	if in.KubeVersion == "" {
		in.KubeVersion = version.GitVersion
	}
	if strings.Contains(version.GitVersion, "-gke") && g.getenv("AUTO_GKE_DETECTION") != "false" {
		for _, s := range [][2]string{
			{"components.cni.namespace", "kube-system"},
			{"values.global.platform", "gke"},
			{"values.cni.resourceQuotas.enabled", "false"},
		} {
			in.Detected = append(in.Detected, install.Setting{Flag: "--cluster-specific", Path: s[0], Value: s[1]})
		}
	}
	return nil
}

// selected returns the objects that --only and --without leave, and the
// Namespaces that are asked for.
func (g *manifestGenerate) selected(objects []install.Object) ([]install.Object, error) {
	if g.namespaceObject {
		objects = install.WithNamespaces(objects)
	}
	for _, f := range []struct {
		flag  string
		words []string
		keep  bool
	}{{"--only", g.only, true}, {"--without", g.without, false}} {
		if len(f.words) == 0 {
			continue
		}
		match, unknown, near := install.Select(objects, f.words)
		if unknown != "" {
			err := usagef("%s %s: that is no component, and no kind of this install", f.flag, unknown)
			if near != "" {
				return nil, err.hinted("Did you mean %s?", near)
			}
			return nil, err.hinted("There is %s.", strings.Join(install.Parts(objects), ", "))
		}
		objects = slices.DeleteFunc(slices.Clone(objects), func(o install.Object) bool { return match(o) != f.keep })
	}
	return objects, nil
}
