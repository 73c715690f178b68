package manifest

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// IsSame reports whether nothing differs.
func (d *Diff) IsSame() bool { return len(d.Objects) == 0 }

// count returns how many objects are in a state.
func (d *Diff) count(state string) int {
	n := 0
	for _, o := range d.Objects {
		if o.State == state {
			n++
		}
	}
	return n
}

var marks = map[string]string{Added: "+", Removed: "-", Changed: "~"}

// WriteText writes the differences for people: what there is on one screen,
// what needs care, then every change.
func (d *Diff) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s added, %d removed, %d changed, %d the same\n", plural(d.count(Added), "object"), d.count(Removed), d.count(Changed), d.Same)
	if !d.IsSame() {
		d.writeKinds(&b)
		d.writeCare(&b)
		d.writeChanges(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (d *Diff) writeKinds(b *strings.Builder) {
	var kinds []string
	counts := map[string]map[string]int{}
	for _, o := range d.Objects {
		if counts[o.Kind] == nil {
			counts[o.Kind] = map[string]int{}
			kinds = append(kinds, o.Kind)
		}
		counts[o.Kind][o.State]++
	}
	slices.Sort(kinds)
	t := newTable(b, "Kinds", "KIND", "ADDED", "REMOVED", "CHANGED")
	for _, k := range kinds {
		cells := []string{k}
		for _, state := range [...]string{Added, Removed, Changed} {
			cell := ""
			if n := counts[k][state]; n > 0 {
				cell = strconv.Itoa(n)
			}
			cells = append(cells, cell)
		}
		t.row(cells...)
	}
	t.end()
}

func (d *Diff) writeCare(b *strings.Builder) {
	first := true
	for i := range d.Objects {
		for _, c := range d.Objects[i].Care {
			if first {
				b.WriteString("\nNeeds care\n")
				first = false
			}
			fmt.Fprintf(b, "  %s: %s\n", &d.Objects[i], c)
		}
	}
}

func (d *Diff) writeChanges(b *strings.Builder) {
	for i := range d.Objects {
		o := &d.Objects[i]
		fmt.Fprintf(b, "\n%s %s\n", marks[o.State], o)
		for _, c := range o.Changes {
			fmt.Fprintf(b, "    %s\n", c.Path)
			for _, side := range [...][2]string{{"-", c.Before}, {"+", c.After}} {
				if side[1] == "" {
					continue
				}
				for line := range strings.SplitSeq(side[1], "\n") {
					fmt.Fprintf(b, "      %s %s\n", side[0], line)
				}
			}
		}
	}
}
