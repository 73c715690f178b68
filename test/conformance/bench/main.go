// Command bench measures ingraft beside the mesh's istioctl, in one run and on
// one machine, and writes what it measured as a page of the documentation.
//
// Both programs are run as whole processes, by turns; both engines are run in
// this process, on the same pods. What is reported is the median of the runs.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"text/template"
	"time"
)

// goal is one line of the page: what both sides take for the same work.
type goal struct {
	Work string
	// Unit is what the numbers are of.
	Unit         string
	Peer, Ours   float64
	Reach        float64
	PeerN, OursN int
	// Note says what else there is to know.
	Note string
}

// Ratio is how many times less ingraft takes.
func (g goal) Ratio() float64 {
	if g.Ours == 0 {
		return 0
	}
	return g.Peer / g.Ours
}

// Reached tells whether the ratio is what was aimed at.
func (g goal) Reached() string {
	switch {
	case g.Reach == 0:
		return ""
	case g.Ratio() >= g.Reach:
		return "yes"
	}
	return "no"
}

type page struct {
	Date, Machine, Go string
	Goals             []goal
	Inits             []string
	Floor             string
}

func main() {
	ingraft := flag.String("ingraft", "", "the ingraft binary")
	istioctl := flag.String("istioctl", "", "the istioctl binary")
	out := flag.String("out", "", "the page to write; empty prints it")
	runs := flag.Int("runs", 21, "runs of each process on one workload; the stream has a third of them")
	flag.Parse()
	if err := run(*ingraft, *istioctl, *out, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ingraft, istioctl, out string, runs int) error {
	if ingraft == "" || istioctl == "" {
		return fmt.Errorf("give -ingraft and -istioctl")
	}
	dir, err := os.MkdirTemp("", "ingraft-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	files, err := prepare(dir)
	if err != nil {
		return err
	}
	p := page{Date: time.Now().UTC().Format("2006-01-02"), Machine: machine(), Go: runtime.Version()}
	w := workbench{files, ingraft, istioctl}
	for _, measure := range []func() ([]goal, error){
		func() ([]goal, error) { return w.process("one Deployment, whole process", files.one, runs, 5, 3) },
		func() ([]goal, error) {
			return w.process("1,000 Deployments and 1,000 Services in one file, whole process", files.stream, max(runs/3, 3), 50, 3)
		},
		func() ([]goal, error) { return engines(files) },
		w.sizes,
	} {
		goals, err := measure()
		if err != nil {
			return err
		}
		p.Goals = append(p.Goals, goals...)
	}
	if p.Inits, err = w.inits(); err != nil {
		return err
	}
	if p.Floor, err = w.floor(runs); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, p); err != nil {
		return err
	}
	if out == "" {
		_, err := os.Stdout.Write(b.Bytes())
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(out, b.Bytes(), 0o644)
}

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"num": num}).Parse(`# Performance

Written by ` + "`make bench`" + ` on {{ .Date }}: {{ .Machine }}, {{ .Go }}. Both sides ran in the same
run, by turns, on the same input and the same configuration (the default installation of
release 1.31); each number is the median of its runs. Shared machines are noisy: trust the
ratios more than the digits.

| what | unit | istioctl | ingraft | ratio | reach | reached |
| --- | --- | ---: | ---: | ---: | ---: | --- |
{{- range .Goals }}
| {{ .Work }} | {{ .Unit }} | {{ num .Peer }} | {{ num .Ours }} | {{ num .Ratio }} | {{ if .Reach }}{{ num .Reach }}{{ end }} | {{ .Reached }} |
{{- end }}

{{ range .Goals }}{{ if .Note }}- {{ .Work }}: {{ .Note }}
{{ end }}{{ end }}
## Where a start goes

{{ .Floor }} Packages that take longest to initialise (inittrace):
{{ range .Inits }}
- {{ . }}
{{- end }}
`))

// num writes a number with three digits that matter.
func num(f float64) string {
	switch {
	case f == 0:
		return "0"
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.2f", f)
}

func machine() string {
	model := "unknown processor"
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(data)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%d cores of %s, %s/%s", runtime.NumCPU(), model, runtime.GOOS, runtime.GOARCH)
}
