package source

// Finder finds the fields of one Map by key: in constant time, also where there
// are many. It serves loops over the keys of one Map that look them up in
// another; Field and Get look through all fields for each key.
//
// The zero Finder finds nothing. A Finder is not for several goroutines.
type Finder struct {
	fields []Field
	// next is where the next key is looked for first: two versions of a Map
	// mostly have their fields in the same order.
	next  int
	index map[string]int // of a big Map, made when it is needed
}

// fewFields is up to how many fields looking through all is as quick as an index.
const fewFields = 16

// Finder returns a Finder of the fields of a Map, which finds nothing in other
// nodes.
func (n *Node) Finder() Finder { return Finder{fields: n.Fields()} }

// Index returns the index of the field with a key, -1 where there is none.
func (f *Finder) Index(key string) int {
	if f.next < len(f.fields) && f.fields[f.next].Key == key {
		f.next++
		return f.next - 1
	}
	i := f.search(key)
	if i >= 0 {
		f.next = i + 1
	}
	return i
}

func (f *Finder) search(key string) int {
	if len(f.fields) <= fewFields {
		for i := range f.fields {
			if f.fields[i].Key == key {
				return i
			}
		}
		return -1
	}
	if f.index == nil {
		f.index = make(map[string]int, len(f.fields))
		for i := range f.fields {
			f.index[f.fields[i].Key] = i
		}
	}
	if i, ok := f.index[key]; ok {
		return i
	}
	return -1
}

// Field returns the field with a key.
func (f *Finder) Field(key string) (Field, bool) {
	if i := f.Index(key); i >= 0 {
		return f.fields[i], true
	}
	return Field{}, false
}

// Get returns the value of the field with a key, nil where there is none.
func (f *Finder) Get(key string) *Node {
	if i := f.Index(key); i >= 0 {
		return f.fields[i].Value
	}
	return nil
}
