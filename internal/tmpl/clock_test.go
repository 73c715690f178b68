package tmpl

import "testing"

func TestReadsClock(t *testing.T) {
	for text, want := range map[string]bool{
		`{{ .Values.global.tag }}`: false,
		`{{ now }}`:                true,
		`{{ if false }}{{ ago .Values.since }}{{ end }}`: true,
		`{{ htmlDate 0 }}`:                                       true,
		`{{ toDate "2006" "2026" }}`:                             false,
		`{{ define "x" }}{{ now }}{{ end }}{{ template "x" . }}`: true,
	} {
		tm := parseTemplate(t, text)
		if got := tm.ReadsClock(); got != want {
			t.Errorf("%s: %v", text, got)
		}
		if !tm.Reference().ReadsClock() {
			t.Errorf("%s: nothing is known of the reference, yet it reads no clock", text)
		}
	}
}

func TestNeedsReads(t *testing.T) {
	path := func(p ...string) []string { return p }
	for _, tt := range []struct {
		text string
		path []string
		want bool
	}{
		{`{{ .ObjectMeta.Name }}`, path("ObjectMeta", "Name"), true},
		{`{{ .ObjectMeta.Name }}`, path("ObjectMeta", "UID"), false},
		{`{{ annotation .ObjectMeta "a/b" "" }}`, path("ObjectMeta", "Name"), false},
		{`{{ toJson .ObjectMeta }}`, path("ObjectMeta", "Name"), true},
		{`{{ toJson . }}`, path("Spec", "Volumes", "[]", "Name"), true},
		{`{{ range .Spec.Volumes }}{{ .Name }}{{ end }}`, path("Spec", "Volumes", "[]", "Name"), true},
		{`{{ range .Spec.Volumes }}x{{ end }}`, path("Spec", "Volumes", "[]", "Name"), false},
		{`{{ len .Spec.Containers }}`, path("Spec", "Containers", "[]", "VolumeMounts", "[]", "Name"), true},
		{`x`, path("Spec"), false},
	} {
		if got := parseTemplate(t, tt.text).Needs().Reads(tt.path...); got != tt.want {
			t.Errorf("%s: %v: %v", tt.text, tt.path, got)
		}
	}
}
