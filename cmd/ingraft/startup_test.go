package main

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var built = struct{ folder, file string }{}

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "ingraft-test-*")
	if err != nil {
		panic(err)
	}
	built.folder = folder
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// binary builds the program as it is released, once, and returns its path.
func binary(t *testing.T) string {
	t.Helper()
	if built.file == "" {
		file := filepath.Join(built.folder, "ingraft")
		build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", file, ".")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		built.file = file
	}
	return built.file
}

// initCost is what the initialization of one package costs.
type initCost struct {
	ms     float64
	allocs int
}

// Every start pays for the initialization of every package, so one that is
// dear has to be known. What is dear and known stands in allowed, with the
// reason for bearing it.
func TestInitializationIsCheap(t *testing.T) {
	const (
		maxAllocs = 500
		maxMillis = 1 // the budget is 0.5; the rest is for machines that are busy or slow
		// The least of many runs is what a package costs, whatever else the
		// machine does: there are as many as it takes to see that it is cheap.
		runs = 100
	)
	allowed := map[string]string{
		"github.com/Masterminds/semver/v3":             "Sprig imports it, and templates may use it; it compiles its patterns at once",
		"google.golang.org/protobuf/reflect/protodesc": "the mesh's messages need it",
		"k8s.io/api/core/v1":                           "templates see a pod as these types",
		"istio.io/api/mesh/v1alpha1":                   "the mesh configuration is its message",
		"istio.io/api/networking/v1alpha3":             "the mesh configuration's messages refer to it",
	}
	file := binary(t)
	least := map[string]initCost{}
	dear := func(name string) bool {
		_, known := allowed[name]
		return !known && (least[name].allocs > maxAllocs || least[name].ms > maxMillis)
	}
	for run := 0; run == 0 || run < runs && slices.ContainsFunc(slices.Collect(maps.Keys(least)), dear); run++ {
		for name, cost := range initCosts(t, file) {
			if known, ok := least[name]; ok {
				cost.ms = min(cost.ms, known.ms)
			}
			least[name] = cost
		}
	}
	if len(least) == 0 {
		t.Fatal("no initialization was traced")
	}
	for name, cost := range least {
		if dear(name) {
			t.Errorf("initializing %s takes %.2f ms and %d allocations at every start", name, cost.ms, cost.allocs)
		}
	}
	for name := range allowed {
		if _, ok := least[name]; !ok {
			t.Errorf("%s is allowed to be dear, but is not there any more", name)
		}
	}
}

func initCosts(t *testing.T, file string) map[string]initCost {
	t.Helper()
	cmd := exec.Command(file, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, trace.String())
	}
	costs := map[string]initCost{}
	for line := range strings.Lines(trace.String()) {
		// init PACKAGE @1.2 ms, 0.34 ms clock, 567 bytes, 8 allocs
		f := strings.Fields(line)
		if len(f) != 11 || f[0] != "init" {
			continue
		}
		ms, err := strconv.ParseFloat(f[4], 64)
		if err != nil {
			t.Fatalf("reading %q: %v", line, err)
		}
		allocs, err := strconv.Atoi(f[9])
		if err != nil {
			t.Fatalf("reading %q: %v", line, err)
		}
		costs[f[1]] = initCost{ms, allocs}
	}
	return costs
}

// The bound; what is linked today takes about half of it.
func TestBinaryIsSmall(t *testing.T) {
	info, err := os.Stat(binary(t))
	if err != nil {
		t.Fatal(err)
	}
	if limit := int64(40 << 20); info.Size() > limit {
		t.Errorf("the binary has %d bytes, more than %d", info.Size(), limit)
	}
}
