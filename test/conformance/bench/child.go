package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/ingraft/ingraft/test/conformance/bench/side"
)

// child is the process in which one side is measured.
type child struct {
	name    string
	process *exec.Cmd
	stdin   io.Closer
	orders  *json.Encoder
	answers *json.Decoder
}

// buildSides builds the programs of both sides, as go run has built this one: so
// nothing but the linking is done anew.
func buildSides(folder string) error { return buildPrograms(folder, os.Environ(), "ours", "peer") }

// newChild starts the program of a side.
func newChild(folder, name string) (*child, error) {
	c := &child{name: name, process: exec.Command(filepath.Join(folder, name), folder)}
	c.process.Stderr = os.Stderr
	in, err := c.process.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	out, err := c.process.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	if err := c.process.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	c.stdin, c.orders, c.answers = in, json.NewEncoder(in), json.NewDecoder(out)
	return c, nil
}

// do has an order carried out.
func (c *child) do(o side.Order) (side.Answer, error) {
	var a side.Answer
	if err := c.orders.Encode(o); err != nil {
		return a, fmt.Errorf("asking %s: %w", c.name, err)
	}
	if err := c.answers.Decode(&a); err != nil {
		return a, fmt.Errorf("hearing of %s: %w", c.name, err)
	}
	if a.Error != "" {
		return a, errors.New(c.name + ": " + a.Error)
	}
	return a, nil
}

func (c *child) measure(o side.Order) (cost, error) {
	a, err := c.do(o)
	return cost{wall: time.Duration(a.Wall), out: a.Out, allocs: a.Allocs, allocated: a.Allocated}, err
}

// end lets the process end, which it does when there are no more orders.
func (c *child) end() {
	_ = c.stdin.Close()
	_ = c.process.Wait() // what it said was heard already
}
