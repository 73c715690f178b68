package tmpl

// Codes of this package's diagnostics.
const (
	// CodeSyntax: a template that cannot be parsed.
	CodeSyntax = "IGF0401"
	// CodeUnknown: a template asks for a function or field that release 1.31
	// does not have.
	CodeUnknown = "IGF0402"
	// CodeForbidden: a template calls a function whose result would differ
	// from one rendering to the next.
	CodeForbidden = "IGF0403"
	// CodeRender: executing a template failed.
	CodeRender = "IGF0404"
	// CodeLimit: a template is too large, does not end, or writes too much.
	CodeLimit = "IGF0405"
	// CodeValues: the values lack what a template needs.
	CodeValues = "IGF0406"
	// CodePodType: a field of the pod has a value of the wrong type.
	CodePodType = "IGF0102"
)
