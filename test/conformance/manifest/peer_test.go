package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"istio.io/istio/operator/pkg/render"
	"istio.io/istio/pkg/version"
	"sigs.k8s.io/yaml"

	"github.com/ingraft/ingraft/internal/chart/builtin"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/manifest"
	"github.com/ingraft/ingraft/internal/source"
)

// A released istioctl has the images of its release compiled in, as ingraft
// has.
func init() { version.DockerInfo.Hub, version.DockerInfo.Tag = builtin.Hub, builtin.Tag }

// install is an input of both: files by their text, and settings.
type install struct {
	name  string
	files []string
	sets  []string
	force bool
}

// String shows the input, as one would repeat it.
func (in install) String() string {
	var b strings.Builder
	for i, f := range in.files {
		fmt.Fprintf(&b, "-- %d.yaml --\n%s\n", i, strings.TrimSuffix(f, "\n"))
	}
	for _, s := range in.sets {
		fmt.Fprintf(&b, "--set '%s'\n", s)
	}
	return b.String()
}

// result is what came out: objects by kind, namespace and name, or an error.
type result struct {
	objects map[string]any
	order   []string
	err     error
	found   diag.List
}

func keyOf(o map[string]any, objects map[string]any) string {
	meta, _ := o["metadata"].(map[string]any)
	key := fmt.Sprintf("%v %v %v/%v", o["apiVersion"], o["kind"], meta["namespace"], meta["name"])
	for objects[key] != nil {
		key += "+"
	}
	return key
}

// peer runs the mesh's installer.
func (in install) peer(t testing.TB) (r result) {
	defer func() {
		if p := recover(); p != nil {
			r = result{err: fmt.Errorf("panic: %v", p)}
		}
	}()
	dir := t.TempDir()
	var files []string
	for i, text := range in.files {
		file := filepath.Join(dir, fmt.Sprintf("%d.yaml", i))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	sets, _, err := render.GenerateManifest(files, in.sets, in.force, nil, nil)
	if err != nil {
		return result{err: err}
	}
	r.objects = map[string]any{}
	for _, set := range sets {
		for _, m := range set.Manifests {
			var o map[string]any
			data, err := json.Marshal(m.Object)
			if err == nil {
				err = json.Unmarshal(data, &o)
			}
			if err != nil {
				t.Fatal(err)
			}
			r.objects[keyOf(o, r.objects)] = o
		}
	}
	return r
}

// ours runs ingraft.
func (in install) ours(t testing.TB) result {
	input := manifest.Input{Force: in.force}
	for i, text := range in.files {
		input.Files = append(input.Files, manifest.File{Name: fmt.Sprintf("%d.yaml", i), In: strings.NewReader(text)})
	}
	var found diag.List
	for _, text := range in.sets {
		s, bad := manifest.ParseSetting(text)
		if bad != nil {
			return result{err: bad, found: diag.List{bad}}
		}
		input.Settings = append(input.Settings, s)
	}
	res, more, err := manifest.Generate(input)
	r := result{err: err, found: append(found, more...)}
	for _, d := range r.found {
		if d.Severity == diag.Error && r.err == nil {
			r.err = d
		}
	}
	if r.err != nil {
		return r
	}
	r.objects = map[string]any{}
	for _, o := range res.Objects {
		var object map[string]any
		if err := json.Unmarshal(source.AppendJSON(nil, o.Root), &object); err != nil {
			t.Fatal(err)
		}
		key := keyOf(object, r.objects)
		r.objects[key] = object
		r.order = append(r.order, key)
	}
	return r
}

// diff compares two results; "" where they are the same.
func diff(want, got result) string {
	switch {
	case want.err != nil && got.err != nil:
		return ""
	case want.err != nil || got.err != nil:
		return fmt.Sprintf("the mesh's: %v\nours: %v", want.err, got.err)
	}
	var keys []string
	for key := range want.objects {
		keys = append(keys, key)
	}
	for key := range got.objects {
		if want.objects[key] == nil {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var b strings.Builder
	for _, key := range keys {
		w, g := want.objects[key], got.objects[key]
		switch {
		case w == nil:
			fmt.Fprintf(&b, "%s: only ours\n", key)
		case g == nil:
			fmt.Fprintf(&b, "%s: only the mesh's\n", key)
		default:
			compare(&b, key, w, g)
		}
	}
	return b.String()
}

// compare writes the values in which two objects differ, a line each.
func compare(b *strings.Builder, path string, want, got any) {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		keys := slices.Collect(maps.Keys(w))
		for key := range g {
			if _, both := w[key]; !both {
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
		for _, key := range keys {
			_, inWant := w[key]
			_, inGot := g[key]
			switch at := path + "." + key; {
			case !inWant:
				fmt.Fprintf(b, "%s: only ours: %s\n", at, short(g[key]))
			case !inGot && w[key] == nil:
				count("a null of an object that is patched")
			case !inGot:
				fmt.Fprintf(b, "%s: only the mesh's: %s\n", at, short(w[key]))
			default:
				compare(b, at, w[key], g[key])
			}
		}
		return
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			break
		}
		for i := range w {
			compare(b, fmt.Sprintf("%s[%d]", path, i), w[i], g[i])
		}
		return
	}
	if isText(want, got) {
		count("text that the installer takes for a number or a boolean")
		return
	}
	if w, ok := want.(string); ok {
		if g, ok := got.(string); ok && compareTexts(b, path, w, g) {
			return
		}
	}
	if !reflect.DeepEqual(want, got) {
		fmt.Fprintf(b, "%s: the mesh's %s, ours %s\n", path, short(want), short(got))
	}
}

// compareTexts compares texts that hold JSON or YAML objects; it reports false
// where they do not.
func compareTexts(b *strings.Builder, path, want, got string) bool {
	if want == got {
		return true
	}
	var w, g map[string]any
	if yaml.Unmarshal([]byte(want), &w) != nil || yaml.Unmarshal([]byte(got), &g) != nil || w == nil || g == nil {
		return false
	}
	before, kinds := b.Len(), counted()
	compare(b, path+"|", w, g)
	return b.Len() > before || counted() > kinds
}

// isText tells a value that the mesh's installer has read as a number or a
// boolean, and that is the text that was written with us: 1.1 and "1.10", true
// and "t"; also where it is the tag of an image.
func isText(want, got any) bool {
	g, ok := got.(string)
	if !ok || want == nil || want == got {
		return false
	}
	if w, ok := want.(string); ok {
		for _, sep := range []string{":", "-distroless"} {
			i, j := strings.LastIndex(w, sep), strings.LastIndex(g, sep)
			switch {
			case i < 0 || j < 0:
			case sep == ":" && w[:i] == g[:j]:
				return isText(w[i+1:], g[j+1:])
			case sep != ":" && w[i:] == g[j:]:
				return isText(w[:i], g[:j])
			}
		}
	}
	if f, err := strconv.ParseFloat(g, 64); err == nil {
		return fmt.Sprint(want) == fmt.Sprint(f) || fmt.Sprint(want) == strconv.FormatFloat(f, 'f', -1, 64)
	}
	b, err := strconv.ParseBool(g)
	return err == nil && fmt.Sprint(want) == fmt.Sprint(b)
}

// The kinds of difference that docs/differences.md lists, and how often each
// was seen.
var (
	kindsMutex sync.Mutex
	kinds      = map[string]int{}
)

func count(kind string) {
	kindsMutex.Lock()
	defer kindsMutex.Unlock()
	kinds[kind]++
}

func counted() (n int) {
	kindsMutex.Lock()
	defer kindsMutex.Unlock()
	for _, c := range kinds {
		n += c
	}
	return n
}

func short(v any) string {
	data, _ := json.Marshal(v)
	if len(data) > 400 {
		data = append(data[:400], "..."...)
	}
	return string(data)
}

// profiles lists the profiles of the release.
func profiles(t testing.TB) []string {
	entries, err := os.ReadDir(filepath.Join(moduleDir(), "manifests", "profiles"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// moduleDir is the folder of the mesh's module.
var moduleDir = sync.OnceValue(func() string {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "istio.io/istio").Output()
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(out))
})
