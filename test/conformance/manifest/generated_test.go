package manifest

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ingraft/ingraft/internal/diag"
)

var (
	cases  = flag.Int("cases", 500, "how many installs TestGenerated makes up")
	update = flag.Bool("update", false, "write the counts into docs/manifest.md, instead of comparing")
	seed   = flag.Uint64("seed", 1, "what the first of them is made from; those after it count on")
)

// TestGenerated compares installs that are made up. Both make the same objects
// or both refuse, but for the kinds of difference that docs/differences.md
// lists, which are counted.
func TestGenerated(t *testing.T) {
	clear(kinds)
	made, refused, outcome := 0, 0, map[string]int{}
	for i := range *cases {
		in := generated(*seed + uint64(i))
		want, got := in.peer(t), in.ours(t)
		switch kind := onPurpose(want, got); {
		case kind != "":
			outcome[kind]++
			continue
		case want.err != nil && got.err != nil:
			refused++
			continue
		}
		made++
		if d := diff(want, got); d != "" {
			var found strings.Builder
			for _, f := range got.found {
				fmt.Fprintln(&found, f)
			}
			t.Errorf("%s:\n%s%s%s", in.name, in, d, found.String())
		}
	}
	t.Logf("%d installs: %d made by both, %d refused by both, on purpose %v, within objects %v", *cases, made, refused, outcome, kinds)
	if *cases != 500 || *seed != 1 {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Of 500 installs that are made up, both made %d, and both refused %d. ", made, refused)
	b.WriteString("In those that both made, every object is the same, but for the differences of the second half of the table.\n\n")
	b.WriteString("| difference | times |\n| --- | --- |\n")
	for _, list := range []map[string]int{outcome, kinds} {
		for _, kind := range slices.Sorted(maps.Keys(list)) {
			fmt.Fprintf(&b, "| %s | %d |\n", kind, list[kind])
		}
	}
	held(t, b.String())
}

// held compares what docs/manifest.md says of the counts, or writes it.
func held(t *testing.T, counts string) {
	const mark = "<!-- counts -->\n"
	file := filepath.Join("..", "..", "..", "docs", "manifest.md")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, now, ok := strings.Cut(string(data), mark)
	switch {
	case !ok:
		t.Fatalf("%s has no %s", file, mark)
	case now == counts:
	case *update:
		if err := os.WriteFile(file, []byte(before+mark+counts), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s says\n%swant\n%s(-update writes it)", file, now, counts)
	}
}

// onPurpose tells why one of both refuses and the other does not, where that
// is meant to be so; "" where it is not.
func onPurpose(want, got result) string {
	switch {
	case (want.err == nil) == (got.err == nil):
		return ""
	case got.err == nil && strings.HasPrefix(want.err.Error(), "panic: "):
		return "the installer panics"
	case got.err == nil && strings.Contains(want.err.Error(), "into Go struct field") && strings.Contains(want.err.Error(), "cannot unmarshal number"):
		return "a number that is meant as text"
	}
	for _, f := range got.found {
		if f.Severity == diag.Error && got.err != nil {
			switch f.Code {
			case "IGF0806":
				return "a gateway that is there twice, or has no name"
			case "IGF0802":
				return "a path that leads nowhere"
			case "IGF0303":
				return "a value that the control plane refuses"
			}
		}
	}
	return ""
}
