package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ingraft/ingraft/internal/source"
)

func TestSpool(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	for _, c := range []struct {
		name   string
		writes []string
		file   bool
	}{
		{"empty", nil, false},
		{"up to the limit", []string{"12345", "67890"}, false},
		{"beyond the limit", []string{"12345", "678901", "2"}, true},
		{"beyond it at once", []string{"12345678901"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &spool{limit: 10}
			for _, w := range c.writes {
				if n, err := io.WriteString(s, w); err != nil || n != len(w) {
					t.Fatalf("wrote %d bytes, %v", n, err)
				}
			}
			if (s.file != nil) != c.file {
				t.Errorf("a file is used: %v", s.file != nil)
			}
			for range 2 { // it can be read more than once
				got, err := io.ReadAll(s.reader())
				if err != nil || string(got) != strings.Join(c.writes, "") {
					t.Errorf("read %q, %v", got, err)
				}
			}
			s.close()
			s.close()
			if left, err := filepath.Glob(filepath.Join(temp, "*")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func TestSpoolWithoutRoomForFiles(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	s := &spool{limit: 1, most: 4}
	for _, p := range []string{"12", "34"} {
		if n, err := s.Write([]byte(p)); err != nil || n != len(p) {
			t.Fatalf("wrote %d bytes, %v", n, err)
		}
	}
	if _, err := s.Write([]byte("5")); err == nil || !strings.Contains(err.Error(), "creating a temporary file") {
		t.Errorf("error: %v", err)
	}
	if got, err := io.ReadAll(s.reader()); err != nil || string(got) != "1234" {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestContainsWord(t *testing.T) {
	const word = "Namespace"
	for _, c := range []struct {
		text string
		want bool
	}{
		{"", false},
		{"Namespac", false},
		{"kind: Namespace", true},
		{strings.Repeat("x", 1<<16-4) + "Namespace", true}, // across two windows
		{strings.Repeat("Namespac", 1<<15), false},
	} {
		for name, r := range map[string]io.Reader{"at once": strings.NewReader(c.text), "byte by byte": oneByte{strings.NewReader(c.text)}} {
			if got, err := containsWord(r, word, "Other"); err != nil || got != c.want {
				t.Errorf("%d bytes, %s: %v, %v", len(c.text), name, got, err)
			}
		}
	}
	if _, err := containsWord(io.MultiReader(strings.NewReader("a"), failing{}), word); err == nil {
		t.Error("a read error is lost")
	}
}

type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:1]) }

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, os.ErrPermission }

func TestJoiner(t *testing.T) {
	a, b := &input{name: "a"}, &input{name: "b"}
	type add struct {
		in   *input
		data string
		json bool
	}
	for _, c := range []struct {
		name string
		adds []add
		want string
	}{
		{"one input", []add{{a, "x: 1\n", false}, {a, "---\ny: 1\n", false}}, "x: 1\n---\ny: 1\n"},
		{"lost line break within", []add{{a, "x: 1", false}, {a, "---\ny: 1\n", false}}, "x: 1\n---\ny: 1\n"},
		{"two inputs", []add{{a, "x: 1\n", false}, {b, "y: 1\n", false}}, "x: 1\n---\ny: 1\n"},
		{"no line break at the end", []add{{a, "x: 1", false}, {b, "y: 1", false}}, "x: 1\n---\ny: 1"},
		{"separator brought along", []add{{a, "x: 1\n", false}, {b, "---\ny: 1\n", false}}, "x: 1\n---\ny: 1\n"},
		{"separator behind a comment", []add{{a, "x: 1\n", false}, {b, "# c\n---\ny: 1\n", false}}, "x: 1\n# c\n---\ny: 1\n"},
		{"byte order mark", []add{{a, "\ufeffx: 1\n", false}, {b, "\ufeffy: 1\n", false}}, "\ufeffx: 1\n---\ny: 1\n"},
		{"JSON after JSON", []add{{a, "{}\n", true}, {b, "{}", true}}, "{}\n{}"},
		{"JSON after JSON, no line break", []add{{a, "{}", true}, {b, "{}", true}}, "{}\n{}"},
		{"JSON after YAML", []add{{a, "x: 1\n", false}, {b, "{}\n", true}}, "x: 1\n---\n{}\n"},
		{"YAML after JSON", []add{{a, "{}\n", true}, {b, "x: 1\n", false}}, "{}\n---\nx: 1\n"},
		{"nothing in between", []add{{a, "x: 1\n", false}, {b, "", false}, {a, "---\ny: 1\n", false}}, "x: 1\n---\ny: 1\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			j := joiner{to: &out}
			for _, add := range c.adds {
				format := source.YAML
				if add.json {
					format = source.JSON
				}
				doc := &source.Document{Text: source.NewText("", []byte(add.data)), Format: format}
				if err := j.add(add.in, doc, &outcome{}); err != nil {
					t.Fatal(err)
				}
			}
			if out.String() != c.want {
				t.Errorf("got  %q\nwant %q", out.String(), c.want)
			}
		})
	}
}
