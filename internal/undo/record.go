package undo

import (
	"errors"
	"strconv"
	"strings"

	"github.com/ingraft/ingraft/internal/source"
)

// Record says how to take an edit of one part of a document back.
type Record struct {
	added []place
	units []unit
	// families is what was done at handles.
	families []family
	// width is how many letters spell a place.
	width   int
	version byte
	// loose tells that the document was YAML and is JSON only by the edit: what
	// is put back need not be JSON.
	loose bool
}

// unit is one thing to do besides removing what was added.
type unit struct {
	op       op
	absolute bool
	at       place
	// stale is a hash of the text that the edit left there.
	stale uint16
	// text is what was there before.
	text string
	// inFamily tells that stale is one in which the texts of handles count as
	// one.
	inFamily bool
	// coarse tells that only the first letter of stale is known.
	coarse bool
}

type op byte

const (
	opValue op = 'v' // put text in the place of the value
	opEntry op = 'k' // ... of all between the key and the end of the value
	opLine  op = 'l' // ... of all between the key and the end of the line
	opAfter op = 'd' // put lines behind the node, and behind as many lines as the first letter says
	opOrder op = 'm' // put the items of the list into the order that text lists
)

// A record begins with its version. In those of the first, stale is a hash of
// words, and there are no families.
const (
	firstVersion = '1'
	version      = '2'
)

// The numbers of letters that may spell a place.
const (
	minWidth = 4
	maxWidth = 8
)

// letters spell six bits each. They need no quotes in YAML, and no escapes.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func appendBits(b []byte, bits uint64, n int) []byte {
	for ; n > 0; n-- {
		b = append(b, letters[bits>>58])
		bits <<= 6
	}
	return b
}

// short returns as much of a place as a record spells.
func (p place) short(width int) place { return p.mixed() & mask(width) }

func mask(width int) place { return ^place(0) << (64 - 6*width) }

// mixed spreads what the last bytes change over all bits.
func (p place) mixed() place {
	p = (p ^ p>>33) * 0xff51afd7ed558ccd
	p = (p ^ p>>33) * 0xc4ceb9fe1a85ec53
	return p ^ p>>33
}

// String writes the record, as Parse reads it.
func (r *Record) String() string {
	b := make([]byte, 0, 128)
	for _, p := range r.added {
		b = appendBits(b, uint64(p), r.width)
	}
	b = append(b, '.')
	for i := range r.families {
		b = r.families[i].append(b)
	}
	for _, u := range r.units {
		letter := byte(u.op)
		if u.absolute {
			letter -= 'a' - 'A'
		}
		b = appendBits(append(b, letter), uint64(u.at), r.width)
		b = appendBits(b, uint64(u.stale)<<48, 2)
		b = append(strconv.AppendInt(b, int64(len(u.text)), 10), ':')
		b = append(b, u.text...)
	}
	head := []byte{r.version, byte('0' + r.width)}
	if r.loose {
		head[1] = byte('A' + r.width)
	}
	return string(append(appendBits(head, checksum(r.version, b), 3), b...))
}

func checksum[T string | []byte](version byte, b T) uint64 {
	return uint64(atPart.with(version, string(b)).mixed())
}

// Overhead returns how long the record is beyond the text of the nodes that it
// restores. Such a node is the value of a unit; in a family, where several
// entries of one mapping are restored, it is that mapping, of which a key and a
// colon are counted for every entry.
func (r *Record) Overhead() int {
	n := len(r.String())
	for _, u := range r.units {
		if u.op != opOrder {
			n -= len(u.text)
		}
	}
	for _, f := range r.families {
		for j, s := range f.steps {
			for _, text := range f.texts[j] {
				n -= len(text)
				if s.op == opValue && s.key != "" {
					n -= len(s.key) + 1
				}
			}
		}
	}
	return n
}

// tells reports whether the shortened places of the record tell each other
// apart, and from all others of the part that it restores.
func (r *Record) tells(before *source.Node) bool {
	added := make(map[place]bool, len(r.added))
	for _, at := range r.added {
		if added[at] {
			return false
		}
		added[at] = true
	}
	changed := make(map[place]bool, len(r.units)) // whether it was met
	for i := range r.units {
		if !r.units[i].absolute {
			changed[r.units[i].at] = false
		}
	}
	told := true
	eachPlace(before, atPart, func(at place) {
		at = at.short(r.width)
		if met, is := changed[at]; is {
			told = told && !met
			changed[at] = true
		}
		told = told && !added[at]
	})
	return told
}

var (
	errVersion = errors.New("it is the record of another version of ingraft")
	errDamaged = errors.New("it is damaged")
)

// Parse reads a record.
func Parse(s string) (*Record, error) {
	const head = 5
	switch {
	case len(s) < head+1:
		return nil, errDamaged
	case s[0] != version && s[0] != firstVersion:
		return nil, errVersion
	}
	r := &Record{width: int(s[1]) - '0', version: s[0]}
	if r.loose = s[1] >= 'A' && s[0] != firstVersion; r.loose {
		r.width = int(s[1]) - 'A'
	}
	if r.width < minWidth || r.width > maxWidth || string(appendBits(nil, checksum(s[0], s[head:]), 3)) != s[2:head] {
		return nil, errDamaged
	}
	p := recordParser{s: s[head:], width: r.width}
	for !p.failed && !p.take('.') {
		r.added = append(r.added, p.place())
	}
	for !p.failed && r.version != firstVersion && p.take('f') {
		r.families = append(r.families, p.family())
	}
	if !p.failed && len(r.families) > 0 && !strings.HasPrefix(s[head:], r.String()[head:]) {
		return nil, errDamaged // not as it is written
	}
	for !p.failed && p.s != "" {
		u := unit{op: op(p.s[0])}
		if p.s[0] < 'a' {
			u.op, u.absolute = u.op+'a'-'A', true
		}
		p.s = p.s[1:]
		u.at = p.place()
		u.stale = uint16(p.bits(2) >> 48)
		u.text = p.text()
		switch u.op {
		case opValue, opEntry, opLine, opOrder:
		case opAfter:
			p.failed = p.failed || !isAfter(u.text)
		default:
			p.failed = true
		}
		r.units = append(r.units, u)
	}
	if p.failed {
		return nil, errDamaged
	}
	return r, nil
}

// isAfter reports whether a text is one of opAfter.
func isAfter(text string) bool { return text != "" && text[0] >= '0' && text[0] <= '9' }

type recordParser struct {
	s      string
	width  int
	failed bool
}

func (p *recordParser) take(c byte) bool {
	if p.s == "" || p.s[0] != c {
		return false
	}
	p.s = p.s[1:]
	return true
}

func (p *recordParser) bits(n int) (bits uint64) {
	for i := range n {
		v := 64
		if p.s != "" {
			v = valueOf(p.s[0])
			p.s = p.s[1:]
		}
		if v > 63 {
			p.failed = true
			return 0
		}
		bits |= uint64(v) << (58 - 6*i)
	}
	return bits
}

func valueOf(c byte) int {
	for i := range len(letters) {
		if letters[i] == c {
			return i
		}
	}
	return 64
}

func (p *recordParser) place() place { return place(p.bits(p.width)) }

func (p *recordParser) text() string {
	size := 0
	for i := 0; i < 9 && p.s != "" && p.s[0] >= '0' && p.s[0] <= '9'; i++ {
		size = size*10 + int(p.s[0]-'0')
		p.s = p.s[1:]
	}
	if !p.take(':') || size > len(p.s) {
		p.failed = true
		return ""
	}
	text := p.s[:size]
	p.s = p.s[size:]
	return text
}

// order returns the places that the text of opOrder lists.
func (r *Record) order(text string) []place {
	p := recordParser{s: text, width: r.width}
	var list []place
	for p.s != "" && !p.failed {
		list = append(list, p.place())
	}
	return list
}
