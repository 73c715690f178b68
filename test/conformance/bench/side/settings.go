package side

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/tools/txtar"

	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
)

// Settings are the three pieces of an injector's configuration, as files of a
// folder.
type Settings struct{ Folder string }

// Files names injection configuration, mesh configuration and values.
func (s Settings) Files() [3]string {
	return [3]string{filepath.Join(s.Folder, "inject.yaml"), filepath.Join(s.Folder, "mesh.yaml"), filepath.Join(s.Folder, "values.json")}
}

// Arguments are those of kube-inject for an input.
func (s Settings) Arguments(input string) []string {
	files := s.Files()
	return []string{
		"kube-inject", "-f", input,
		"--injectConfigFile", files[0], "--meshConfigFile", files[1], "--valuesFile", files[2],
	}
}

// Read returns what the files hold.
func (s Settings) Read() (texts [3][]byte, err error) {
	for i, file := range s.Files() {
		if texts[i], err = os.ReadFile(file); err != nil {
			return texts, fmt.Errorf("reading the configuration: %w", err)
		}
	}
	return texts, nil
}

// Compile makes ingraft's engine of the files.
func (s Settings) Compile() (*inject.Engine, error) {
	texts, err := s.Read()
	if err != nil {
		return nil, err
	}
	return compile(texts, release.Release{})
}

func compile(texts [3][]byte, r release.Release) (*inject.Engine, error) {
	set, findings := config.Load(
		source.NewText("inject.yaml", texts[0]), source.NewText("mesh.yaml", texts[1]), source.NewText("values.json", texts[2]), r,
	)
	if err := Worst(findings); err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	if r == (release.Release{}) {
		r = set.Detected.Release
	}
	engine, findings := inject.Compile(set.Injection, set.Mesh, set.Values, inject.Options{Release: r})
	if err := Worst(findings); err != nil {
		return nil, fmt.Errorf("compiling the configuration: %w", err)
	}
	return engine, nil
}

// Worst returns the first error of a list.
func Worst(findings diag.List) error {
	for _, d := range findings {
		if d.Severity == diag.Error {
			return d
		}
	}
	return nil
}

// generationCases is where the project keeps a configuration of each family of
// releases, seen from the folder of the conformance module.
const generationCases = "../../internal/inject/testdata/generations"

// Generation is a release with a small configuration that it reads: that of the
// project's own case files.
type Generation struct {
	Release release.Release
	// Family names the case file that holds the configuration.
	Family string
	texts  [3][]byte
}

// GenerationOf returns that of a release.
func GenerationOf(r release.Release) (Generation, error) {
	g := Generation{Release: r, Family: familyOf(r)}
	archive, err := txtar.ParseFile(filepath.Join(generationCases, g.Family+".txtar"))
	if err != nil {
		return g, fmt.Errorf("reading a configuration of release %s: %w", r, err)
	}
	for _, f := range archive.Files {
		for i, name := range []string{"config.yaml", "mesh.yaml", "values.yaml"} {
			if f.Name == name {
				g.texts[i] = f.Data
			}
		}
	}
	return g, nil
}

// Size returns that of the injection configuration, in bytes.
func (g *Generation) Size() int64 { return int64(len(g.texts[0])) }

// Compile makes ingraft's engine for the release.
func (g *Generation) Compile() (*inject.Engine, error) { return compile(g.texts, g.Release) }

// familyOf names the configuration that a release reads: appended with square
// brackets, appended with curly ones, or overlays.
func familyOf(r release.Release) string {
	switch {
	case r.Before(release.V(1, 2)):
		return "square"
	case r.Before(release.V(1, 9)):
		return "curly"
	}
	return "overlay"
}
