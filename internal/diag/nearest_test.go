package diag

import "testing"

func TestNearest(t *testing.T) {
	fields := []string{"drainDuration", "terminationDrainDuration", "discoveryAddress", "concurrency", "image"}
	for word, want := range map[string]string{
		"drainDuraton":     "drainDuration", // dropped
		"darinDuration":    "drainDuration", // swapped
		"DRAINDURATION":    "drainDuration", // case
		"discoveryAdress":  "discoveryAddress",
		"concurency":       "concurrency",
		"imagee":           "image",
		"img":              "",
		"somethingElse":    "",
		"":                 "",
		"discovery_adress": "discoveryAddress",
	} {
		if got := Nearest(word, fields); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
