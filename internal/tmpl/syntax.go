package tmpl

import (
	"strconv"
	"strings"
	"sync/atomic"
	"text/template/parse"
)

// This file reads templates into programs that eval.go executes: the same language
// as text/template's, in a form that is quick to make and to run, that knows
// the end of every statement, and whose variables are numbered. It accepts what
// it is sure of; any other template, faulty ones included, has no program and
// is left to text/template. Tests and fuzzers compare the two.

// program is a template and the templates that it defines. Its parts lie in
// tables and name each other by index: in a process that renders once, memory
// is what costs most.
type program struct {
	text    string
	dialect *Dialect
	main    *block
	defines map[string]*block
	mutates bool // a function changes its arguments
	renders bool // function render runs texts that may do so

	stmts  []stmt
	bodies []body
	pipes  []pipe
	cmds   []cmd
	words  []operand
	fields []int32 // names in chains, as indexes in idents
	idents []string
	consts []constant
	funcs  []*funcRef
	names  []string                    // of templates invoked
	memos  []atomic.Pointer[fieldMemo] // by ident: what it means for the types met
}

// block is the body of a template.
type block struct {
	name  string
	list  part
	slots int      // variables that it needs, $ included
	at    textSpan // its name in {{define "name"}}
}

// part is a part of a table.
type part struct{ first, n int32 }

type textSpan struct{ start, end int32 }

type stmtKind uint8

const (
	stmtText stmtKind = iota
	stmtAction
	stmtIf
	stmtWith
	stmtRange
	stmtTemplate
	stmtBreak
	stmtContinue
)

// stmt is a statement: text, or {{...}} up to its {{end}}.
type stmt struct {
	kind     stmtKind
	textSpan       // the text, or the opening {{...}}
	pipe     int32 // -1: none
	more     int32 // if, with, range: index in bodies; template: in names
}

// body is what stands between {{if}} and {{end}}.
type body struct{ list, els part }

// pipe is a pipeline.
type pipe struct {
	textSpan
	cmds   part
	decl   [2]int32 // slots of the variables that it declares or assigns
	decls  uint8
	assign bool
}

func (p *pipe) declares() []int32 { return p.decl[:p.decls] }

// cmd is a command of a pipeline: a value, or a function and its arguments, as
// a part of program.words.
type cmd part

type operandKind uint8

const (
	operandDot operandKind = iota
	operandNil
	operandConst  // ref: index in consts
	operandString // spelled as it is between quotes
	operandField  // .A.B
	operandVar    // $x.A.B; ref: the slot
	operandFunc   // ref: index in funcs
	operandPipe   // (pipeline).A.B; ref: index in pipes
)

type operand struct {
	kind   operandKind
	fields uint8 // how many follow
	first  int32 // the first of them
	textSpan
	ref int32
}

// constant is a literal that text alone does not give: a string with escapes, a
// boolean or a number.
type constant struct {
	value any               // where any type will do
	num   *parse.NumberNode // nil if it is no number
}

func (p *program) list(r part) []stmt       { return p.stmts[r.first : r.first+r.n] }
func (p *program) commands(pi *pipe) []cmd  { return p.cmds[pi.cmds.first : pi.cmds.first+pi.cmds.n] }
func (p *program) operands(c cmd) []operand { return p.words[c.first : c.first+c.n] }

// str returns a literal string.
func (p *program) str(o *operand) string { return p.text[o.start+1 : o.end-1] }

// field returns a name of a chain.
func (p *program) field(i int32) string { return p.idents[p.fields[i]] }

// parseProgram returns the program of a template, or nil where it is not sure.
// The text must not change.
func parseProgram(text string, dialect *Dialect) *program {
	n := strings.Count(text, "{{")
	p := &parser{in: text, known: make(map[string]int32, 100), program: &program{
		text: text, dialect: dialect, defines: map[string]*block{},
		stmts: make([]stmt, 0, 3*n/2), pipes: make([]pipe, 0, n), cmds: make([]cmd, 0, 9*n/8), words: make([]operand, 0, 5*n/2), fields: make([]int32, 0, 2*n),
	}}
	main := &block{name: engineName}
	p.begin(main)
	list, stop, ok := p.list()
	if !ok || stop != stopEOF || p.defines[engineName] != nil { // or it redefines itself
		return nil
	}
	main.list, p.main = list, main
	p.memos = make([]atomic.Pointer[fieldMemo], len(p.idents))
	return p.program
}

// parser reads text from left to right. Its methods report false where they
// meet what they are not sure of; nothing is read after that.
type parser struct {
	*program
	in    string
	pos   int
	block *block
	vars  []string // names of the variables in scope, without $; the index is the slot
	loops int
	depth int
	ended int              // where the last right delimiter ended, without blanks trimmed
	known map[string]int32 // idents
	// otherwise is where the {{ of the {{else that was read last stands.
	otherwise int32

	// What is being read, innermost last: the tables hold what has been.
	stmtStack []stmt
	cmdStack  []cmd
	wordStack []operand
}

const maxNesting = 200

func (p *parser) begin(b *block) {
	p.block, p.vars, p.loops = b, []string{""}, 0
	b.slots = 1
}

// stop is what ended a list of statements.
type stop uint8

const (
	stopEOF stop = iota
	stopEnd
	stopElse // {{else}}, {{else if}} or {{else with}}: the keyword is not read
)

// list reads statements up to an {{end}} or {{else}} that is not theirs, or to
// the end of the text.
func (p *parser) list() (part, stop, bool) {
	if p.depth++; p.depth > maxNesting {
		return part{}, 0, false
	}
	mark := len(p.stmtStack)
	s, ok := p.statements()
	list := p.keep(p.stmtStack[mark:])
	p.stmtStack = p.stmtStack[:mark]
	p.depth--
	return list, s, ok
}

func (p *parser) keep(list []stmt) part {
	r := part{int32(len(p.stmts)), int32(len(list))}
	p.stmts = append(p.stmts, list...)
	return r
}

func (p *parser) statements() (stop, bool) {
	for {
		p.textStmt()
		if p.pos == len(p.in) {
			return stopEOF, true
		}
		st := stmt{pipe: -1}
		st.start = int32(p.pos)
		p.leftDelim()
		if strings.HasPrefix(p.in[p.pos:], "/*") {
			if !p.comment() {
				return 0, false
			}
			continue
		}
		p.space()
		mark := p.pos
		ok := true
		switch p.word() {
		case "end":
			p.space()
			return stopEnd, p.rightDelim()
		case "else":
			p.otherwise = st.start
			p.space()
			return stopElse, true
		case "define":
			if p.block.name != engineName || p.depth != 1 || !p.define() {
				return 0, false
			}
			continue
		case "if", "with", "range":
			p.pos = mark
			ok = p.control(&st)
		case "template":
			ok = p.template(&st)
		case "break", "continue":
			st.kind = stmtBreak
			if p.in[mark] == 'c' {
				st.kind = stmtContinue
			}
			p.space()
			ok = p.loops > 0 && p.rightDelim()
			st.end = int32(p.ended)
		case "block", "nil":
			return 0, false
		default:
			p.pos = mark
			st.kind = stmtAction
			st.pipe, ok = p.pipeline(false)
			ok = ok && p.rightDelim()
			st.end = int32(p.ended)
		}
		if !ok {
			return 0, false
		}
		p.stmtStack = append(p.stmtStack, st)
	}
}

// textStmt reads the text up to the next left delimiter, as the trim marks
// leave it.
func (p *parser) textStmt() {
	end := len(p.in)
	i := strings.Index(p.in[p.pos:], p.dialect.left)
	if i >= 0 {
		end = p.pos + i
	}
	text := p.in[p.pos:end]
	if i >= 0 && trimsLeft(p.in[end+2:]) {
		text = strings.TrimRight(text, spaces)
	}
	if text != "" {
		p.stmtStack = append(p.stmtStack, stmt{kind: stmtText, textSpan: textSpan{int32(p.pos), int32(p.pos + len(text))}, pipe: -1})
	}
	p.pos = end
}

const spaces = " \t\r\n"

func trimsLeft(s string) bool { return len(s) >= 2 && s[0] == '-' && isSpace(s[1]) }

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func (p *parser) leftDelim() {
	p.pos += 2
	if trimsLeft(p.in[p.pos:]) {
		p.pos += 2
	}
}

// rightDelim reads }} or, after a blank, -}} with the blanks that it trims.
func (p *parser) rightDelim() bool {
	rest := p.in[p.pos:]
	switch {
	case strings.HasPrefix(rest, p.dialect.right):
		p.pos += 2
		p.ended = p.pos
		return true
	case isSpace(p.in[p.pos-1]) && p.trimsRight(rest):
		p.pos += 3
		p.ended = p.pos
		p.space()
		return true
	}
	return false
}

// trimsRight tells a right delimiter that trims the blanks behind it.
func (p *parser) trimsRight(rest string) bool {
	return strings.HasPrefix(rest, "-") && strings.HasPrefix(rest[1:], p.dialect.right)
}

func (p *parser) atRightDelim() bool {
	rest := p.in[p.pos:]
	return strings.HasPrefix(rest, p.dialect.right) || isSpace(p.in[p.pos-1]) && p.trimsRight(rest)
}

// comment skips /* */ and the delimiter, which must follow at once.
func (p *parser) comment() bool {
	i := strings.Index(p.in[p.pos+2:], "*/")
	if i < 0 {
		return false
	}
	p.pos += 2 + i + 2
	if p.pos < len(p.in) && isSpace(p.in[p.pos]) {
		p.pos++
	}
	if strings.HasPrefix(p.in[p.pos:], p.dialect.right) && isSpace(p.in[p.pos-1]) {
		return false // text/template wants them together
	}
	return p.rightDelim()
}

func (p *parser) space() {
	for p.pos < len(p.in) && isSpace(p.in[p.pos]) {
		p.pos++
	}
}

// word reads letters, digits and underscores; "" where there are none, or
// something follows that cannot.
func (p *parser) word() string {
	start := p.pos
	for p.pos < len(p.in) && isNameByte(p.in[p.pos]) {
		p.pos++
	}
	if !p.atTerminator() {
		return ""
	}
	return p.in[start:p.pos]
}

func (p *parser) atTerminator() bool {
	if p.pos == len(p.in) {
		return false
	}
	switch c := p.in[p.pos]; c {
	case ' ', '\t', '\r', '\n', '.', ',', '|', ':', ')', '(':
		return true
	}
	return strings.HasPrefix(p.in[p.pos:], p.dialect.right)
}

// define reads {{define "name"}} after its keyword, up to its {{end}}.
func (p *parser) define() bool {
	p.space()
	at := textSpan{start: int32(p.pos)}
	name, ok := p.quoted()
	at.end = int32(p.pos)
	p.space()
	if !ok || !p.rightDelim() || p.defines[name] != nil {
		return false
	}
	outer, vars, loops := p.block, p.vars, p.loops
	b := &block{name: name, at: at}
	p.begin(b)
	list, s, ok := p.list()
	if !ok || s != stopEnd {
		return false
	}
	b.list = list
	p.defines[name] = b
	p.block, p.vars, p.loops = outer, vars, loops
	return true
}

// control reads if, with or range from its keyword on, up to its {{end}}.
func (p *parser) control(st *stmt) bool {
	word := p.word()
	switch word {
	case "if":
		st.kind = stmtIf
	case "with":
		st.kind = stmtWith
	default:
		st.kind = stmtRange
	}
	scope := len(p.vars)
	ok := p.branches(st, word)
	p.vars = p.vars[:scope]
	return ok
}

func (p *parser) branches(st *stmt, word string) (ok bool) {
	p.space()
	if st.pipe, ok = p.pipeline(st.kind == stmtRange); !ok || !p.rightDelim() {
		return false
	}
	st.end, st.more = int32(p.ended), int32(len(p.bodies))
	p.bodies = append(p.bodies, body{})
	inner := len(p.vars)
	if st.kind == stmtRange {
		p.loops++
	}
	list, s, ok := p.list()
	if !ok || s == stopEOF {
		return false
	}
	p.bodies[st.more].list = list
	p.vars = p.vars[:inner]
	if st.kind == stmtRange {
		p.loops--
	}
	if s == stopEnd {
		return true
	}
	if p.atRightDelim() {
		p.rightDelim()
		list, s, ok := p.list()
		p.bodies[st.more].els = list
		return ok && s == stopEnd
	}
	// {{else if}} and {{else with}} share the {{end}}.
	nested, keyword := stmt{pipe: -1}, p.pos
	nested.start = p.otherwise
	if next := p.word(); next != word || st.kind == stmtRange {
		return false
	}
	p.pos = keyword
	if p.depth++; p.depth > maxNesting || !p.control(&nested) {
		return false
	}
	p.depth--
	p.bodies[st.more].els = p.keep([]stmt{nested})
	return true
}

// template reads {{template "name" pipeline}} after its keyword.
func (p *parser) template(st *stmt) (ok bool) {
	st.kind = stmtTemplate
	p.space()
	name, ok := p.quoted()
	if !ok || !p.atTerminator() {
		return false
	}
	st.more = int32(len(p.names))
	p.names = append(p.names, name)
	p.space()
	if !p.atRightDelim() {
		if st.pipe, ok = p.pipeline(false); !ok || p.pipes[st.pipe].decls > 0 {
			return false
		}
	}
	ok = p.rightDelim()
	st.end = int32(p.ended)
	return ok
}

// pipeline reads a pipeline of a statement, with what it declares, up to the
// right delimiter.
func (p *parser) pipeline(ranges bool) (int32, bool) {
	pi := pipe{textSpan: textSpan{start: int32(p.pos)}}
	names, ok := p.declaration(&pi, ranges)
	if !ok || !p.readCommands(&pi) || !p.atRightDelim() {
		return 0, false
	}
	for i, name := range names {
		slot := len(p.vars)
		if pi.assign {
			slot = p.slot(name)
		} else {
			p.vars = append(p.vars, name)
			p.block.slots = max(p.block.slots, len(p.vars))
		}
		if slot < 0 {
			return 0, false
		}
		pi.decl[i] = int32(slot)
		pi.decls++
	}
	return p.keepPipe(pi), true
}

func (p *parser) keepPipe(pi pipe) int32 {
	p.pipes = append(p.pipes, pi)
	return int32(len(p.pipes) - 1)
}

// declaration reads "$x :=", "$x =" and, for range, "$x, $y :=", if there.
func (p *parser) declaration(pi *pipe, ranges bool) (names []string, ok bool) {
	mark := p.pos
	for p.pos < len(p.in) && p.in[p.pos] == '$' {
		p.pos++
		name := p.word()
		p.space()
		names = append(names, name)
		rest := p.in[p.pos:]
		switch {
		case strings.HasPrefix(rest, ":="):
			p.pos += 2
		case strings.HasPrefix(rest, "="):
			p.pos++
			pi.assign = true
		case strings.HasPrefix(rest, ",") && ranges && len(names) == 1:
			p.pos++
			p.space()
			continue
		default:
			p.pos = mark
			return nil, len(names) == 1
		}
		p.space()
		return names, name != "" && names[0] != ""
	}
	return nil, len(names) == 0
}

func (p *parser) slot(name string) int {
	for i := len(p.vars) - 1; i >= 0; i-- {
		if p.vars[i] == name {
			return i
		}
	}
	return -1
}

// readCommands reads commands separated by | up to a delimiter or parenthesis.
func (p *parser) readCommands(pi *pipe) bool {
	if p.depth++; p.depth > maxNesting {
		return false
	}
	mark := len(p.cmdStack)
	for more := true; more; {
		c, ok := p.command(pi)
		if !ok || len(p.cmdStack) > mark && p.words[c.first].kind <= operandString {
			return false // or not executable
		}
		p.cmdStack = append(p.cmdStack, c)
		if more = p.in[p.pos] == '|'; more {
			p.pos++
			p.space()
		}
	}
	pi.cmds = part{int32(len(p.cmds)), int32(len(p.cmdStack) - mark)}
	p.cmds = append(p.cmds, p.cmdStack[mark:]...)
	p.cmdStack = p.cmdStack[:mark]
	p.depth--
	return true
}

// command reads words up to a pipe, a delimiter or a parenthesis.
func (p *parser) command(pi *pipe) (cmd, bool) {
	mark := len(p.wordStack)
	for {
		o, ok := p.operand()
		if !ok {
			return cmd{}, false
		}
		p.wordStack = append(p.wordStack, o)
		pi.end = o.end
		blank := p.pos < len(p.in) && isSpace(p.in[p.pos])
		p.space()
		if p.pos == len(p.in) {
			return cmd{}, false
		}
		if p.in[p.pos] == '|' || p.in[p.pos] == ')' || p.atRightDelim() {
			break
		}
		if !blank {
			return cmd{}, false
		}
	}
	c := cmd{int32(len(p.words)), int32(len(p.wordStack) - mark)}
	p.words = append(p.words, p.wordStack[mark:]...)
	p.wordStack = p.wordStack[:mark]
	return c, true
}

func (p *parser) operand() (operand, bool) {
	o := operand{textSpan: textSpan{start: int32(p.pos)}}
	if p.pos == len(p.in) {
		return o, false
	}
	ok := true
	switch c := p.in[p.pos]; {
	case c == '"' || c == '`':
		var s string
		s, ok = p.quoted()
		if o.kind = operandString; ok && s != p.in[o.start+1:p.pos-1] {
			p.constant(&o, s, nil)
		}
	case c == '(':
		o.kind = operandPipe
		o.ref, ok = p.parenthesis()
		ok = ok && p.chain(&o)
	case c == '$':
		p.pos++
		o.kind = operandVar
		name := p.word()
		o.ref = int32(p.slot(name))
		ok = o.ref >= 0 && p.atTerminator() && p.chain(&o)
	case c == '.' && p.pos+1 < len(p.in) && isDigit(p.in[p.pos+1]):
		return o, false
	case c == '.':
		if p.pos++; p.atTerminator() {
			o.kind = operandDot
			ok = p.in[p.pos] != '.'
			break
		}
		p.pos--
		o.kind = operandField
		ok = p.chain(&o)
	case c == '-' || isDigit(c):
		ok = p.number(&o)
	case isNameByte(c):
		switch word := p.word(); word {
		case "":
			return o, false
		case "true", "false":
			p.constant(&o, word == "true", nil)
		case "nil":
			o.kind = operandNil
		case "block", "break", "continue", "define", "else", "end", "if", "range", "template", "with":
			return o, false
		default:
			o.kind = operandFunc
			o.ref = p.function(word)
			ok = o.ref >= 0
		}
		ok = ok && p.in[p.pos] != '.'
	default:
		ok = false
	}
	o.end = int32(p.pos)
	return o, ok
}

func (p *parser) constant(o *operand, v any, num *parse.NumberNode) {
	o.kind, o.ref = operandConst, int32(len(p.consts))
	p.consts = append(p.consts, constant{v, num})
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// parenthesis reads ( pipeline ). It declares nothing.
func (p *parser) parenthesis() (int32, bool) {
	p.pos++
	p.space()
	pi := pipe{textSpan: textSpan{start: int32(p.pos)}}
	if !p.readCommands(&pi) || p.in[p.pos] != ')' {
		return 0, false
	}
	p.pos++
	return p.keepPipe(pi), true
}

// chain reads the fields that follow at once: .A.B
func (p *parser) chain(o *operand) bool {
	o.first = int32(len(p.fields))
	for p.pos < len(p.in) && p.in[p.pos] == '.' {
		p.pos++
		if p.pos < len(p.in) && isDigit(p.in[p.pos]) || o.fields == 255 {
			return false
		}
		name := p.word()
		if name == "" {
			return false
		}
		p.fields = append(p.fields, p.ident(name))
		o.fields++
	}
	return true
}

// ident returns the index of a name.
func (p *parser) ident(name string) int32 {
	i, ok := p.known[name]
	if !ok {
		i = int32(len(p.idents))
		p.known[name] = i
		p.idents = append(p.idents, name)
	}
	return i
}

// number reads decimal numbers; others are left to text/template.
func (p *parser) number(o *operand) bool {
	start := p.pos
	if p.in[p.pos] == '-' {
		p.pos++
	}
	for p.pos < len(p.in) && (isDigit(p.in[p.pos]) || p.in[p.pos] == '.') {
		p.pos++
	}
	text := p.in[start:p.pos]
	digits := strings.TrimPrefix(text, "-")
	if p.pos == len(p.in) || isNameByte(p.in[p.pos]) || p.in[p.pos] == '+' || p.in[p.pos] == '-' ||
		p.in[p.pos] >= 0x80 || digits == "" || len(digits) > 15 || digits[0] == '.' {
		return false
	}
	n := &parse.NumberNode{NodeType: parse.NodeNumber, Text: text}
	if strings.Contains(text, ".") {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return false
		}
		n.IsFloat, n.Float64 = true, f
		n.Int64, n.IsInt = int64(f), float64(int64(f)) == f
		n.Uint64, n.IsUint = uint64(f), float64(uint64(f)) == f
		p.constant(o, f, n)
	} else {
		i, err := strconv.ParseInt(text, 10, 64)
		if err != nil || i == 0 && len(text) > 1 || digits[0] == '0' && i != 0 {
			return false // octal, or a signed zero
		}
		n.IsInt, n.Int64, n.IsFloat, n.Float64 = true, i, true, float64(i)
		n.IsUint, n.Uint64 = i >= 0, uint64(i)
		p.constant(o, int(i), n)
	}
	return true
}

// quoted reads a string in quotes or backquotes.
func (p *parser) quoted() (string, bool) {
	if p.pos == len(p.in) {
		return "", false
	}
	start, quote := p.pos, p.in[p.pos]
	if quote != '"' && quote != '`' {
		return "", false
	}
	for p.pos++; p.pos < len(p.in); p.pos++ {
		switch c := p.in[p.pos]; {
		case c == quote:
			p.pos++
			s, err := strconv.Unquote(p.in[start:p.pos])
			return s, err == nil
		case c == '\n' && quote == '"':
			return "", false
		case c == '\\' && quote == '"':
			p.pos++
		}
	}
	return "", false
}
