package source

import (
	"strconv"
	"testing"
)

// A Finder finds what Field finds, in any order of asking, in small Maps and in
// big ones.
func TestFinderFindsFields(t *testing.T) {
	for _, size := range []int{0, 1, fewFields, fewFields + 1, 200} {
		fields := make([]Field, size)
		for i := range fields {
			fields[i] = F("key-"+strconv.Itoa(i), NewInt(int64(i)))
		}
		n := NewMap(fields...)
		find := n.Finder()
		for i := range 3 * (size + 2) {
			key := "key-" + strconv.Itoa(i*i%(size+2))
			want, ok := n.Field(key)
			got, found := find.Field(key)
			if got != want || found != ok || find.Get(key) != n.Get(key) {
				t.Fatalf("%d fields, %s: got %v %v, want %v %v", size, key, got, found, want, ok)
			}
		}
	}
	none := NewString("a").Finder()
	if i := none.Index("a"); i != -1 {
		t.Errorf("in a string: got %d", i)
	}
}
