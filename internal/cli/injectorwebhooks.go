package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/ingraft/ingraft/internal/admit"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// showWebhooks prints the webhooks of a file, and then tells what is wrong with
// those that are left out.
func (a *app) showWebhooks(file, output string) error {
	objects, findings, err := a.webhookObjects(file)
	if err != nil {
		return err
	}
	if len(objects) == 0 && !findings.HasErrors() {
		return fmt.Errorf("reading %s: it holds no MutatingWebhookConfiguration", file)
	}
	hooks, bad := admit.ParseHooks(objects...)
	findings = append(findings, bad...)
	if len(hooks) == 0 && !findings.HasErrors() {
		return fmt.Errorf("reading %s: its MutatingWebhookConfiguration has no webhooks", file)
	}
	list := make([]webhookSummary, len(hooks))
	for i := range hooks {
		list[i] = summarizeWebhook(&hooks[i])
	}
	switch {
	case output == "json":
		enc := json.NewEncoder(a.Stdout)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		err = enc.Encode(list)
	default:
		err = printWebhooks(a.Stdout, list)
	}
	if err != nil {
		return wroteStdout(err)
	}
	return a.tell(findings, "text")
}

// webhookObjects returns the MutatingWebhookConfigurations of a file, of all its
// documents and lists.
func (a *app) webhookObjects(file string) ([]*source.Node, diag.List, error) {
	from := a.Stdin
	if file != "-" {
		f, err := os.Open(a.path(file))
		if err != nil {
			return nil, nil, fmt.Errorf("reading %s: %w", file, because(err))
		}
		defer f.Close()
		from = f
	}
	var objects []*source.Node
	var findings diag.List
	for r := source.NewReader(file, from); ; {
		doc, err := r.Next()
		var syntax *source.SyntaxError
		switch {
		case errors.Is(err, io.EOF):
			return objects, findings, nil
		case errors.As(err, &syntax):
			findings = append(findings, &diag.Diagnostic{Code: diag.CodeSyntax, Severity: diag.Error, Span: syntax.Span, Message: syntax.Message})
			continue
		case err != nil:
			return nil, nil, fmt.Errorf("reading %s: %w", file, because(err))
		}
		found := len(objects)
		for o := range kube.Objects(doc.Root) {
			if o.Ref.Kind == "MutatingWebhookConfiguration" && kube.Group(o.Ref.APIVersion) == "admissionregistration.k8s.io" {
				objects = append(objects, o.Node)
			}
		}
		if len(objects) > found {
			findings = append(findings, diag.DuplicateKeys(doc)...)
		}
	}
}

// webhookSummary is what show prints of a webhook.
type webhookSummary struct {
	Name              string   `json:"name"`
	At                string   `json:"at"`
	Configuration     string   `json:"configuration"`
	Version           string   `json:"version"`
	Revision          string   `json:"revision"`
	Rules             []string `json:"rules"`
	NamespaceSelector string   `json:"namespaceSelector"`
	ObjectSelector    string   `json:"objectSelector"`
	MatchConditions   []string `json:"matchConditions"`
	FailurePolicy     string   `json:"failurePolicy"`
	TimeoutSeconds    int64    `json:"timeoutSeconds"`
	Reinvocation      string   `json:"reinvocationPolicy"`
	ReviewVersions    []string `json:"admissionReviewVersions"`
	SideEffects       string   `json:"sideEffects"`
	Called            string   `json:"called"`
	// Defaults names the fields that are not written, and have the default of
	// the version.
	Defaults []string `json:"defaults"`
}

func summarizeWebhook(h *admit.Hook) webhookSummary {
	s := webhookSummary{
		Name: h.Name, At: h.Node.Pos().String(), Configuration: h.Configuration, Version: h.Version, Revision: h.Revision,
		Rules: h.Rules(), NamespaceSelector: h.NamespaceSelector(), ObjectSelector: h.ObjectSelector(), MatchConditions: h.Conditions(),
		FailurePolicy: "Ignore", TimeoutSeconds: h.Timeout, Reinvocation: "Never", ReviewVersions: h.ReviewVersions, SideEffects: h.SideEffects,
	}
	if h.Fails {
		s.FailurePolicy = "Fail"
	}
	if h.Reinvoked {
		s.Reinvocation = "IfNeeded"
	}
	switch {
	case h.URL != "":
		s.Called = "url " + h.URL
	case h.Service != "":
		s.Called = "service " + h.Service + ":" + strconv.FormatInt(h.Port, 10) + "/" + strings.TrimPrefix(h.Path, "/")
	}
	defaulted := []string{"failurePolicy", "timeoutSeconds", "reinvocationPolicy"}
	if h.Version == "v1beta1" {
		defaulted = append(defaulted, "admissionReviewVersions", "sideEffects")
	}
	for _, key := range defaulted {
		if h.Node.Get(key).IsNull() {
			s.Defaults = append(s.Defaults, key)
		}
	}
	return s
}

func printWebhooks(w io.Writer, list []webhookSummary) error {
	var b bytes.Buffer
	for i := range list {
		s := &list[i]
		if i > 0 {
			b.WriteByte('\n')
		}
		t := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
		row := func(name string, values ...string) {
			if len(values) == 0 || len(values) == 1 && values[0] == "" {
				values = []string{"none"}
			}
			if slices.Contains(s.Defaults, name) {
				values = []string{values[0] + " (default of " + s.Version + ")"}
			}
			for i, v := range values {
				if i > 0 {
					name = ""
				}
				fmt.Fprintf(t, "%s\t%s\n", name, v)
			}
		}
		row("webhook", s.Name+" ("+s.At+")")
		row("configuration", s.Configuration+", "+s.Version)
		row("revision", s.Revision)
		row("asked about", s.Rules...)
		row("namespaceSelector", s.NamespaceSelector)
		row("objectSelector", s.ObjectSelector)
		row("matchConditions", s.MatchConditions...)
		row("failurePolicy", s.FailurePolicy)
		row("timeoutSeconds", strconv.FormatInt(s.TimeoutSeconds, 10))
		row("reinvocationPolicy", s.Reinvocation)
		const missing = "not set, which v1 requires"
		row("admissionReviewVersions", cmp.Or(strings.Join(s.ReviewVersions, ", "), missing))
		row("sideEffects", cmp.Or(s.SideEffects, missing))
		row("called at", s.Called)
		if err := t.Flush(); err != nil {
			return err
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}
