GO ?= go

.PHONY: build test conformance lint
build:
	$(GO) build -trimpath -ldflags "-s -w" -o bin/ingraft ./cmd/ingraft

test:
	$(GO) test -race ./...

lint:
	$(GO) vet ./...

# The tests that run ingraft beside the mesh's own module. Cold, the compiler
# takes about eight CPU minutes; after that a few seconds.
conformance:
	cd test/conformance && $(GO) test ./...
