package kube

// The table of schema_table.go is laid out by the linker: nothing runs at
// program start, and only the pages that a lookup touches are read.

//go:generate go run gen_schema.go

// Type is the type of a value as the Go types of k8s.io/api have it.
type Type uint16

// The types without fields or items. TypeAny is any value at all, kept as it
// is. Each numbers its entry of the generated table.
const (
	TypeAny Type = iota
	TypeString
	TypeBool
	TypeInt32
	TypeInt64
	TypeQuantity
	TypeIntOrString
	TypeTime
)

// TypeKind says how the values of a type are built.
type TypeKind uint8

// The kinds of type.
const (
	KindScalar TypeKind = iota // and TypeAny
	KindStruct                 // an object with fields of given names
	KindMap                    // an object with any keys
	KindList
)

type typeInfo struct {
	name string
	lo   uint16 // of its first field in fieldTable
	n    uint16
	elem Type
	kind TypeKind
}

// FieldInfo is one field of a struct type.
type FieldInfo struct {
	// Name is the field's name in JSON.
	Name string
	// MergeKey is the field that items of a list are merged by; "" if none.
	MergeKey string
	// Type is the type of the value.
	Type  Type
	flags fieldFlags
}

type fieldFlags uint8

const (
	pointer    fieldFlags = 1 << iota // the Go field is a pointer: zero and absent differ
	always                            // encoding/json writes it even if it is zero
	merge                             // patch strategy: lists are merged
	retainKeys                        // patch strategy
	inlined                           // the Go field is one of an embedded struct
	replaced                          // patch strategy: an object is replaced as a whole
)

// Merged reports whether strategic merge merges the items of the list, by
// MergeKey if they are objects; other lists are replaced.
func (f *FieldInfo) Merged() bool { return f.flags&merge != 0 }

// Optional reports whether the Go types tell an absent value from a zero one.
func (f *FieldInfo) Optional() bool { return f.flags&pointer != 0 }

// Kind returns how values of the type are built.
func (t Type) Kind() TypeKind { return typeTable[t].kind }

// Elem returns the type of the items of a KindList or of the values of a
// KindMap.
func (t Type) Elem() Type { return typeTable[t].elem }

// Name returns the name of the Go type of a KindStruct, or that of a type
// without fields; "" for lists and maps.
func (t Type) Name() string { return typeTable[t].name }

// String describes the type: "Container", "list of EnvVar", "map of string".
func (t Type) String() string {
	switch t.Kind() {
	case KindList:
		return "list of " + t.Elem().String()
	case KindMap:
		return "map of " + t.Elem().String()
	}
	return t.Name()
}

// Fields returns the fields of a KindStruct in the order of their declaration;
// nil for all else. The slice must not be changed.
func (t Type) Fields() []FieldInfo {
	info := &typeTable[t]
	return fieldTable[info.lo : int(info.lo)+int(info.n) : int(info.lo)+int(info.n)]
}

// Field returns the field of a KindStruct with that name, or nil.
func (t Type) Field(name string) *FieldInfo {
	fields := t.Fields()
	for i := range fields {
		if fields[i].Name == name {
			return &fields[i]
		}
	}
	return nil
}

// TypeOf returns the type of an object that this package knows, TypeAny for
// all others. Old versions have the type of the newest, as the control plane's
// injector reads them.
func TypeOf(ref Ref) Type {
	_, groups, ok := known(ref.Kind)
	if !ok || !hasWord(groups, Group(ref.APIVersion)) {
		return TypeAny
	}
	switch ref.Kind {
	case "Pod":
		return TypePod
	case "PodTemplate":
		return TypePodTemplate
	case "ReplicationController":
		return TypeReplicationController
	case "Deployment":
		return TypeDeployment
	case "DaemonSet":
		return TypeDaemonSet
	case "ReplicaSet":
		return TypeReplicaSet
	case "StatefulSet":
		return TypeStatefulSet
	case "Job":
		return TypeJob
	case "CronJob", "ScheduledJob":
		return TypeCronJob
	case "DeploymentConfig":
		return TypeDeploymentConfig
	}
	return TypeAny
}
