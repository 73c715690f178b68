package manifest

import "testing"

func TestParsePath(t *testing.T) {
	for _, tc := range []struct{ path, want string }{
		{"a.b", "a|b"},
		{`a.example\.com/b`, `a|example\.com/b`},
		{"a//b.c", "a//b|c"},
		{".a.", "a"},
		{"a[0].b", "a|[0]|b"},
		{"a.[name:x.y].b", "a|[name:x.y]|b"},
		{"a.[:x]", "a|[:x]"},
		{"a[-1]", "a|[-1]"},
		{"a[x", "a[x"},
		{"a[b]c", "a[b]c"},
		{"a[b]", "a|[b]"},
		{"", ""},
	} {
		got := ""
		for i, s := range parsePath(tc.path) {
			if i > 0 {
				got += "|"
			}
			got += s.String()
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", tc.path, got, tc.want)
		}
	}
}
