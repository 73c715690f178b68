package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestTableIsFresh(t *testing.T) {
	want, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join("..", "..", "..", "internal", "config", "values_table.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("internal/config/values_table.go is not what the control plane's type says; print it anew with go run ./valuestable")
	}
}
