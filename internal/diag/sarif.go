package diag

import (
	"io"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Tool is the program that a SARIF log names as the source of its findings.
type Tool struct {
	Name, Version, URI string
}

// The parts of SARIF 2.1.0 that ingraft writes; names are those of the
// standard's schema.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri,omitempty"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string        `json:"id"`
		ShortDescription *sarifMessage `json:"shortDescription,omitempty"`
		FullDescription  *sarifMessage `json:"fullDescription,omitempty"`
		DefaultConfig    *sarifConfig  `json:"defaultConfiguration,omitempty"`
	}
	sarifConfig struct {
		Level string `json:"level"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId,omitempty"`
		RuleIndex *int            `json:"ruleIndex,omitempty"`
		Level     string          `json:"level"`
		Message   sarifMessage    `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
		EndLine     int `json:"endLine"`
		EndColumn   int `json:"endColumn"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
		Kind               string `json:"kind"`
	}
)

// WriteSARIF prints the findings as a SARIF 2.1.0 log with one run, as code
// hosts and editors read it.
func WriteSARIF(w io.Writer, l List, tool Tool) error {
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: tool.Name, Version: tool.Version, InformationURI: tool.URI, Rules: []sarifRule{}}},
		ColumnKind: "unicodeCodePoints",
		Results:    []sarifResult{},
	}
	sorted := Sorted(l)
	for _, d := range sorted {
		if d.Code != "" && !slices.ContainsFunc(run.Tool.Driver.Rules, func(r sarifRule) bool { return r.ID == d.Code }) {
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, ruleOf(d.Code))
		}
	}
	slices.SortFunc(run.Tool.Driver.Rules, func(a, b sarifRule) int { return strings.Compare(a.ID, b.ID) })
	for _, d := range sorted {
		run.Results = append(run.Results, resultOf(d, run.Tool.Driver.Rules))
	}
	return encode(w, sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{run},
	})
}

func ruleOf(code string) sarifRule {
	r := sarifRule{ID: code}
	if c, ok := LookupCode(code); ok {
		r.ShortDescription = &sarifMessage{c.Title}
		r.FullDescription = &sarifMessage{c.Explanation}
		r.DefaultConfig = &sarifConfig{sarifLevel(c.Severity)}
	}
	return r
}

func resultOf(d *Diagnostic, rules []sarifRule) sarifResult {
	r := sarifResult{RuleID: d.Code, Level: sarifLevel(d.Severity), Message: sarifMessage{d.Message}}
	if d.Fix != "" {
		r.Message.Text += "; fix: " + d.Fix
	}
	if i := slices.IndexFunc(rules, func(r sarifRule) bool { return r.ID == d.Code }); i >= 0 {
		r.RuleIndex = &i
	}
	var loc sarifLocation
	if pos := d.Pos(); pos.File != "" {
		loc.Physical = &sarifPhysical{Artifact: sarifArtifact{fileURI(pos.File)}}
		if pos.IsValid() {
			end := d.Span.Text.Pos(d.Span.End)
			loc.Physical.Region = &sarifRegion{pos.Line, pos.Col, end.Line, end.Col}
		}
	}
	if d.Object != "" {
		name := d.Object
		if d.Manifest != "" {
			name = d.Manifest + ": " + name
		}
		loc.Logical = []sarifLogical{{FullyQualifiedName: name, Kind: "object"}}
	}
	if loc.Physical != nil || loc.Logical != nil {
		r.Locations = []sarifLocation{loc}
	}
	return r
}

func sarifLevel(s Severity) string {
	return [...]string{Info: "note", Warning: "warning", Error: "error"}[s]
}

// fileURI returns the relative or absolute reference for a path; standard
// input has no address and is called stdin.
func fileURI(file string) string {
	if file == "-" {
		return "stdin"
	}
	u := url.URL{Path: strings.ReplaceAll(file, `\`, "/")}
	if path.IsAbs(u.Path) {
		u.Scheme = "file"
	}
	return u.String()
}
