package injection

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"istio.io/istio/pkg/kube/inject"

	"github.com/ingraft/ingraft/internal/cli"
)

// TestPeerFiles takes the peer's own inputs through both commands: whole files
// in, whole files out, the configuration given as files. What ingraft leaves
// as it was, and how it edits what it changes, must not change what the
// documents mean.
func TestPeerFiles(t *testing.T) {
	native.enter(t)
	silencePeer()
	all := newBenches(t, native)
	tally := newTally("the peer's files, through the command")
	dir := t.TempDir()
	for _, file := range peerFiles(t) {
		var r recipe
		for _, p := range peerParameters {
			if p.file == file && p.world == native && !p.webhookOnly {
				r = recipe{Set: p.set, File: p.iop, Edits: p.edits}
			}
		}
		b, err := all.get(r)
		if err != nil || b.peerErr != nil || b.oursErr != nil {
			t.Fatal(err, b.peerErr, b.oursErr)
		}
		input, err := os.ReadFile(filepath.Join(peerInputs(), file))
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := b.peer.file(input)
		ours, ourErr := b.ours.file(t, dir, input)
		if v := (verdict{peer: outcome{refused: err != nil, injected: true}}); err != nil || ourErr != nil {
			if (err == nil) != (ourErr == nil) {
				v.class = "refusal"
				t.Errorf("%s: peer: %v, ingraft: %v", file, err, ourErr)
			}
			tally.count(v)
			continue
		}
		before, after, got := documentsOf(t, input), documentsOf(t, theirs), documentsOf(t, ours)
		if len(after) != len(got) || len(before) != len(got) {
			t.Errorf("%s: %d documents in, %d out of the peer, %d out of ingraft", file, len(before), len(after), len(got))
			continue
		}
		for i := range got {
			c := testCase{World: native, Recipe: r, Door: doorCLI, Object: before[i]}
			p := outcome{object: decodeObject(mustJSON(after[i])), injected: true}
			o := outcome{object: decodeObject(mustJSON(got[i])), injected: true}
			v := all.judge(c, b, before[i], before[i], p, o)
			tally.count(v)
			if v.class != "" && v.reason == "" {
				t.Errorf("%s, document %d: %s\n%s", file, i, v.left.class, v.left.detail)
			}
		}
	}
	report.add(tally)
}

// file injects a stream of documents as the peer's command does.
func (p *peer) file(input []byte) (output []byte, err error) {
	var out bytes.Buffer
	err = inject.IntoResourceFile(nil, p.templates, p.values, p.setting.revision, p.mesh, bytes.NewReader(input), &out, func(string) {})
	return out.Bytes(), err
}

// file runs ingraft's command on a stream of documents.
func (i *ingraft) file(t *testing.T, dir string, input []byte) (output []byte, err error) {
	at := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	args := []string{
		"ingraft", "kube-inject", "-f", "-", "--native-sidecars", fmt.Sprint(i.world.Native), "--revision", i.setting.revision,
		"--injectConfigFile", at("config.yaml", i.setting.config),
		"--meshConfigFile", at("mesh.yaml", i.setting.mesh),
		"--valuesFile", at("values.json", i.setting.values),
	}
	var out, talk bytes.Buffer
	code := cli.Main(context.Background(), cli.Env{
		Args: args, Stdin: bytes.NewReader(input), Stdout: &out, Stderr: &talk, Dir: dir,
		LookupEnv:  func(string) (string, bool) { return "", false },
		Now:        func() time.Time { return time.Time{} },
		IsTerminal: func(any) bool { return false },
	})
	if code != 0 {
		return nil, errors.New(strings.TrimSpace(talk.String()))
	}
	return out.Bytes(), nil
}

func documentsOf(t *testing.T, data []byte) []object {
	docs, err := readDocuments(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return docs
}
