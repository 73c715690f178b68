package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// Each flag of the commands on manifests is given to them in a script, hidden
// ones too; those that every command takes, to any command.
func TestEveryFlagHasAScript(t *testing.T) {
	lines := scriptLines(t)
	a := &app{name: "ingraft", Env: Env{Now: time.Now, LookupEnv: func(string) (string, bool) { return "", false }}}
	root := a.root()
	checked := 0
	check := func(command string, f *pflag.Flag) {
		given := regexp.MustCompile(`(^| )(--` + regexp.QuoteMeta(f.Name) + `([ =]|$)` + shorthand(f) + `)`)
		if !slices.ContainsFunc(lines, func(line string) bool {
			return strings.Contains(line, " "+command) && given.MatchString(line)
		}) {
			t.Errorf("no script gives --%s to %s", f.Name, strings.TrimSpace("ingraft "+command))
		}
		checked++
	}
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) { check("", f) })
	for _, command := range []string{
		"kube-inject", "uninject", "version", "injector config show", "injector config lint", "injector config diff", "injector serve",
		"injector manifest", "injector check", "injector list", "injector missed", "experimental injector list",
	} {
		c, _, err := root.Find(strings.Fields(command))
		if err != nil {
			t.Fatal(err)
		}
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { check(command, f) })
	}
	if checked < 120 {
		t.Errorf("only %d flags were looked for", checked)
	}
}

func shorthand(f *pflag.Flag) string {
	if f.Shorthand == "" {
		return ""
	}
	return "|-" + f.Shorthand + "( |$)"
}

// scriptLines returns the command lines of all scripts.
func scriptLines(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		script, _, _ := strings.Cut(string(data), "\n-- ")
		for line := range strings.Lines(script) {
			if strings.HasPrefix(line, "run ") || strings.Contains(line, "exec ingraft") || strings.Contains(line, "exec istioctl") {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
	}
	return lines
}
