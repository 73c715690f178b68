package tmpl

import (
	"slices"
	"testing"

	"github.com/ingraft/ingraft/internal/source"
)

// Slices that share their beginning must not share what is added to it.
func TestGrowerCopiesWhatBranches(t *testing.T) {
	var g grower[int]
	var all [][]int
	var want [][]int
	add := func(from, item int) {
		all = append(all, g.grow(all[from], item))
		want = append(want, append(slices.Clone(want[from]), item))
	}
	all, want = append(all, nil), append(want, nil)
	for i := range 200 {
		add(i*7%len(all), i)
		add(len(all)-1, -i)
		add(len(all)-1, -i)
	}
	for i := range all {
		if !slices.Equal(all[i], want[i]) {
			t.Fatalf("slice %d: got %v, want %v", i, all[i], want[i])
		}
	}
	if n := testing.AllocsPerRun(1, func() {
		var list []int
		for i := range 1000 {
			list = g.grow(list, i)
		}
	}); n > 20 {
		t.Errorf("a thousand items took %v allocations", n)
	}
}

func TestAppendInTemplates(t *testing.T) {
	for _, test := range []struct{ template, want string }{
		{`{{ $a := list 1 }}{{ $b := append $a 2 }}{{ $c := append $b 3 }}{{ $d := push $b 4 }}{{ $e := append $c 5 }}{{ $b }}{{ $c }}{{ $d }}{{ $e }}`, "[1 2][1 2 3][1 2 4][1 2 3 5]"},
		{`{{ $a := append (list) 1 }}{{ $b := append (slice $a 0 0) 2 }}{{ $a }}{{ $b }}`, "[1][2]"},
		{`{{ $a := append (append (list) 1) 2 }}{{ $b := append (slice $a 0 1) 3 }}{{ $c := append $a 4 }}{{ $a }}{{ $b }}{{ $c }}`, "[1 2][1 3][1 2 4]"},
	} {
		tm, d := Parse("t", source.NewText("t", []byte(test.template)))
		if d != nil {
			t.Fatal(d)
		}
		out, d := tm.Render(&Data{}, Env{}, nil)
		if d != nil || string(out) != test.want {
			t.Errorf("%s:\ngot  %s %v\nwant %s", test.template, out, d, test.want)
		}
	}
}
