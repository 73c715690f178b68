package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/testkit/portion"
)

// FuzzUninject: whatever is injected can be taken out again, to the byte, and
// injecting it again changes nothing; only documents with anchors may have no
// record to do so by, which is said. What uninject makes of anything at all, it
// can read.
func FuzzUninject(f *testing.F) {
	for _, s := range samples(f) {
		if len(s.data) > 1500 || !portion.Takes(s.name, 6) {
			continue
		}
		f.Add(s.data)
		if v := variants(s.data); len(s.data)%3 == 0 {
			f.Add(v[len(v)-1].data) // in another style, where it is one document
		}
	}
	f.Add([]byte(movedProxies))
	f.Add([]byte(strings.TrimSpace(movedProxies)))
	engine := engineOf(f, nil, nil, nil)
	classic, native := injectorOf(engine, false), injectorOf(engine, true)
	un, forced := &uninjector{}, &uninjector{force: true}
	f.Fuzz(func(t *testing.T, data []byte) {
		if taken, findings := through(data, forced.document); !findings.HasErrors() {
			if _, findings := through(taken, forced.document); findings.HasErrors() {
				t.Fatalf("uninject makes what it cannot read: %s\n%s\n%s", findings[0].Message, data, taken)
			}
		}
		if bytes.Contains(data, []byte("undo")) {
			return // a record that nobody knows the origin of
		}
		work := classic
		if len(data)%2 == 0 {
			work = native
		}
		injected, findings := through(data, work.document)
		if findings.HasErrors() || bytes.Equal(injected, data) {
			return
		}
		for _, d := range findings {
			if d.Code == diag.CodeNoRecord && !bytes.Contains(data, []byte("&")) {
				t.Fatalf("no record without an anchor: %s\n%s\n%q", d.Message, data, data)
			}
			if d.Code == diag.CodeNoRecord || d.Code == diag.CodeStaleRecord {
				return
			}
		}
		checkRecords(t, injected)
		careful := *work
		careful.reference = true
		if slow, _ := through(data, careful.document); !bytes.Equal(slow, injected) {
			t.Fatalf("the careful way gives\n%s\nthe quick one\n%s", slow, injected)
		}
		back, findings := through(injected, un.document)
		if findings.HasErrors() || !bytes.Equal(back, data) {
			t.Fatalf("%v\ncomes back as\n%s\nwas\n%s\n%q\n%q\ninjected:\n%s", findings, back, data, back, data, injected)
		}
		if again, _ := through(injected, work.document); !bytes.Equal(again, injected) {
			t.Fatalf("injecting again gives\n%s\nnot\n%s", again, injected)
		}
	})
}
