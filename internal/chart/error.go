package chart

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/template"
)

// Error says where in a chart rendering failed, and why.
type Error struct {
	// Template is the file that failed: istiod/templates/zzz_profile.yaml. It
	// may be one that the template being rendered includes.
	Template string
	// Line counts from 1 and Col, in bytes, from 0 as text/template has it;
	// Line 0 means that the place is not known.
	Line, Col int
	// Message says what is wrong; where the chart itself complained (fail,
	// required), it is the chart's words.
	Message string
	// Chart tells that the chart itself complained: the values are at fault.
	Chart bool

	err error
}

// Error returns the place and the message on one line.
func (e *Error) Error() string {
	place := e.Template
	if e.Line > 0 {
		place += fmt.Sprintf(":%d:%d", e.Line, e.Col+1)
	}
	return "rendering " + place + ": " + e.Message
}

// Unwrap returns the error of text/template.
func (e *Error) Unwrap() error { return e.err }

// newError reads an error of text/template: a parse error, or a chain of
// execution errors of which the innermost counts that lies in a file.
func newError(file string, err error) *Error {
	e := &Error{Template: file, Message: err.Error(), err: err}
	e.locate(file, err)
	for inner := error(err); ; {
		var exec template.ExecError
		if !errors.As(inner, &exec) {
			break
		}
		e.locate(file, exec.Err)
		inner = errors.Unwrap(exec.Err)
	}
	if parse, ok := strings.CutPrefix(e.Message, "error calling tpl: "); ok {
		e.locate(file, errors.New(parse))
	}
	var f *failure
	if errors.As(err, &f) {
		e.Message, e.Chart = strings.TrimSpace(f.message), true
	}
	return e
}

// locate reads "template: name:line:col: executing ... at <...>: message",
// whose middle parts may be missing.
func (e *Error) locate(file string, err error) {
	rest, ok := strings.CutPrefix(err.Error(), "template: ")
	if !ok {
		return
	}
	name, rest, ok := strings.Cut(rest, ":")
	if !ok {
		return
	}
	line, rest := leadingNumber(rest)
	col := 0
	if after, ok := strings.CutPrefix(rest, ":"); ok {
		if n, tail := leadingNumber(after); tail != after {
			col, rest = n, tail
		}
	}
	if strings.Contains(name, "/") { // not the text of a tpl, which has no file
		e.Template, e.Line, e.Col = name, line, col
	}
	message := strings.TrimPrefix(rest, ": ")
	if strings.HasPrefix(message, "executing ") {
		if _, after, ok := strings.Cut(message, ">: "); ok {
			message = after
		}
	}
	e.Message = message
}

// leadingNumber splits off the digits that a text begins with.
func leadingNumber(s string) (n int, rest string) {
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(s[:end])
	if err != nil {
		return 0, s
	}
	return n, s[end:]
}
