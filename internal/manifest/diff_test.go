package manifest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

func TestDiff(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("testdata", "diff", "*.txtar"))
	if err != nil || len(names) == 0 {
		t.Fatal("no cases", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			before, after := rootsOf(t, a.Files[0].Data), rootsOf(t, a.Files[1].Data)
			var text bytes.Buffer
			if err := Compare(before, after).WriteText(&text); err != nil {
				t.Fatal(err)
			}
			if *update {
				a.Files = append(a.Files[:2], txtar.File{Name: "text", Data: text.Bytes()})
				if err := os.WriteFile(name, txtar.Format(a), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(a.Files) != 3 || !bytes.Equal(a.Files[2].Data, text.Bytes()) {
				t.Errorf("it tells\n%s\n(run with -update to accept)", text.Bytes())
			}
			for _, same := range [][]byte{a.Files[0].Data, a.Files[1].Data} {
				if d := Compare(rootsOf(t, same), rootsOf(t, same)); !d.IsSame() {
					t.Errorf("objects differ from themselves: %+v", d.Objects)
				}
			}
			// There and back, the same objects differ.
			if forth, back := Compare(before, after), Compare(after, before); len(forth.Objects) != len(back.Objects) || forth.Same != back.Same {
				t.Errorf("%d objects differ, and %d the other way round", len(forth.Objects), len(back.Objects))
			}
		})
	}
}

// Whatever is compared, there is no panic, and what is the same differs in
// nothing.
func FuzzDiff(f *testing.F) {
	names, err := filepath.Glob(filepath.Join("testdata", "diff", "*.txtar"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(a.Files[0].Data, a.Files[1].Data)
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		x, y := sound(a), sound(b)
		if d := Compare(x, x); !d.IsSame() {
			t.Fatalf("%s\ndiffers from itself: %+v", a, d.Objects)
		}
		if Compare(x, y).IsSame() != Compare(y, x).IsSame() {
			t.Fatalf("%s\n---\n%s\ndiffer one way only", a, b)
		}
		Summarise(y)
	})
}
