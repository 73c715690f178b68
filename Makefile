GO ?= go

.PHONY: build test lint
build:
	$(GO) build -trimpath -ldflags "-s -w" -o bin/ingraft ./cmd/ingraft

test:
	$(GO) test -race ./...

lint:
	$(GO) vet ./...
