package chart

import (
	"encoding/base64"
	"path"
	"strings"
)

// Files is the .Files of templates: name, from the chart's folder on, to
// content.
type Files map[string][]byte

// GetBytes returns the content of a file; empty where there is no such file.
func (f Files) GetBytes(name string) []byte {
	if data, ok := f[name]; ok {
		return data
	}
	return []byte{}
}

// Get is GetBytes as text.
func (f Files) Get(name string) string { return string(f[name]) }

// Glob returns the files whose names match a pattern; see [match]. All files
// match a pattern that is malformed, as for Helm.
func (f Files) Glob(pattern string) Files {
	out := Files{}
	for name, data := range f {
		if ok, err := match(pattern, name); ok || err != nil {
			out[name] = data
		}
	}
	return out
}

// AsConfig returns the files as the data of a ConfigMap: a YAML object of base
// name to text.
func (f Files) AsConfig() string {
	return f.data(func(data []byte) string { return string(data) })
}

// AsSecrets returns the files as the data of a Secret: a YAML object of base
// name to base64.
func (f Files) AsSecrets() string { return f.data(base64.StdEncoding.EncodeToString) }

func (f Files) data(encode func([]byte) string) string {
	if f == nil {
		return ""
	}
	m := make(map[string]any, len(f))
	for name, data := range f {
		m[path.Base(name)] = encode(data)
	}
	return toYAML(m)
}

// Lines returns the lines of a file; none where there is no such file, or
// where it is empty.
func (f Files) Lines(name string) []string {
	if len(f[name]) == 0 {
		return []string{}
	}
	return strings.Split(strings.TrimSuffix(string(f[name]), "\n"), "\n")
}
