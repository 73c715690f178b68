package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ingraft/ingraft/internal/cluster"
	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
)

func (a *app) injectorCommand() *cobra.Command {
	injector := &cobra.Command{
		Use:   "injector",
		Short: "Serve the injection webhook, and look at its configuration",
		Example: `  # What is the injector of the cluster configured with?
  ` + a.name + ` injector config show`,
		RunE: needsSubcommand,
	}
	c := &cobra.Command{
		Use:   "config",
		Short: "Show, judge and compare injection configurations of any release",
		Example: `  # What would another configuration change?
  ` + a.name + ` injector config diff old/ new/ -f workloads/`,
		RunE: needsSubcommand,
	}
	c.AddCommand(a.configShowCommand(), a.configLintCommand(), a.configDiffCommand())
	injector.AddCommand(c, a.injectorServeCommand(), a.injectorManifestCommand(), a.injectorCheckCommand(), a.injectorListCommand("injector"), a.injectorMissedCommand())
	return injector
}

func needsSubcommand(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("unknown command %q for %q", args[0], c.CommandPath())
	}
	return c.Help()
}

// registerConfig adds the flags that say where the configuration is.
func (k *kubeInject) registerConfig(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&k.injectConfigFile, "injectConfigFile", "", "file with the injection configuration, or its ConfigMap")
	f.StringVar(&k.injectConfigMap, "injectConfigMapName", cluster.InjectorConfigMap, "ConfigMap with injection configuration (key config) and values (key values)")
	f.StringVar(&k.meshConfigFile, "meshConfigFile", "", "file with the mesh configuration")
	f.StringVar(&k.meshConfigMap, "meshConfigMapName", cluster.MeshConfigMap, "ConfigMap with the mesh configuration (key mesh)")
	f.StringVar(&k.valuesFile, "valuesFile", "", "file with the values of the install, JSON or YAML")
	f.StringVarP(&k.revision, "revision", "r", "", "revision of the control plane")
	f.StringVar(&k.generation, "generation", "", "release that the configuration is of, as in 1.9; empty to tell it from the configuration")
}

// loadConfig reads the configuration that the flags name. It has told what is
// wrong with it where the Set is nil.
func (k *kubeInject) loadConfig(ctx context.Context) (*config.Set, *pieces, error) {
	set, list, p, err := k.readConfig(ctx)
	if err == nil {
		err = k.tell(list, "text")
	}
	if err != nil {
		return nil, nil, err
	}
	return set, p, nil
}

// readConfig is loadConfig that tells nothing; the Set is nil where there are
// errors among the findings.
func (k *kubeInject) readConfig(ctx context.Context) (*config.Set, diag.List, *pieces, error) {
	if err := k.checkGeneration(); err != nil {
		return nil, nil, nil, err
	}
	k.format = "text"
	if k.revisionGiven = k.revision != ""; k.revision == "default" {
		k.revision = ""
	}
	var p *pieces
	var err error
	if k.injectConfigFile != "" {
		p, err = k.ownFiles(k.injectConfigFile, k.meshConfigFile, k.valuesFile)
	} else {
		p, _, err = k.collect(ctx)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	set, list := k.load(p)
	return set, list, p, nil
}

// ownFiles reads a configuration of which nothing comes from anywhere else:
// without values, those of the injector's ConfigMap where that is the file, or
// none; without a mesh configuration, the defaults of the release.
func (k *kubeInject) ownFiles(injection, mesh, values string) (*pieces, error) {
	p := &pieces{
		mesh:   piece{source.NewText("", nil), "the defaults of the release", fromBuiltin},
		values: piece{source.NewText("", nil), "nowhere", fromBuiltin},
	}
	for _, f := range []struct {
		name string
		to   *piece
	}{{injection, &p.template}, {mesh, &p.mesh}, {values, &p.values}} {
		if f.name == "" {
			continue
		}
		data, err := os.ReadFile(k.path(f.name))
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", f.name, because(err))
		}
		*f.to = piece{source.NewText(f.name, data), "file " + f.name, fromFile}
	}
	if values == "" && holds(p.template.text, "values") {
		p.values = p.template
	}
	return p, nil
}

// holds reports whether a text is a ConfigMap, or a list of some, with a key in
// its data.
func holds(text *source.Text, key string) bool {
	if !bytes.Contains(text.Data, []byte("ConfigMap")) {
		return false
	}
	doc, err := source.Parse(text)
	if err != nil {
		return false
	}
	for o := range kube.Objects(doc.Root) {
		if o.Ref.Kind == "ConfigMap" && o.Node.Get("data", key) != nil {
			return true
		}
	}
	return false
}

// tell writes findings to standard error, and returns errReported where there
// are errors among them.
func (a *app) tell(list diag.List, format string) error {
	var err error
	switch format {
	case "json":
		err = diag.WriteJSON(a.Stderr, list)
	case "sarif":
		err = diag.WriteSARIF(a.Stderr, list, diag.Tool{Name: "ingraft", Version: Version, URI: "https://github.com/ingraft/ingraft"})
	default:
		report := &injectReport{app: a}
		err = diag.WriteText(a.Stderr, list, diag.TextOptions{Color: report.color()})
	}
	switch {
	case err != nil:
		return fmt.Errorf("writing standard error: %w", because(err))
	case list.HasErrors():
		return errReported
	}
	return nil
}

func (a *app) configShowCommand() *cobra.Command {
	k := &kubeInject{app: a}
	output, webhookFile := "text", ""
	c := &cobra.Command{
		Use:   "show",
		Short: "Say which release a configuration is of, and what it holds",
		Long: `show says which release an injection configuration is of and what tells, and
lists its policy, selectors and templates, the functions that these call, and
the settings that they read, each with where it comes from.

With --webhookFile it shows the webhooks of a MutatingWebhookConfiguration
(v1 or v1beta1) instead: what they are asked about, and the defaults that the
version gives them. The file may have other documents, and lists.`,
		Example: `  # The configuration of the cluster
  ` + a.name + ` injector config show

  # A ConfigMap that was saved
  ` + a.name + ` injector config show --injectConfigFile configmap.yaml

  # The webhooks of the cluster
  kubectl get mutatingwebhookconfigurations -o yaml | ` + a.name + ` injector config show --webhookFile -`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if output != "text" && output != "json" {
				return usagef("--output %q is not text or json", output)
			}
			if c.Flags().Changed("webhookFile") {
				for _, other := range []string{"injectConfigFile", "injectConfigMapName", "meshConfigFile", "meshConfigMapName", "valuesFile", "revision", "generation"} {
					if c.Flags().Changed(other) {
						return usagef("--webhookFile shows webhooks only: it does not go with --%s", other)
					}
				}
				return a.showWebhooks(webhookFile, output)
			}
			set, p, err := k.loadConfig(c.Context())
			if err != nil {
				return err
			}
			s := summarize(set, p)
			if output == "json" {
				enc := json.NewEncoder(a.Stdout)
				enc.SetIndent("", "  ")
				return wroteStdout(enc.Encode(s))
			}
			return wroteStdout(s.print(a.Stdout))
		},
	}
	k.registerConfig(c)
	c.Flags().StringVarP(&output, "output", "o", output, "text or json")
	c.Flags().StringVar(&webhookFile, "webhookFile", "", "file with a MutatingWebhookConfiguration to show instead, - for standard input")
	return c
}

func wroteStdout(err error) error {
	if err != nil {
		return &writeError{err}
	}
	return nil
}

// summary is what show prints.
type summary struct {
	Generation       string              `json:"generation"`
	Evidence         []string            `json:"evidence"`
	Shape            string              `json:"shape"`
	Policy           string              `json:"policy"`
	DefaultTemplates []string            `json:"defaultTemplates"`
	NeverInject      []string            `json:"neverInjectSelector"`
	AlwaysInject     []string            `json:"alwaysInjectSelector"`
	Annotations      map[string]string   `json:"injectedAnnotations"`
	Aliases          map[string][]string `json:"aliases"`
	Templates        []templateSummary   `json:"templates"`
	Settings         []settingSummary    `json:"settings"`
	from             [3]string
}

type templateSummary struct {
	Name      string   `json:"name"`
	Bytes     int      `json:"bytes"`
	Lines     int      `json:"lines"`
	At        string   `json:"at,omitempty"`
	Functions []string `json:"functions"`
}

// settingSummary is a setting that a template reads.
type settingSummary struct {
	Path  string `json:"path"`
	Value string `json:"value"`
	// Origin is where the value stands, or that it is the default of the
	// release, or not set.
	Origin string `json:"origin"`
}

func summarize(set *config.Set, p *pieces) *summary {
	inj := set.Injection
	s := &summary{
		Generation: set.Detected.Release.String(), Shape: inj.Shape.String(), Policy: inj.Policy,
		DefaultTemplates: inj.DefaultTemplates, Annotations: inj.InjectedAnnotations, Aliases: inj.Aliases,
		NeverInject: selectorTexts(inj.NeverInject), AlwaysInject: selectorTexts(inj.AlwaysInject),
		from: [3]string{p.template.from, p.mesh.from, p.values.from},
	}
	for i := range set.Detected.Evidence {
		s.Evidence = append(s.Evidence, evidenceLine(&set.Detected.Evidence[i]))
	}
	if len(s.Evidence) == 0 {
		s.Evidence = []string{"asked for, or built in"}
	}
	read := map[string]bool{}
	for _, t := range inj.Templates {
		ts := templateSummary{
			Name: t.Name, Bytes: len(t.Text.Data), Lines: bytes.Count(bytes.TrimRight(t.Text.Data, "\n"), []byte("\n")) + 1,
			At: t.Text.Pos(0).String(),
		}
		left, right := "{{", "}}"
		if inj.Shape == release.Spec {
			left, right = release.Delimiters(t.Text.Data)
		}
		for _, u := range release.Uses(t.Text, left, right) {
			if u.Kind == release.Function {
				ts.Functions = append(ts.Functions, u.Name)
			} else if first, _, deeper := strings.Cut(u.Path, "."); deeper && (first == "Values" || first == "ProxyConfig" || first == "MeshConfig") {
				read[u.Path] = true
			}
		}
		slices.Sort(ts.Functions)
		ts.Functions = slices.Compact(ts.Functions)
		s.Templates = append(s.Templates, ts)
	}
	for path := range read {
		s.Settings = append(s.Settings, settingOf(set, path))
	}
	slices.SortFunc(s.Settings, func(a, b settingSummary) int { return strings.Compare(a.Path, b.Path) })
	return s
}

func selectorTexts(list []config.Selector) []string {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = string(source.AppendJSON(nil, s.Node))
	}
	return texts
}

// settingOf says what a path of the template's data comes to and where it
// comes from.
func settingOf(set *config.Set, path string) settingSummary {
	s := settingSummary{Path: path, Origin: "not set"}
	first, rest, _ := strings.Cut(path, ".")
	keys := strings.Split(rest, ".")
	root, byDefault, former := set.Values.Root, reflect.Value{}, reflect.Value{}
	switch first {
	case "MeshConfig":
		root, byDefault = set.Mesh.Root, reflect.ValueOf(set.Mesh.Config)
		former = reflect.ValueOf(&set.Mesh.Former.Mesh)
		keys = jsonNames(keys)
	case "ProxyConfig":
		root, byDefault = set.Mesh.Root.Get("defaultConfig"), reflect.ValueOf(set.Mesh.Config.DefaultConfig)
		former = reflect.ValueOf(&set.Mesh.Former.Proxy)
		keys = jsonNames(keys)
	}
	if n := root.Get(keys...); n != nil {
		s.Value = string(source.AppendJSON(nil, n))
		if at := n.Span(); at.IsValid() {
			s.Origin = at.Pos().String()
		}
		return s
	}
	if !byDefault.IsValid() {
		return s
	}
	s.Origin = "default of release " + set.Detected.Release.String()
	if value, ok := defaultAt(byDefault, strings.Split(rest, ".")); ok {
		s.Value = value
	} else if value, ok = defaultAt(former, strings.Split(rest, ".")); ok {
		s.Value = value
	}
	return s
}

// defaultAt says what the fields and getters that a template names come to,
// false where there is no such field.
func defaultAt(v reflect.Value, names []string) (string, bool) {
	for _, name := range names {
		name = strings.TrimPrefix(name, "Get")
		if name == "String" || name == "Value" || name == "" {
			break
		}
		if get := v.MethodByName("Get" + name); get.IsValid() && get.Type().NumIn() == 0 && get.Type().NumOut() == 1 {
			v = get.Call(nil)[0] // those of messages take nil
			continue
		}
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return "", false
		}
		if v = v.FieldByName(name); !v.IsValid() {
			return "", false
		}
	}
	if !v.CanInterface() || v.Kind() == reflect.Pointer && v.IsNil() {
		return "", v.IsValid()
	}
	switch x := v.Interface().(type) {
	case *durationpb.Duration:
		return strconv.FormatFloat(x.AsDuration().Seconds(), 'f', -1, 64) + "s", true
	case proto.Message:
		if value := v.MethodByName("GetValue"); value.IsValid() { // one of wrapperspb
			return fmt.Sprint(value.Call(nil)[0].Interface()), true
		}
		js, err := config.AppendProtoJSON(nil, x)
		return string(js), err == nil
	default:
		return fmt.Sprint(x), true
	}
}

// jsonNames turns the names of Go fields and getters into those of JSON, and
// drops methods at the end.
func jsonNames(keys []string) []string {
	var names []string
	for _, k := range keys {
		k = strings.TrimPrefix(k, "Get")
		if k == "String" || k == "Value" || k == "" {
			break
		}
		names = append(names, strings.ToLower(k[:1])+k[1:])
	}
	return names
}

func (s *summary) print(w io.Writer) error {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	row := func(name string, values ...string) {
		if len(values) == 0 {
			values = []string{"none"}
		}
		for i, v := range values {
			if i > 0 {
				name = ""
			}
			fmt.Fprintf(t, "%s\t%s\n", name, v)
		}
	}
	row("generation", s.Generation)
	row("evidence", s.Evidence...)
	row("shape", s.Shape)
	row("policy", s.Policy)
	row("default templates", strings.Join(s.DefaultTemplates, ", "))
	row("neverInjectSelector", s.NeverInject...)
	row("alwaysInjectSelector", s.AlwaysInject...)
	var annotations, aliases []string
	for name, value := range s.Annotations {
		annotations = append(annotations, name+": "+value)
	}
	for name, list := range s.Aliases {
		aliases = append(aliases, name+": "+strings.Join(list, ", "))
	}
	slices.Sort(annotations)
	slices.Sort(aliases)
	row("injectedAnnotations", annotations...)
	row("aliases", aliases...)
	row("injection", s.from[0])
	row("mesh", s.from[1])
	row("values", s.from[2])
	for _, ts := range s.Templates {
		fmt.Fprintf(t, "template %s\t%d bytes, %s (%s)\n", ts.Name, ts.Bytes, plural(ts.Lines, "line"), ts.At)
		if len(ts.Functions) > 0 {
			fmt.Fprintf(t, "\tfunctions: %s\n", strings.Join(ts.Functions, ", "))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(s.Settings) > 0 {
		fmt.Fprint(&b, "\nSettings that the templates read:\n")
		for _, st := range s.Settings {
			fmt.Fprintf(t, "  .%s\t%s\t%s\n", st.Path, clipValue(st.Value), st.Origin)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// clipValue keeps long values on one line of moderate length.
func clipValue(s string) string {
	const limit = 60
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-3]) + "..."
	}
	return s
}

func (a *app) configLintCommand() *cobra.Command {
	k := &kubeInject{app: a}
	format := "text"
	c := &cobra.Command{
		Use:   "lint",
		Short: "Say what is dead, misspelt or shadowed in a configuration",
		Long: `lint names what is dead, misspelt or shadowed in an injection configuration, and
what a later release does not know any more, with the lines of the
file or ConfigMap. It exits 1 where there are errors.

It looks at every branch of the templates: functions, fields of their data,
values, annotations and labels that they name, and the keys that they write; and
at the keys, selectors and names of the configuration itself. Nothing is
injected for it: a template that fails for some pods only may pass.`,
		Example: `  # The configuration of the cluster
  ` + a.name + ` injector config lint

  # One that is about to be applied
  ` + a.name + ` injector config lint --injectConfigFile configmap.yaml --valuesFile configmap.yaml`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			switch format {
			case "text", "json", "sarif":
			default:
				return usagef("--diagnostics %q is not text, json or sarif", format)
			}
			if err := checkWarnings(k.warnings); err != nil {
				return err
			}
			set, found, _, err := k.readConfig(c.Context())
			if err != nil {
				return err
			}
			if set != nil {
				found = append(found, inject.Lint(set)...)
			}
			report := &injectReport{app: a, warnings: k.warnings}
			report.add(found)
			if found = report.findings; found == nil {
				found = diag.List{} // not null in JSON
			}
			if err := a.tell(found, format); err != nil {
				return err
			}
			if len(found) == 0 && format == "text" {
				fmt.Fprintf(a.Stderr, "nothing found in the configuration of release %s\n", set.Detected.Release)
			}
			return nil
		},
	}
	k.registerConfig(c)
	c.Flags().StringVar(&format, "diagnostics", format, "format of the findings, on standard error: text, json or sarif")
	k.registerWarnings(c)
	return c
}
