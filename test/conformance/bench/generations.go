package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"golang.org/x/tools/txtar"

	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
)

// generationCases is where the project keeps a configuration of each family of
// releases, seen from the folder of the conformance module.
const generationCases = "../../internal/inject/testdata/generations"

// generation is a release of the mesh with a configuration that it reads.
type generation struct {
	release release.Release
	family  string // the case file that holds the configuration
	size    int    // bytes of the configuration
	handler http.Handler
}

// generations compiles a configuration for every release from the oldest to
// the newest: the configurations of the project's own case files.
func generations(dir string) ([]generation, error) {
	var list []generation
	for r := release.Oldest; !release.Newest.Before(r); r = r.Next() {
		family := familyOf(r)
		archive, err := txtar.ParseFile(filepath.Join(dir, family+".txtar"))
		if err != nil {
			return nil, fmt.Errorf("reading a configuration of release %s: %w", r, err)
		}
		files := map[string][]byte{}
		for _, f := range archive.Files {
			files[f.Name] = f.Data
		}
		text := files["config.yaml"]
		set, findings := config.Load(source.NewText("inject.yaml", text), source.NewText("mesh.yaml", files["mesh.yaml"]), source.NewText("values.yaml", files["values.yaml"]), r)
		if err := worst(findings); err != nil {
			return nil, fmt.Errorf("reading the configuration of release %s: %w", r, err)
		}
		engine, findings := inject.Compile(set.Injection, set.Mesh, set.Values, inject.Options{Release: r})
		if err := worst(findings); err != nil {
			return nil, fmt.Errorf("compiling the configuration of release %s: %w", r, err)
		}
		list = append(list, generation{r, family, len(text), newWebhook(engine)})
	}
	return list, nil
}

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

// writeGenerations measures distinct pods under every generation, each in
// turns with upstream's handler under the built-in configuration.
func (s *suite) writeGenerations(b *bytes.Buffer) error {
	list, err := generations(generationCases)
	if err != nil {
		return err
	}
	b.WriteString(`## Every generation

Pods as in the row "webhook handler: distinct pods", under a small configuration of every release that ingraft reads
(` + "`internal/inject/testdata/generations`" + `), in turns with upstream's handler, which reads only its own release and has
that one's configuration. The ratios tell how far the releases differ from one another, not how ingraft compares with
injectors of old.

| release | configuration | ingraft | allocations | upstream 1.31 | ratio |
| --- | --- | --- | --- | --- | --- |
`)
	for _, g := range list {
		fmt.Fprintln(os.Stderr, "measuring release", g.release)
		res, err := row{
			name: g.release.String(), rounds: s.heavyRounds(),
			ours: s.admit(g.handler, false), peer: s.admit(s.peer.handler, false),
		}.measure()
		if err != nil {
			return err
		}
		ratio, _ := res.ratio()
		fmt.Fprintf(b, "| %s | %s, %s | %s | %d | %s | %s |\n", g.release, g.family, size(int64(g.size)),
			times(res.our), median(res.our, allocs), times(res.their), factor(ratio))
	}
	b.WriteString("\n")
	return nil
}
