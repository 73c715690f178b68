package chart

import (
	"reflect"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestMatch(t *testing.T) {
	for _, tc := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true},
		{"", "a", false},
		{"a", "a", true},
		{"*", "a", true},
		{"*", "", true},
		{"*", "a/b", false},
		{"**", "a/b", true},
		{"**/b", "a/x/b", true},
		{"a/*/c", "a/b/c", true},
		{"a/*/c", "a/b/b/c", false},
		{"a/**/c", "a/b/b/c", true},
		{"*.yaml", "a.yaml", true},
		{"*.yaml", "d/a.yaml", false},
		{"**.yaml", "d/a.yaml", true},
		{"**a*b", "a/axb/ab", true},
		{"**a*b", "a/b", false},
		{"?", "/", false},
		{"?b", "äb", true},
		{"[ab]c", "bc", true},
		{"[!ab]c", "bc", false},
		{"[!a-c]d", "xd", true},
		{"[a-c]d", "xd", false},
		{"{a,b*}/c", "bx/c", true},
		{"{a,b}{c,d}", "ad", true},
		{"x{a,{b,c}y}", "xcy", true},
		{"{a,b}", "c", false},
		{`\*`, "*", true},
		{`\*`, "a", false},
		{`\{a`, "{a", true},
		{"a},", "a},", true},
	} {
		got, err := match(tc.pattern, tc.name)
		if err != nil || got != tc.want {
			t.Errorf("match(%q, %q) = %v, %v; want %v", tc.pattern, tc.name, got, err, tc.want)
		}
	}
	for _, pattern := range []string{"[", "{a", `\`, "[]", "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"} {
		if _, err := match(pattern, "x"); err == nil {
			t.Errorf("match(%q) accepts the pattern", pattern)
		}
	}
	if f := (Files{"a": nil, "b": nil}).Glob("["); len(f) != 2 {
		t.Errorf("a malformed pattern matches %d files, want all", len(f))
	}
}

// Helm's Lines panics on an empty file.
func TestLinesOfAnEmptyFile(t *testing.T) {
	if l := (Files{"a": {}}).Lines("a"); len(l) != 0 {
		t.Errorf("%q", l)
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("**/{a,b[!c]}?*", "x/y/bdz")
	f.Add(`\`, "")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern) > 64 || len(name) > 64 {
			return
		}
		ok, err := match(pattern, name)
		if ok && err != nil {
			t.Errorf("match(%q, %q) both matches and fails: %v", pattern, name, err)
		}
	})
}

// FuzzFromYAML holds fromYaml, which reads with our own parser, to what the
// library makes of the text, errors included; and a second call with the same
// text to the first, also where the result of the first was changed.
func FuzzFromYAML(f *testing.F) {
	for _, seed := range []string{
		"", "a: 1", "a: {b: [1, 2.5, x, null, ~, yes, 0x10, 1e3]}", "- 1", "text", "a: [", "a: 1\na: 2",
		"a: &x {b: 1}\nc: *x", "a: 1\n---\nb: 2", "? [a]\n: 1", "1: 2\ntrue: 3", "a: 123456789012345678901234567890",
		"a: .inf", "a: 1\n...\n", "\ufeffa: 1", "a: !!str 1", "a: |\n  x\n  y\n", "{}", "null", "a: 2001-01-01", "a:\tb",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want := map[string]any{}
		if err := yaml.Unmarshal([]byte(text), &want); err != nil {
			want["Error"] = err.Error()
		}
		r := &renderer{}
		got := r.fromYAML(text)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("fromYaml %q\ngot  %#v\nwant %#v", text, got, want)
		}
		for k := range got {
			got[k] = "changed"
		}
		if again := r.fromYAML(text); !reflect.DeepEqual(again, want) {
			t.Errorf("the second call gives %#v, want %#v", again, want)
		}
	})
}

// FuzzToYAML holds toYaml to what the library writes.
func FuzzToYAML(f *testing.F) {
	for _, seed := range []string{
		"a: [1, 2.5, 1e30, -0.0, 1e-7]\nb: {c: null, d: 'yes', e: '', f: ' x', g: \"a\\nb\"}", "x", "[]", "{}", "- - 1\n- {}\n",
		"a: \"<&>\\u2028\"", "a: 'null'\nb: '1'\nc: '0x1'\nd: '2001-01-01'\n'': 1\n'y': n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if yaml.Unmarshal([]byte(text), &v) != nil {
			return
		}
		data, err := yaml.Marshal(v)
		if err != nil {
			return
		}
		if got := toYAML(v) + "\n"; got != string(data) {
			t.Errorf("toYaml %#v\ngot  %q\nwant %q", v, got, data)
		}
	})
}
