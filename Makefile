GO   ?= go
TOOL  = $(GO) tool -modfile=$(CURDIR)/tools/go.mod

# How many cases test/conformance generates beside the mesh's own inputs, and
# from which seed.
CASES ?= 20000
SEED  ?= 1

# The packages with tests of many cases.
WHOLE = ./internal/cli ./internal/inject ./internal/kube ./internal/tmpl

# What make image makes images for.
PLATFORMS ?= linux/amd64,linux/arm64

.PHONY: build image test conformance e2e bench lint

build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w" -o bin/ingraft ./cmd/ingraft

# A container image of ingraft, as an archive, without a container engine. The
# first platform is what docker load takes.
image:
	cd tools/image && $(GO) run . -module ../.. -o ../../bin/ingraft-image.tar -platforms $(PLATFORMS)

# Unit tests, scripts of the commands and the seeds of the fuzz targets, under
# the race detector. What compares hundreds of cases in one goroutine takes a
# portion of them there (internal/testkit/portion), and all of them without the
# detector. What waits for servers runs once. The image is made, opened, and
# what is in it run.
test:
	$(GO) test -race ./...
	$(GO) test -skip '^TestServe' $(WHOLE)
	cd tools/image && $(GO) test ./...

# ingraft beside the mesh's own module: the same inputs through both. Cold,
# the compiler takes about eight CPU minutes. The run prints its counts and
# what it reached of the mesh's injector; docs/conformance.md holds both, is
# written with UPDATE=1, and must not say anything else.
conformance:
	cd test/conformance && $(GO) test -timeout 90m -coverpkg=istio.io/istio/pkg/kube/inject \
		-coverprofile=$(or $(TMPDIR),/tmp)/ingraft-conformance.cover ./injection -args -whole -cases=$(CASES) -seed=$(SEED) $(if $(UPDATE),-update)
	cd test/conformance && $(GO) test $$($(GO) list ./... | grep -v /injection$$)

# ingraft on a real control plane, which is built from the module proxy the
# first time: that takes as long as a cup of coffee, and no C compiler. All of
# the module is built without cgo, so that packages are compiled once.
e2e:
	cd test/e2e && CGO_ENABLED=0 $(GO) run ./build
	cd test/e2e && CGO_ENABLED=0 $(GO) test -count=1 -timeout 15m ./...

# Both engines and both programs, measured in one run, and what admission adds
# to pods on a real API server: docs/performance.md.
bench: build
	cd test/e2e && CGO_ENABLED=0 $(GO) run ./build
	cd test/e2e && CGO_ENABLED=0 $(GO) test -count=1 -run '^TestAdmissionCost$$' . -args -cost $(CURDIR)/bin/admission.md
	cd test/conformance && $(GO) build -trimpath -ldflags "-s -w" -o ../../bin/istioctl istio.io/istio/istioctl/cmd/istioctl
	cd test/conformance && $(GO) run ./bench -rounds 32 -turn 2s -ingraft ../../bin/ingraft -istioctl ../../bin/istioctl -admission ../../bin/admission.md -out ../../docs/performance.md

lint:
	@unformatted=$$($(TOOL) gofumpt -l cmd internal test tools); test -z "$$unformatted" || { echo "gofumpt would change:"; echo "$$unformatted"; exit 1; }
	$(GO) vet ./...
	cd tools/image && $(GO) vet ./...
	cd test/conformance && $(GO) vet ./...
	cd test/e2e && CGO_ENABLED=0 $(GO) vet ./...
	$(TOOL) staticcheck ./...
	@out=$$($(TOOL) govulncheck ./... 2>&1) && echo "$$out" || { \
		case "$$out" in *"fetching vulnerabilities"*) echo "govulncheck: skipped, its database does not answer" ;; *) echo "$$out"; exit 1 ;; esac; }
