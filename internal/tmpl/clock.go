package tmpl

// ReadsClock reports whether what the template renders may depend on the time:
// it calls a function that knows it, or one that calls any function.
func (t *Template) ReadsClock() bool {
	if t.program == nil {
		return true // nobody has looked into it
	}
	for _, f := range t.program.funcs {
		switch f.name {
		case "now", "ago", "date", "date_in_zone", "dateInZone", "htmlDate", "htmlDateInZone", "durationRound", "render", "call":
			return true
		}
	}
	return false
}
