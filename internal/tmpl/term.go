package tmpl

// term says where a value came from.
type term struct{}

var rootTerm = &term{}
