package kube

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ingraft/ingraft/internal/source"
)

// ApplyPatch returns what an RFC 6902 patch, in JSON, makes of a value. What the
// patch does not touch is shared with the value. name is what to call the patch
// where it is wrong.
func ApplyPatch(n *source.Node, name string, patch []byte) (*source.Node, error) {
	doc, err := source.Parse(source.NewText(name, patch))
	if err != nil {
		return nil, fmt.Errorf("reading the patch: %w", err)
	}
	if doc.Root.Kind() != source.List {
		return nil, fmt.Errorf("reading the patch: it is %s, not a list of operations", doc.Root.Kind().Noun())
	}
	for i, op := range doc.Root.Items() {
		if n, err = applyOperation(n, op); err != nil {
			return nil, fmt.Errorf("operation %d, %s %s: %w", i+1, op.Get("op").Str(), op.Get("path").Str(), err)
		}
	}
	return n, nil
}

func applyOperation(n, op *source.Node) (*source.Node, error) {
	path, err := keysOf(op.Get("path"))
	if err != nil {
		return nil, err
	}
	value := op.Get("value")
	switch kind := op.Get("op").Str(); kind {
	case "add":
		return addAt(n, path, value)
	case "replace":
		if _, err := existing(n, path); err != nil {
			return nil, err
		}
		steps, err := stepsTo(n, path)
		if err != nil {
			return nil, err
		}
		return n.Put(value, steps...)
	case "remove":
		return removeAt(n, path)
	case "test":
		found, err := existing(n, path)
		if err == nil && !found.Equal(value) && (!found.IsNull() || !value.IsNull()) {
			err = fmt.Errorf("the value is another one")
		}
		return n, err
	case "move", "copy":
		from, err := keysOf(op.Get("from"))
		if err != nil {
			return nil, err
		}
		moved, err := existing(n, from)
		if err != nil {
			return nil, err
		}
		if kind == "move" {
			if n, err = removeAt(n, from); err != nil {
				return nil, err
			}
		}
		return addAt(n, path, moved)
	default:
		return nil, fmt.Errorf("there is no such operation")
	}
}

// keysOf reads an RFC 6901 pointer; the empty one leads to the whole value.
func keysOf(n *source.Node) ([]string, error) {
	text := n.Str()
	switch {
	case n.Kind() != source.String:
		return nil, fmt.Errorf("it has no pointer to where it applies")
	case text == "":
		return nil, nil
	case text[0] != '/':
		return nil, fmt.Errorf("the pointer %q does not begin with a slash", text)
	}
	keys := strings.Split(text[1:], "/")
	for i, k := range keys {
		keys[i] = strings.ReplaceAll(strings.ReplaceAll(k, "~1", "/"), "~0", "~")
	}
	return keys, nil
}

// stepsTo turns a pointer into a path. What it leads through is there; the last
// step may be a new key, or behind the last item of a list, which a dash names.
func stepsTo(n *source.Node, keys []string) ([]any, error) {
	steps := make([]any, 0, len(keys))
	for i, key := range keys {
		switch n.Kind() {
		case source.Map:
			steps = append(steps, key)
			f, ok := n.Field(key)
			if !ok && i < len(keys)-1 {
				return nil, fmt.Errorf("there is no /%s", strings.Join(keys[:i+1], "/"))
			}
			n = f.Value
		case source.List:
			at, err := strconv.Atoi(key)
			if key == "-" && i == len(keys)-1 {
				at, err = n.Len(), nil
			}
			if err != nil || at < 0 || at > n.Len() || at == n.Len() && i < len(keys)-1 || key != "-" && key != strconv.Itoa(at) {
				return nil, fmt.Errorf("the list has %d items, and none at %s", n.Len(), key)
			}
			steps = append(steps, at)
			n = n.At(at)
		default:
			return nil, fmt.Errorf("/%s is %s, and holds nothing", strings.Join(keys[:i], "/"), n.Kind().Noun())
		}
	}
	return steps, nil
}

// existing returns the value that a pointer leads to.
func existing(n *source.Node, keys []string) (*source.Node, error) {
	if len(keys) == 0 {
		return n, nil
	}
	steps, err := stepsTo(n, keys)
	if err != nil {
		return nil, err
	}
	holder := n.At(steps[:len(steps)-1]...)
	if key, ok := steps[len(steps)-1].(string); ok {
		if f, ok := holder.Field(key); ok {
			return f.Value, nil
		}
	} else if at := steps[len(steps)-1].(int); at < holder.Len() {
		return holder.At(at), nil
	}
	return nil, fmt.Errorf("there is no such value")
}

func addAt(n *source.Node, keys []string, value *source.Node) (*source.Node, error) {
	if value == nil {
		return nil, fmt.Errorf("it has no value")
	}
	steps, err := stepsTo(n, keys)
	if err != nil {
		return nil, err
	}
	if len(steps) > 0 {
		if _, ok := steps[len(steps)-1].(int); ok {
			return n.Insert(value, steps...)
		}
	}
	return n.Put(value, steps...)
}

func removeAt(n *source.Node, keys []string) (*source.Node, error) {
	if len(keys) == 0 {
		return nil, fmt.Errorf("the whole value cannot be removed")
	}
	steps, err := stepsTo(n, keys)
	if err != nil {
		return nil, err
	}
	return n.Remove(steps...)
}
