package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// injectReport tells on standard error what was skipped and what was found.
type injectReport struct {
	*app
	// format is text, json or sarif. The last two write one document, and
	// nothing beside it.
	format string
	strict bool
	// warnings is off, on or error.
	warnings string
	// keepGoing tells that errors in one document do not keep others from
	// being written; written, that there are others.
	keepGoing, written bool
	// copied tells that documents with errors are written as they are.
	copied bool

	findings diag.List
	// dropped counts warnings and errors that are not among the findings.
	dropped [2]int
	// notes holds the lines about what was skipped; there may be many.
	notes spool
	skips int
}

func (k *kubeInject) registerWarnings(c *cobra.Command) {
	c.Flags().StringVar(&k.warnings, "warnings", "on", "what warnings do: off (they are not shown), on, or error (they count as errors)")
}

func checkWarnings(value string) error {
	switch value {
	case "off", "on", "error":
		return nil
	}
	return usagef("--warnings %q is not off, on or error", value)
}

func (r *injectReport) add(l diag.List) {
	for _, d := range l {
		if d = r.weigh(d); d != nil {
			r.findings = append(r.findings, d)
		}
	}
}

// weigh gives a finding the weight that --warnings asks for; nil for one that
// is not to be told. That a workload was skipped is always told.
func (r *injectReport) weigh(d *diag.Diagnostic) *diag.Diagnostic {
	switch {
	case r.warnings == "off" && d.Severity != diag.Error && d.Code != diag.CodeSkipped:
		return nil
	case r.warnings == "error" && d.Severity == diag.Warning:
		grave := *d
		grave.Severity = diag.Error
		return &grave
	}
	return d
}

// unmet tells that --strict does not allow what was skipped.
func (r *injectReport) unmet() bool { return r.strict && r.skips > 0 }

// skip notes workloads of a document that were left alone.
func (r *injectReport) skip(doc *source.Document, list []skipped) {
	r.notes.limit, r.notes.most = spoolLimit, spoolMost
	for _, s := range list {
		r.skips++
		rule := decidingRule(s.decision)
		if r.format != "text" {
			if len(r.findings) < maxFindings {
				r.add(diag.List{skipFinding(doc, s, rule)})
			}
			continue
		}
		fmt.Fprintf(&r.notes, "===> Skipping injection because %s %q %s\n", s.workload.Kind, objectName(s.workload), skipWords(s.decision.Reason))
		fmt.Fprintf(&r.notes, "     rule %q: %s", rule.Rule, rule.Evidence)
		if rule.Span.IsValid() {
			fmt.Fprintf(&r.notes, " (%s)", rule.Span.Pos())
		}
		fmt.Fprintln(&r.notes)
	}
}

// decidingRule returns the rule that ended a decision.
func decidingRule(d inject.Decision) inject.Consulted {
	for _, rule := range d.Rules {
		if rule.Decided {
			return rule
		}
	}
	return inject.Consulted{Rule: string(d.Reason), Evidence: d.Message}
}

// skipWords says why a workload was skipped: in the words of istioctl, which
// has two, and one more for what istioctl does not skip.
func skipWords(reason inject.Reason) string {
	switch reason {
	case inject.HostNetwork:
		return "has host networking enabled"
	case inject.Windows:
		return "runs on Windows nodes"
	}
	return "has sidecar injection disabled"
}

func objectName(r kube.Ref) string {
	r.Kind = ""
	return r.String()
}

func skipFinding(doc *source.Document, s skipped, rule inject.Consulted) *diag.Diagnostic {
	d := &diag.Diagnostic{
		Code: diag.CodeSkipped, Severity: diag.Info, Span: rule.Span, Object: s.workload.String(), Document: doc.Index + 1,
		Message: fmt.Sprintf("not injected: rule %q: %s", rule.Rule, rule.Evidence),
	}
	if !d.Span.IsValid() {
		d.Span = firstByte(doc.Root)
	}
	return d
}

// print writes the report. It returns errReported where nothing must be
// written.
func (r *injectReport) print() error {
	failed := r.findings.HasErrors() || r.dropped[1] > 0
	unmet := r.unmet()
	var err error
	switch r.format {
	case "json":
		err = diag.WriteJSON(r.Stderr, r.findings)
	case "sarif":
		err = diag.WriteSARIF(r.Stderr, r.findings, diag.Tool{Name: "ingraft", Version: Version, URI: "https://github.com/ingraft/ingraft"})
	default:
		err = r.printText(failed, unmet)
	}
	if err != nil {
		return fmt.Errorf("writing standard error: %w", because(err))
	}
	if failed || unmet {
		return errReported
	}
	return nil
}

func (r *injectReport) printText(failed, unmet bool) error {
	if _, err := io.Copy(r.Stderr, r.notes.reader()); err != nil {
		return err
	}
	shown, more := fewOfEach(r.findings)
	if err := diag.WriteText(r.Stderr, shown, diag.TextOptions{Color: r.color()}); err != nil {
		return err
	}
	for _, m := range more {
		fmt.Fprintf(r.Stderr, "... and %s [%s]\n", plural(m.count, "more warning"), m.code)
	}
	if r.dropped != [2]int{} {
		fmt.Fprintf(r.Stderr, "... and %s not shown\n", counted(r.dropped[1], r.dropped[0]))
	}
	switch {
	case failed:
		errors := r.findings.Count(diag.Error) + r.dropped[1]
		found := plural(errors, "error") + " found"
		if r.warnings == "error" {
			found += " (--warnings error: warnings count as errors)"
		}
		switch {
		case r.written && r.copied:
			fmt.Fprintf(r.Stderr, "Error: %s: the documents that hold them were written as they are\n", found)
		case r.written:
			fmt.Fprintf(r.Stderr, "Error: %s: the documents that hold them were left out\n", found)
		default:
			fmt.Fprintf(r.Stderr, "Error: nothing was written: %s\n", found)
		}
	case unmet:
		fmt.Fprintf(r.Stderr, "Error: nothing was written: %s skipped, which --strict does not allow\n", plural(r.skips, "workload"))
	}
	return nil
}

// maxAlike is how many warnings of one code are shown: what a thousand
// workloads have in common need not be said a thousand times.
const maxAlike = 10

// alike counts warnings of one code that are not shown.
type alike struct {
	code  string
	count int
}

// fewOfEach returns all errors, and the first warnings of each code.
func fewOfEach(l diag.List) (shown diag.List, more []alike) {
	seen := map[string]int{}
	for _, d := range diag.Sorted(l) {
		if d.Severity != diag.Error {
			if seen[d.Code]++; seen[d.Code] > maxAlike {
				continue
			}
		}
		shown = append(shown, d)
	}
	for code, n := range seen {
		if n > maxAlike {
			more = append(more, alike{code, n - maxAlike})
		}
	}
	slices.SortFunc(more, func(a, b alike) int { return strings.Compare(a.code, b.code) })
	return shown, more
}

// color tells whether standard error shows colours.
func (a *app) color() bool { return a.colorful(a.Stderr) }

// colorful tells whether a stream shows colours.
func (a *app) colorful(stream any) bool {
	return a.IsTerminal != nil && a.IsTerminal(stream) && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"
}

func counted(errors, warnings int) string {
	var parts []string
	if errors > 0 {
		parts = append(parts, plural(errors, "error"))
	}
	if warnings > 0 {
		parts = append(parts, plural(warnings, "warning"))
	}
	return strings.Join(parts, " and ")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
