package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/test/conformance/bench/side"
)

// writeGenerations measures distinct pods under every generation, each in
// turns with upstream's handler under the built-in configuration.
func (s *suite) writeGenerations(b *bytes.Buffer) error {
	b.WriteString(`## Every generation

Pods as in the row "webhook handler: distinct pods", under a small configuration of every release that ingraft reads
(` + "`internal/inject/testdata/generations`" + `), in turns with upstream's handler, which reads only its own release and has
that one's configuration. The ratios tell how far the releases differ from one another, not how ingraft compares with
injectors of old.

| release | configuration | ingraft | allocations | upstream 1.31 | ratio |
| --- | --- | --- | --- | --- | --- |
`)
	for r := release.Oldest; !release.Newest.Before(r); r = r.Next() {
		fmt.Fprintln(os.Stderr, "measuring release", r)
		g, err := side.GenerationOf(r)
		if err != nil {
			return err
		}
		res, err := row{
			name: r.String(), rounds: s.heavyRounds(),
			ours: s.admit(s.ours, r.String(), false), peer: s.admit(s.peer, "", false),
		}.measure()
		if err != nil {
			return err
		}
		ratio, _ := res.ratio()
		fmt.Fprintf(b, "| %s | %s, %s | %s | %d | %s | %s |\n", r, g.Family, size(g.Size()),
			times(res.our), median(res.our, allocs), times(res.their), factor(ratio))
	}
	b.WriteString("\n")
	return nil
}
