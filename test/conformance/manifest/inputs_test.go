package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProfiles compares an install of every profile.
func TestProfiles(t *testing.T) {
	for _, profile := range profiles(t) {
		t.Run(profile, func(t *testing.T) {
			in := install{sets: []string{"profile=" + profile}}
			got := in.ours(t)
			if d := diff(in.peer(t), got); d != "" {
				t.Error(d)
			}
			if got.err != nil {
				t.Error(got.err)
			}
		})
	}
}

// mends are what to leave out of inputs that ingraft does right on purpose and
// the installer does not, for it to make the same of them.
var mends = map[string]string{
	"TestInputs/bare_values": "  values:\n", // takes all values of the profile away, the images too
}

// TestInputs compares the inputs of the installer's own tests.
func TestInputs(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(moduleDir(), "operator", "cmd", "mesh", "testdata", "manifest-generate", "input", "*.yaml"))
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			in := install{files: []string{string(data)}}
			mended := in
			if mend, ok := mends[t.Name()]; ok {
				mended.files = []string{strings.Replace(in.files[0], mend, "", 1)}
			}
			want, got := mended.peer(t), in.ours(t)
			if d := diff(want, got); d != "" {
				t.Errorf("%s\n%s", in, d)
			}
			for _, f := range got.found {
				t.Log(f)
			}
		})
	}
}
