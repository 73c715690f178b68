package manifest

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// WriteKinds writes one line "count kind" a kind, as uniq -c does.
func (s *Summary) WriteKinds(w io.Writer) error {
	counts := map[string]int{}
	var names []string
	for _, k := range s.Kinds { // sorted by kind
		if counts[k.Kind] == 0 {
			names = append(names, k.Kind)
		}
		counts[k.Kind] += k.Count
	}
	for _, name := range names {
		if _, err := fmt.Fprintf(w, "%7d %s\n", counts[name], name); err != nil {
			return err
		}
	}
	return nil
}

// table writes one section of a text: its title, and rows below a head.
type table struct {
	b *strings.Builder
	w *tabwriter.Writer
}

func newTable(b *strings.Builder, title string, head ...string) *table {
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	b.WriteString(title + "\n")
	t := &table{b, tabwriter.NewWriter(b, 0, 4, 2, ' ', 0)}
	t.row(head...)
	return t
}

func (t *table) row(cells ...string) {
	for i, c := range cells {
		if c == "" {
			cells[i] = "-"
		}
	}
	fmt.Fprintln(t.w, "  "+strings.Join(cells, "\t"))
}

func (t *table) end() { t.w.Flush() } // into memory: no error

// WriteText writes the summary for people. Sections without content are left
// out.
func (s *Summary) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s\n", plural(s.Objects, "object"), in(s.Namespaces))
	s.writeObjects(&b)
	s.writeCRDs(&b)
	s.writeWebhooks(&b)
	s.writeAccess(&b)
	if len(s.Workloads) > 0 {
		t := newTable(&b, "Workloads: what runs, and what a pod of it requests", "WORKLOAD", "PODS", "CPU", "MEMORY", "CPU LIMIT", "MEMORY LIMIT")
		for _, l := range s.Workloads {
			t.row(l.Kind+" "+strings.TrimPrefix(l.Namespace+"/"+l.Name, "/"), l.pods(), l.Requests.CPU, l.Requests.Memory, l.Limits.CPU, l.Limits.Memory)
		}
		t.row("all, at first", "", s.Requests.CPU, s.Requests.Memory, "", "")
		t.end()
	}
	if len(s.Ports) > 0 {
		t := newTable(&b, "Ports of Services", "SERVICE", "TYPE", "PORT", "NAME", "TARGET")
		for _, p := range s.Ports {
			t.row(strings.TrimPrefix(p.Namespace+"/"+p.Service, "/"), p.Type, strconv.FormatInt(p.Port, 10)+"/"+p.Protocol, p.Name, p.Target)
		}
		t.end()
	}
	if len(s.Images) > 0 {
		t := newTable(&b, "Images", "IMAGE", "USED BY")
		for _, i := range s.Images {
			t.row(i.Image, strings.Join(i.UsedBy, ", "))
		}
		t.end()
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func in(namespaces []string) string {
	switch len(namespaces) {
	case 0:
		return ""
	case 1:
		return " in namespace " + namespaces[0]
	}
	return " in namespaces " + strings.Join(namespaces, ", ")
}

func (s *Summary) writeObjects(b *strings.Builder) {
	if len(s.Kinds) == 0 {
		return
	}
	t := newTable(b, "Kinds", "KIND", "API", "LIVES IN", "COUNT")
	for _, k := range s.Kinds {
		scope := "namespace"
		if k.ClusterScoped {
			scope = "cluster"
		}
		t.row(k.Kind, k.APIVersion, scope, strconv.Itoa(k.Count))
	}
	t.end()
	if len(s.Components) < 2 {
		return
	}
	t = newTable(b, "Components", "COMPONENT", "OBJECTS", "KINDS")
	for _, c := range s.Components {
		var kinds []string
		for _, k := range c.Kinds {
			kinds = append(kinds, k.Kind+" "+strconv.Itoa(k.Count))
		}
		t.row(c.Name, strconv.Itoa(c.Objects), strings.Join(kinds, ", "))
	}
	t.end()
}

func (s *Summary) writeCRDs(b *strings.Builder) {
	if len(s.CRDs) == 0 {
		return
	}
	t := newTable(b, "Custom resources", "GROUP", "RESOURCE", "SCOPE", "VERSIONS (* stored)")
	for _, g := range s.CRDs {
		for _, r := range g.Resources {
			var versions []string
			for _, v := range r.Versions {
				name := v.Name
				if v.Storage {
					name += "*"
				}
				if !v.Served {
					name += " (not served)"
				}
				versions = append(versions, name)
			}
			t.row(g.Group, r.Plural, r.Scope, strings.Join(versions, ", "))
		}
	}
	t.end()
}

func (s *Summary) writeWebhooks(b *strings.Builder) {
	if len(s.Webhooks) == 0 {
		return
	}
	b.WriteString("\nWebhooks: who is asked when something changes\n")
	for _, h := range s.Webhooks {
		fmt.Fprintf(b, "  %s (%s, of %s)\n", h.Name, h.Type, h.Configuration)
		fmt.Fprintf(b, "    about   %s\n", strings.Join(h.Rules, "; "))
		fmt.Fprintf(b, "    where   %s\n", h.Selects)
		fmt.Fprintf(b, "    asks    %s; failure policy %s\n", h.Calls, h.FailurePolicy)
	}
}

func (s *Summary) writeAccess(b *strings.Builder) {
	if len(s.Access) == 0 {
		return
	}
	t := newTable(b, "Rights: what needs care comes first", "WHO", "WHERE", "CARE: MAY", "BY")
	for _, withCare := range [...]bool{true, false} {
		for _, a := range s.Access {
			if (len(a.Care) > 0) == withCare {
				where := "everywhere"
				if a.Namespace != "" {
					where = "in " + a.Namespace
				}
				t.row(a.Subject, where, strings.Join(a.Care, ", "), a.Role)
			}
		}
	}
	t.end()
}

func (w *Workload) pods() string {
	if w.Replicas == nil {
		return "one a node"
	}
	text := strconv.FormatInt(*w.Replicas, 10)
	if w.MaxReplicas > *w.Replicas {
		text += " to " + strconv.FormatInt(w.MaxReplicas, 10)
	}
	return text
}
