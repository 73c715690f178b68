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
// documents mean: without the undo record each is what the engine makes of it,
// and is compared with the peer's.
func TestPeerFiles(t *testing.T) {
	native.enter(t)
	silencePeer()
	all := newBenches(t, native)
	tally := newTally("the peer's files, through the command")
	dir, records := t.TempDir(), 0
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
			made := b.ours.kubeInject(mustJSON(before[i]))
			// Seldom an injected one has none, with a warning: see docs/undo.md.
			if recorded := withoutUndoRecord(got[i]); recorded && !made.injected {
				t.Errorf("%s, document %d: not injected, and yet an undo record", file, i)
			} else if recorded {
				records++
			}
			o := outcome{object: decodeObject(mustJSON(got[i])), injected: true}
			made.injected = true
			if d := compare(made, o); d.class != "" {
				t.Errorf("%s, document %d: the command makes something else than the engine: %s", file, i, d.detail)
			}
			v := all.judge(c, b, before[i], before[i], p, o)
			tally.count(v)
			if v.class != "" && v.reason == "" {
				t.Errorf("%s, document %d: %s\n%s", file, i, v.left.class, v.left.detail)
			}
		}
	}
	if records == 0 {
		t.Error("no document has an undo record")
	}
	report.add(tally)
}

// withoutUndoRecord takes out of the pod templates of an object what ingraft's
// command alone writes, and reports whether each had it. See "What is written"
// in docs/differences.md.
func withoutUndoRecord(o object) bool {
	every, some := true, false
	for _, w := range workloadsOf(o) {
		meta, _ := w.template["metadata"].(object)
		annotations, _ := meta["annotations"].(object)
		text, ok := annotations["ingraft.io/undo"].(string)
		delete(annotations, "ingraft.io/undo")
		every, some = every && ok && text != "", some || ok
	}
	return every && some
}

// TestUndoRecordIsLeftOut compares a result with the same and an undo record:
// only the function that says so leaves it out.
func TestUndoRecordIsLeftOut(t *testing.T) {
	pod := object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": "p", "annotations": object{"a": "b", "ingraft.io/undo": "record"}}}
	job := object{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": object{"annotations": object{"ingraft.io/undo": "not the template's"}}}
	without := object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": "p", "annotations": object{"a": "b"}}}
	of := func(o object) outcome { return outcome{injected: true, object: decodeObject(mustJSON(o))} }
	if d := compare(of(without), of(pod)); d.class == "" {
		t.Fatal("a record that is left in place makes no difference")
	}
	if !withoutUndoRecord(pod) {
		t.Error("the record of the pod is not seen")
	}
	if d := compare(of(without), of(pod)); d.class != "" {
		t.Errorf("the record was left out, and yet: %s", d.detail)
	}
	if withoutUndoRecord(without) || withoutUndoRecord(job) {
		t.Error("a record is seen where no pod template has one")
	}
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
