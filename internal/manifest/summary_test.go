package manifest

import (
	"bytes"
	"encoding/json"
	goflag "flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/ingraft/ingraft/internal/source"
)

var update = goflag.Bool("update", false, "write what the summary tells into testdata")

// documents returns the roots of a stream.
func rootsOf(t testing.TB, data []byte) []*source.Node {
	t.Helper()
	var roots []*source.Node
	r := source.NewReader("f", bytes.NewReader(data))
	for {
		doc, err := r.Next()
		if err == io.EOF {
			return roots
		}
		if err != nil {
			t.Fatal(err)
		}
		if doc.Root != nil {
			roots = append(roots, doc.Root)
		}
	}
}

func TestSummary(t *testing.T) {
	name := filepath.Join("testdata", "summary.txtar")
	a, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	s := Summarise(rootsOf(t, a.Files[0].Data))
	var text, kinds bytes.Buffer
	if err := s.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if err := s.WriteKinds(&kinds); err != nil {
		t.Fatal(err)
	}
	js, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	files := []txtar.File{a.Files[0], {Name: "text", Data: text.Bytes()}, {Name: "kinds", Data: kinds.Bytes()}, {Name: "json", Data: append(js, '\n')}}
	if *update {
		if err := os.WriteFile(name, txtar.Format(&txtar.Archive{Comment: a.Comment, Files: files}), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if len(a.Files) != len(files) {
		t.Fatal("run with -update")
	}
	for i, f := range files {
		if !bytes.Equal(f.Data, a.Files[i].Data) {
			t.Errorf("%s is\n%s\nwant\n%s", f.Name, f.Data, a.Files[i].Data)
		}
	}
}

// Nothing at all is told without a panic, and lists are never null.
func TestSummaryOfNothing(t *testing.T) {
	for _, in := range []string{"", "a: b\n", "kind: Deployment\n", "kind: ClusterRoleBinding\nsubjects: [1]\n", "kind: MutatingWebhookConfiguration\nwebhooks: [x]\n", "kind: HorizontalPodAutoscaler\n", "kind: Service\nspec: {ports: [y]}\n"} {
		s := Summarise(rootsOf(t, []byte(in)))
		if err := s.WriteText(io.Discard); err != nil {
			t.Error(err)
		}
		js, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(js, []byte(":null")) && in == "" {
			t.Errorf("null in %s", js)
		}
	}
}

// sound returns the roots of the documents of a stream, until the first that
// cannot be read.
func sound(data []byte) []*source.Node {
	var roots []*source.Node
	r := source.NewReader("f", bytes.NewReader(data))
	for {
		doc, err := r.Next()
		if err != nil {
			return roots
		}
		if doc.Root != nil {
			roots = append(roots, doc.Root)
		}
	}
}
