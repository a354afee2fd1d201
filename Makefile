# Shortcuts. What a change has to pass is in .ci/run.

URL ?= http://127.0.0.1:8080/mcp

.PHONY: build test race soak lint fuzz conformance inspector ci mcpb image

build:
	CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o repomcp ./cmd/repomcp

test:
	go test ./...

race:
	go test -race ./...

# The comparisons with git in their full volume, streams of GiB, and ten minutes of a
# server under load whose mirrors are rewritten.
soak:
	REPOMCP_SOAK=1 go test -timeout 120m ./internal/...
	REPOMCP_SOAK=1 go test -run Overload ./cmd/repomcp
	REPOMCP_SOAK=1 go test -v -timeout 60m -run TestSoak ./cmd/repomcp

lint:
	golangci-lint run ./...

# Every target for long; .ci/run looks only a little further than the seeds.
fuzz:
	.ci/fuzz.sh 1000000x

# Wants a server: repomcp serve --root testrepos
conformance:
	npm --prefix .ci/conformance ci --ignore-scripts
	.ci/conformance/run.sh $(URL)

# The MCP Inspector's command line calls each tool; wants the same server. It logs in at
# another one, which it starts.
inspector: build
	npm --prefix .ci/inspector ci --ignore-scripts
	MCP_URL=$(URL) REPOMCP=$(CURDIR)/repomcp npm --prefix .ci/inspector test

ci:
	.ci/run

VERSION ?= $(shell git describe --tags --dirty 2> /dev/null || echo v0.0.0)
GOOS ?= $(shell go env GOOS)
GOARCH ?= $(shell go env GOARCH)

# A bundle that desktop clients install, for this platform or for GOOS and GOARCH.
mcpb:
	mkdir -p dist
	CGO_ENABLED=0 GOOS=$(GOOS) GOARCH=$(GOARCH) go build -trimpath -ldflags="-s -w -X main.release=$(VERSION)" \
		-o dist/$(GOOS)_$(GOARCH)/repomcp ./cmd/repomcp
	go run ./deploy/mcpb -binary dist/$(GOOS)_$(GOARCH)/repomcp -platform $(GOOS) -version $(VERSION) \
		-o dist/repomcp_$(GOOS)_$(GOARCH).mcpb

# The image for both architectures; wants docker with buildx. PUSH=--push sends it.
image:
	docker buildx build --platform linux/amd64,linux/arm64 --build-arg VERSION=$(VERSION) \
		-t ghcr.io/repomcp/repomcp:$(VERSION) $(PUSH) .

include bench.mk
