package tmpl

// Recorder learns where the output of a rendering came from.
type Recorder struct{}
