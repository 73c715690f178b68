package injection

import (
	"cmp"
	"slices"
)

// shrink returns a smaller case that still fails: small ones are tried until
// none fails any more, or until tries are used up. fails must be true for c.
func shrink(c testCase, tries int, fails func(testCase) bool) testCase {
	for progress := true; progress; {
		progress = false
		for candidate := range smaller(c) {
			if tries--; tries < 0 {
				return c
			}
			if fails(candidate) {
				c, progress = candidate, true
				break
			}
		}
	}
	return c
}

// smaller yields cases that are one step smaller than c, big steps first.
func smaller(c testCase) func(yield func(testCase) bool) {
	return func(yield func(testCase) bool) {
		if c.Then != nil {
			d := c
			d.Then = nil
			if !yield(d) {
				return
			}
			if c.Then.String() != c.Recipe.String() {
				d := c
				d.Then = &c.Recipe
				if !yield(d) {
					return
				}
			}
			for r := range smallerRecipes(*c.Then) {
				d := c
				d.Then = &r
				if !yield(d) {
					return
				}
			}
		}
		for r := range smallerRecipes(c.Recipe) {
			d := c
			if c.Then != nil && c.Then.String() == c.Recipe.String() {
				d.Then = &r
			}
			d.Recipe = r
			if !yield(d) {
				return
			}
		}
		if c.Path != "" {
			d := c
			d.Path = ""
			if !yield(d) {
				return
			}
		}
		whole := complete(c.Object)
		for o := range smallerValues(c.Object) {
			m, ok := o.(object)
			if !ok || m["kind"] == nil || m["apiVersion"] == nil || whole && !complete(m) {
				continue
			}
			d := c
			d.Object = m
			if !yield(d) {
				return
			}
		}
	}
}

// complete tells that the containers of an object have a name and an image, and
// their ports and variables what makes them one: what is left of a case should
// be about the injectors.
func complete(o object) bool {
	for _, w := range workloadsOf(o) {
		spec, _ := w.template["spec"].(object)
		for _, c := range append(items(spec, "containers"), items(spec, "initContainers")...) {
			if c["name"] == nil || c["image"] == nil {
				return false
			}
			for list, key := range map[string]string{"ports": "containerPort", "env": "name", "volumeMounts": "mountPath"} {
				for _, e := range items(c, list) {
					if e[key] == nil {
						return false
					}
				}
			}
		}
		for _, list := range []string{"volumes", "imagePullSecrets"} {
			for _, e := range items(spec, list) {
				if e["name"] == nil {
					return false
				}
			}
		}
	}
	return true
}

func smallerRecipes(r recipe) func(yield func(recipe) bool) {
	return func(yield func(recipe) bool) {
		if len(r.Edits) > 1 {
			half := len(r.Edits) / 2
			for _, edits := range [][]edit{r.Edits[:half], r.Edits[half:]} {
				d := r
				d.Edits = edits
				if !yield(d) {
					return
				}
			}
		}
		for i := range r.Edits {
			d := r
			d.Edits = slices.Delete(slices.Clone(r.Edits), i, i+1)
			if !yield(d) {
				return
			}
		}
		if len(r.Set) > 0 || r.File != "" {
			d := r
			d.Set, d.File = nil, ""
			if !yield(d) {
				return
			}
		}
		if r.Revision != "" {
			d := r
			d.Revision = ""
			if !yield(d) {
				return
			}
		}
	}
}

// smallerValues yields trees with one node fewer or simpler than v. v is not
// changed; what a yielded tree leaves alone it shares with v.
func smallerValues(v any) func(yield func(any) bool) {
	return func(yield func(any) bool) {
		switch v := v.(type) {
		case object:
			keys := make([]string, 0, len(v))
			for k := range v {
				keys = append(keys, k)
			}
			// The values that hold most first.
			slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(size(v[b]), size(v[a])), cmp.Compare(a, b)) })
			for _, k := range keys {
				if !yield(without(v, k)) {
					return
				}
			}
			for _, k := range keys {
				for e := range smallerValues(v[k]) {
					m := without(v, k)
					m[k] = e
					if !yield(m) {
						return
					}
				}
			}
		case []any:
			for i := range v {
				if !yield(slices.Delete(slices.Clone(v), i, i+1)) {
					return
				}
			}
			for i := range v {
				for e := range smallerValues(v[i]) {
					l := slices.Clone(v)
					l[i] = e
					if !yield(l) {
						return
					}
				}
			}
		case string:
			if len(v) > 8 {
				if !yield(v[:len(v)/2]) || !yield(v[:len(v)-1]) {
					return
				}
			}
		}
	}
}

func without(m object, key string) object {
	c := make(object, len(m))
	for k, v := range m {
		if k != key {
			c[k] = v
		}
	}
	return c
}

func size(v any) int {
	n := 1
	switch v := v.(type) {
	case object:
		for _, e := range v {
			n += size(e)
		}
	case []any:
		for _, e := range v {
			n += size(e)
		}
	}
	return n
}
