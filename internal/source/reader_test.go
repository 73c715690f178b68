package source

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// readAll reads a stream; of a document in error it keeps the text only.
func readAll(t *testing.T, r io.Reader) (docs []*Document) {
	t.Helper()
	reader := NewReader("in.yaml", r)
	for {
		doc, err := reader.Next()
		if err == io.EOF {
			return docs
		}
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatal(err)
			}
			doc = &Document{Index: -1, Text: syntax.Span.Text}
		}
		docs = append(docs, doc)
	}
}

func texts(docs []*Document) (s []string) {
	for _, d := range docs {
		s = append(s, string(d.Text.Data))
	}
	return s
}

func TestReaderBoundaries(t *testing.T) {
	for _, test := range []struct {
		name string
		docs []string
	}{
		{"one", []string{"a: b\n"}},
		{"several", []string{"a: b\n", "---\nc: d\n", "---\ne: f"}},
		{"separator first", []string{"---\na: b\n", "---\nc: d\n"}},
		{"comment before the first separator", []string{"# c\n\n", "---\na: b\n"}},
		{"separator with comment", []string{"a: b\n", "--- # c\nc: d\n"}},
		{"separator with content", []string{"a: b\n", "--- {c: d}\n", "--- |\n x\n"}},
		{"text that looks like a separator", []string{"a: |\n  ---\n  b\n --- c\n"}},
		{"block scalar that ends at a separator", []string{"a: |\n  x\n", "---\nb: c\n"}},
		{"empty documents", []string{"---\n", "---\n", "---"}},
		{"document end", []string{"a: b\n...\n# c\n", "---\nc: d\n...\n"}},
		{"directives", []string{"# c\n%YAML 1.1\n---\na: b\n...\n", "%TAG !a! b\n---\nc: d\n"}},
		{"carriage returns", []string{"a: b\r\n", "---\r\nc: d\r\n"}},
		{"nothing but a byte order mark", []string{"\ufeff"}},
		{"byte order mark", []string{"\ufeff---\na: b\n", "---\nc: d\n"}},
		{"JSON values", []string{"{\"a\": 1}\n", "{\"b\": \"}{\\\"\"} ", "{}\n", "\n{\"c\": {}}"}},
		{"JSON in YAML", []string{"a: b\n", "---\n{\"a\": 1}\n", "---\n{\"b\": 2}\n"}},
		{"JSON before YAML", []string{"{\"a\": 1}\n", "---\nb: c\n"}},
		{"flow style", []string{"{a: b}\n", "---\n{c: '}{'}\n"}},
		{"broken JSON", []string{"{\"a\": 1,,}\n", "{\"b\": 2}\n"}},
		{"unclosed JSON", []string{"{\"a\": [\n", "---\nb: c\n"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			stream := strings.Join(test.docs, "")
			for _, r := range []io.Reader{strings.NewReader(stream), iotest.OneByteReader(strings.NewReader(stream))} {
				docs := readAll(t, r)
				got := texts(docs)
				if strings.Join(got, "|") != strings.Join(test.docs, "|") {
					t.Errorf("got  %q\nwant %q", got, test.docs)
				}
				line := 1
				for i, d := range docs {
					if pos := d.Text.Pos(0); pos.Line != line || pos.Col != 1 || pos.File != "in.yaml" {
						t.Errorf("document %d begins at %v, want line %d", i, pos, line)
					}
					line += strings.Count(got[i], "\n")
				}
			}
		})
	}
}

func TestReaderGoesOnAfterError(t *testing.T) {
	r := NewReader("f", strings.NewReader("a: b\n---\nc: [\n---\nd: e\n"))
	var got []string
	for {
		doc, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			got = append(got, err.Error())
			continue
		}
		got = append(got, string(AppendJSON(nil, doc.Root)))
	}
	want := `{"a":"b"}|f:3:4: this [ is never closed|{"d":"e"}`
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}

func TestReaderPassesInputErrorsOn(t *testing.T) {
	broken := errors.New("broken pipe")
	r := NewReader("f", io.MultiReader(strings.NewReader("a: b\n---\nc"), iotest.ErrReader(broken)))
	if _, err := r.Next(); err != nil {
		t.Fatalf("first document: %v", err)
	}
	if _, err := r.Next(); !errors.Is(err, broken) {
		t.Fatalf("got %v, want the error of the input", err)
	}
}

func FuzzReader(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s + "\n---\n" + s))
	}
	f.Add([]byte(`{"a":1}{"b":2}`))
	f.Fuzz(func(t *testing.T, stream []byte) {
		docs := readAll(t, bytes.NewReader(stream))
		var all []byte
		for _, d := range docs {
			if line := 1 + bytes.Count(all, []byte{'\n'}); d.Text.Pos(0).Line != line {
				t.Fatalf("%q: document %q begins at line %d, not %d", stream, d.Text.Data, line, d.Text.Pos(0).Line)
			}
			all = append(all, d.Text.Data...)
		}
		if !bytes.Equal(all, stream) {
			t.Fatalf("the documents of %q are %q", stream, texts(docs))
		}
		one := texts(readAll(t, iotest.HalfReader(bytes.NewReader(stream))))
		if strings.Join(one, "\x00") != strings.Join(texts(docs), "\x00") {
			t.Fatalf("%q splits into %q or %q", stream, texts(docs), one)
		}
		checkBoundaries(t, stream, docs)
	})
}

// checkBoundaries compares with the reader of kubectl, where that one takes
// the stream: it knows neither directives nor content after a separator.
func checkBoundaries(t *testing.T, stream []byte, docs []*Document) {
	t.Helper()
	if bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(stream, []byte(bom))), []byte("{")) || bytes.ContainsAny(stream, "%\ufeff\v\f\u0085\u00a0\u2028\u2029") {
		return
	}
	for _, line := range bytes.Split(stream, []byte("\n")) {
		if bytes.HasPrefix(line, []byte("---")) && !isMarker(line, "---") {
			return
		}
	}
	var want, got []string
	r := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(stream)))
	for {
		doc, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return
		}
		if s := significant(doc); s != "" {
			want = append(want, s)
		}
	}
	for _, doc := range docs {
		if s := significant(doc.Text.Data); s != "" {
			got = append(got, s)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%q: (-kubectl +got)\n%s", stream, diff)
	}
}

// significant returns the lines of a document that are neither empty nor a
// comment nor a separator.
func significant(doc []byte) string {
	var lines []string
	for _, line := range strings.Split(string(doc), "\n") {
		line = strings.TrimRight(line, "\r")
		if trimmed := strings.TrimSpace(line); trimmed != "" && trimmed[0] != '#' && !isMarker([]byte(line), "---") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
