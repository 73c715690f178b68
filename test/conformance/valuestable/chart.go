package main

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"istio.io/istio/manifests"
	"istio.io/istio/operator/pkg/apis"
	"sigs.k8s.io/yaml"
)

// The chart whose values the injector is given.
const chart = "charts/istio-control/istio-discovery"

// chartOnly returns the paths that the chart or the templates of injection
// know, and the type does not, sorted: what lies below such a path is left out.
func chartOnly() ([]string, error) {
	text, err := fs.ReadFile(manifests.FS, path.Join(chart, "values.yaml"))
	if err != nil {
		return nil, err
	}
	var values struct {
		Defaults map[string]any `json:"_internal_defaults_do_not_set"`
	}
	if err := yaml.Unmarshal(text, &values); err != nil {
		return nil, fmt.Errorf("reading the chart's values: %w", err)
	}
	md := (&apis.Values{}).ProtoReflect().Descriptor()
	only := map[string]bool{"_internal_defaults_do_not_set": true}
	addUnknown(only, md, nil, values.Defaults)

	reference := regexp.MustCompile(`\.Values((\.[A-Za-z0-9_]+)+)`)
	err = fs.WalkDir(manifests.FS, chart, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Base(file) == "values.yaml" {
			return err
		}
		text, err := fs.ReadFile(manifests.FS, file)
		for _, m := range reference.FindAllStringSubmatch(string(text), -1) {
			if p, unknown := firstUnknown(md, strings.Split(m[1], ".")[1:]); unknown {
				only[p] = true
			}
		}
		return err
	})
	return slices.Sorted(maps.Keys(only)), err
}

func addUnknown(only map[string]bool, md protoreflect.MessageDescriptor, above []string, values map[string]any) {
	for key, v := range values {
		p := append(slices.Clone(above), key)
		if name, unknown := firstUnknown(md, p); unknown {
			only[name] = true
		} else if below, ok := v.(map[string]any); ok {
			addUnknown(only, md, p, below)
		}
	}
}

// firstUnknown returns the part of a path down to the first key that the type
// does not know.
func firstUnknown(md protoreflect.MessageDescriptor, keys []string) (string, bool) {
	for i, key := range keys {
		fd := md.Fields().ByJSONName(key)
		if fd == nil {
			fd = md.Fields().ByName(protoreflect.Name(key))
		}
		if fd == nil {
			return strings.Join(keys[:i+1], "."), true
		}
		if md = fd.Message(); md == nil || fd.IsList() || fd.IsMap() || md.ParentFile().Package() == "google.protobuf" {
			return "", false
		}
	}
	return "", false
}
