package kube

import (
	"sort"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ingraft/ingraft/internal/source"
)

// AppendTyped appends a value as encoding/json writes its Go type: the fields
// of a struct in the order of their declaration, zero ones left out or written
// as their tags say; the keys of a map sorted; quantities in canonical form.
// Fields that the type does not have follow the others. n must have been
// through Normalize.
func AppendTyped(dst []byte, n *source.Node, typ Type) []byte {
	switch {
	case typ == TypeQuantity && !n.IsNull():
		if q, err := resource.ParseQuantity(n.Scalar()); err == nil {
			return source.AppendJSON(dst, source.NewString(q.String()))
		}
	case typ.Kind() == KindList && n.Kind() == source.List:
		dst = append(dst, '[')
		for i, item := range n.Items() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendTyped(dst, item, typ.Elem())
		}
		return append(dst, ']')
	case typ.Kind() == KindMap && n.Kind() == source.Map:
		fields := append([]source.Field(nil), n.Fields()...)
		sort.Slice(fields, func(i, j int) bool { return fields[i].Key < fields[j].Key })
		o := object{dst: append(dst, '{')}
		for _, f := range fields {
			o.field(f.Key, f.Value, typ.Elem())
		}
		return append(o.dst, '}')
	case typ.Kind() == KindStruct && n.Kind() == source.Map:
		return appendStruct(dst, n, typ)
	}
	return source.AppendJSON(dst, n)
}

func appendStruct(dst []byte, n *source.Node, typ Type) []byte {
	o := object{dst: append(dst, '{')}
	infos := typ.Fields()
	for i := range infos {
		f := &infos[i]
		if v, present := f.seen(n.Get(f.Name)); present {
			o.field(f.Name, v, f.Type)
		}
	}
	for _, f := range n.Fields() {
		if typ.Field(f.Key) == nil {
			o.field(f.Key, f.Value, TypeAny)
		}
	}
	return append(o.dst, '}')
}

// object writes the fields of a JSON object.
type object struct {
	dst  []byte
	some bool
}

func (o *object) field(key string, v *source.Node, typ Type) {
	if o.some {
		o.dst = append(o.dst, ',')
	}
	o.some = true
	o.dst = append(source.AppendJSON(o.dst, source.NewString(key)), ':')
	o.dst = AppendTyped(o.dst, v, typ)
}
