package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// uninject is one run of the command uninject.
type uninject struct {
	*app
	files    []string
	writing  writing
	force    bool
	podPaths []string
	format   string
}

func (a *app) uninjectCommand() *cobra.Command {
	u := &uninject{app: a}
	n := a.name
	c := &cobra.Command{
		Use:   "uninject",
		Short: "Take the sidecar out of manifests again",
		Long: `uninject gives back what a manifest was before ` + n + ` kube-inject: every byte
of it, and whatever was changed since then beside the parts that injection
added. It needs no configuration, and does not matter which one was used.

What another injector added, or what has lost its undo record (the annotation
` + annot.UndoRecord + ` on the pod template), is taken out as far as the annotations
of the injection tell. The rest can only be guessed: guesses are listed, and
nothing is written without --force.

Documents without a sidecar pass through as they are.`,
		Example: `  # Take the sidecar out of a manifest
  ` + n + ` uninject -f injected.yaml -o deployment.yaml

  # Out of all manifests of a folder, in place
  ` + n + ` uninject -f k8s/ --in-place

  # See what another tool injected, and what would be left without it
  kubectl get deployment payments -o yaml | ` + n + ` uninject -f - --diff --force`,
		Args: func(c *cobra.Command, args []string) error { return onlyFlags(args) },
		RunE: func(c *cobra.Command, _ []string) error {
			if err := u.check(); err != nil {
				return err
			}
			return u.run(c.Context())
		},
	}
	f := c.Flags()
	f.StringArrayVarP(&u.files, "filename", "f", nil, "file, folder or pattern to read, - for standard input (repeatable, or separated by commas)")
	u.writing.register(f)
	f.BoolVar(&u.force, "force", false, "write also what can only be guessed")
	f.StringArrayVar(&u.podPaths, "pod-path", nil, "where a kind keeps its pod template: Kind.group=dotted.path (repeatable)")
	f.StringVar(&u.format, "diagnostics", "text", "format of what is found in the input, on standard error: text, json or sarif")
	return c
}

func (u *uninject) check() error {
	if err := checkDiagnosticsFormat(u.format); err != nil {
		return err
	}
	if _, err := kube.ParsePodPaths(u.podPaths); err != nil {
		return usagef("--pod-path: %v", err)
	}
	return nil
}

func (u *uninject) run(ctx context.Context) error {
	inputs, err := u.inputs(u.files)
	if err != nil {
		return err
	}
	defer inputs.close()
	out, err := u.writing.open(u.app, inputs)
	if err != nil {
		return err
	}
	defer out.close()
	podPaths, err := kube.ParsePodPaths(u.podPaths)
	if err != nil {
		return err
	}
	if err := inputs.keepAll(ctx); err != nil {
		return err
	}
	report := &injectReport{app: u.app, format: u.format}
	defer report.notes.close()
	work := &uninjector{podPaths: podPaths, force: u.force}
	s := &stream{inputs: inputs, work: work.document, skip: report.skip, out: out}
	if err := s.run(ctx); err != nil {
		return err
	}
	report.findings, report.dropped = s.findings, s.dropped
	if err := report.print(); err != nil {
		return err
	}
	return out.finish(ctx)
}

// uninjector takes sidecars out of documents, one at a time. It is used by many
// goroutines at once.
type uninjector struct {
	podPaths []kube.PodPath
	force    bool
}

// document takes sidecars out of the workloads of one document. The error is
// that of reading it, if any.
func (u *uninjector) document(doc *source.Document, err error) outcome {
	var o outcome
	if err != nil {
		o.findings = diag.List{syntaxFinding(err)}
		return o
	}
	if doc.Root == nil {
		return o
	}
	var paths []kube.Path
	var beside []jobTemplate
	for object := range kube.Objects(doc.Root) {
		w, ok := object.Workload(u.podPaths)
		if !ok || w.Template == nil {
			continue
		}
		if job, ok := injectedBeside(object, w); ok {
			beside = append(beside, job)
			continue
		}
		paths = append(paths, append(object.Path[:len(object.Path):len(object.Path)], w.Path...))
	}
	now, findings := before(doc, paths)
	var replaced []replacement
	for _, path := range paths {
		if now != doc && recordOf(kube.At(doc.Root, path)) != nil {
			continue // what its record says is all that ingraft did
		}
		template := kube.At(now.Root, path)
		pod, guesses := inject.Undo(template)
		// The templates of a document from which a record has been taken have
		// other places than those of the file.
		old := kube.At(doc.Root, path)
		for _, g := range guesses {
			if g.Span.Text != doc.Text {
				g.Span = firstByte(old)
			}
			findings = append(findings, &diag.Diagnostic{
				Code: diag.CodeGuess, Severity: diag.Warning, Span: g.Span, Message: g.Message,
			})
		}
		if pod != template {
			replaced = append(replaced, replacement{path, kube.Settle(template, pod, kube.TypePod)})
		}
	}
	for _, job := range beside {
		job.node = kube.At(now.Root, job.path)
		without, guesses := job.undo()
		for _, g := range guesses {
			findings = append(findings, &diag.Diagnostic{Code: diag.CodeGuess, Severity: diag.Warning, Span: g.Span, Message: g.Message})
		}
		replaced = append(replaced, replacement{job.path, without})
	}
	findings = named(doc, findings)
	if !u.force {
		for i, d := range findings {
			refused := *d
			refused.Severity, refused.Fix = diag.Error, "look at it with --diff --force; --force writes it"
			findings[i] = &refused
		}
	}
	o.findings = findings
	if len(replaced) > 0 {
		after, err := source.Edit(now, replaceAll(now.Root, replaced))
		if err != nil {
			o.findings = append(o.findings, named(doc, diag.List{notExact(doc, err)})...)
			o.data = rewrite(now, replaceAll(now.Root, replaced))
			return o
		}
		now = after
	}
	if now != doc {
		o.data = now.Text.Data
	}
	return o
}

// jobTemplate is the template of a CronJob's jobs. istioctl writes the metadata
// of an injected pod there, beside the pod template.
type jobTemplate struct {
	path kube.Path
	node *source.Node
}

// injectedBeside tells a CronJob that istioctl injected.
func injectedBeside(object kube.Object, w kube.Workload) (jobTemplate, bool) {
	const below = 2 // spec.template
	if w.Ref.Kind != "CronJob" || len(w.Path) <= below || inject.IsInjected(w.Template.Get("metadata")) {
		return jobTemplate{}, false
	}
	path := w.Path[:len(w.Path)-below]
	node := kube.At(object.Node, path)
	if !inject.IsInjected(node.Get("metadata")) {
		return jobTemplate{}, false
	}
	return jobTemplate{append(object.Path[:len(object.Path):len(object.Path)], path...), node}, true
}

// undo returns the template without the sidecar.
func (j jobTemplate) undo() (*source.Node, []inject.Guess) {
	template := j.node.Get("spec", "template")
	pod, guesses := inject.Undo(template.With("metadata", j.node.Get("metadata")))
	was := kube.Settle(template, template.With("spec", pod.Get("spec")), kube.TypePod)
	without := j.node.WithAt(was, "spec", "template")
	if meta := pod.Get("metadata"); meta != nil {
		return without.With("metadata", meta), guesses
	}
	return without.Without("metadata"), guesses
}
