package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/testkit/portion"
)

// Edits of an injected file beside the parts that injection added survive
// uninject: a comment is put in front of every line of the original, one at a
// time. Where that is within what injection rewrote, it is refused.
func TestEditsSurviveUninject(t *testing.T) {
	un := &uninjector{}
	edits, refused := 0, 0
	for _, s := range samples(t) {
		if !portion.Takes(s.name, 5) {
			continue
		}
		injected, findings := through(s.data, s.work.document)
		if listOfProxy(t, s.data) != "" && listOfProxy(t, s.data) != listOfProxy(t, injected) {
			continue // the pod's own sidecar moves to another list, and comments around it with that
		}
		if findings.HasErrors() || bytes.Equal(injected, s.data) || len(s.data) > 4000 || s.data[0] == '{' {
			continue
		}
		for line := range strings.Lines(string(s.data)) {
			if !strings.HasSuffix(line, "\n") || strings.TrimSpace(line) == "" || strings.HasPrefix(line, "---") ||
				strings.Count("\n"+string(s.data), "\n"+line) != 1 || strings.Count("\n"+string(injected), "\n"+line) != 1 {
				continue
			}
			comment := line[:len(line)-len(strings.TrimLeft(line, " "))] + "# edited\n"
			edit := func(data []byte) []byte {
				return []byte(strings.Replace("\n"+string(data), "\n"+line, "\n"+comment+line, 1)[1:])
			}
			want := edit(s.data)
			if _, err := source.Parse(source.NewText("f", want)); err != nil {
				continue // a comment within brackets, say
			}
			edits++
			back, findings := through(edit(injected), un.document)
			if len(findings) > 0 {
				refused++
				continue
			}
			if !bytes.Equal(back, want) {
				t.Errorf("%s: with %q in front of %q it comes back as\n%s", s.name, comment, line, back)
			}
		}
	}
	if edits < portion.Of(500, 10) || refused*20 > edits {
		t.Errorf("%d edits, of which %d were refused", edits, refused)
	}
}

// listOfProxy returns which list of containers of the first workload holds the
// sidecar.
func listOfProxy(t *testing.T, data []byte) string {
	t.Helper()
	r := source.NewReader("f", bytes.NewReader(data))
	for {
		doc, err := r.Next()
		if err != nil {
			return ""
		}
		for o := range kube.Objects(doc.Root) {
			w, ok := o.Workload(nil)
			if !ok {
				continue
			}
			for _, list := range [...]string{"containers", "initContainers"} {
				for _, c := range w.Template.Get("spec", list).Items() {
					if c.Get("name").Scalar() == "istio-proxy" {
						return list
					}
				}
			}
			return ""
		}
	}
}

// A line of 6 MB is no trouble, and comes back.
func TestLongLine(t *testing.T) {
	long := strings.Repeat("x", portion.Of(6<<20, 8))
	data := []byte("apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  annotations: {note: " + long + "}   # long\nspec:\n  containers:\n  - name: app\n    image: i\n    args: ['" + long + "']\n")
	checkRound(t, sample{name: "long", data: data, work: injectorOf(engineOf(t, nil, nil, nil), false)})
}

// Keeping the text of a list costs in proportion to its length, there and
// back.
func TestListsCostInProportion(t *testing.T) {
	if testing.Short() || !portion.Whole {
		t.Skip("takes seconds, and measures time")
	}
	work := injectorOf(engineOf(t, nil, nil, nil), false)
	un := &uninjector{}
	list := func(n int) *source.Document {
		var b strings.Builder
		b.WriteString("apiVersion: v1\nkind: List\nitems:\n")
		for i := range n {
			fmt.Fprintf(&b, "- apiVersion: v1\n  kind: Pod\n  metadata: {name: p%d}\n  spec:\n    containers:\n    - name: app # %d\n      image: i\n      livenessProbe: {httpGet: {path: /x, port: 80}}\n", i, i)
		}
		doc, err := source.Parse(source.NewText("f", []byte(b.String())))
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	cost := func(n int) time.Duration {
		doc := list(n)
		best := time.Hour
		for range 3 {
			start := time.Now()
			o := work.document(doc, nil)
			injected, err := source.Parse(source.NewText("f", o.data))
			if err != nil || len(o.findings) > 0 {
				t.Fatal(err, o.findings)
			}
			back := un.document(injected, nil)
			best = min(best, time.Since(start))
			if !bytes.Equal(back.data, doc.Text.Data) {
				t.Fatal("the list does not come back")
			}
		}
		return best
	}
	small, large := cost(100), cost(1600)
	if large > 16*4*small {
		t.Errorf("16 times the length takes %v rather than %v", large, small)
	}
}
