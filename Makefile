# Shortcuts. What a change has to pass is in .ci/run.

URL ?= http://127.0.0.1:8080/mcp

.PHONY: build test race soak lint fuzz conformance ci

build:
	CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o repomcp ./cmd/repomcp

test:
	go test ./...

race:
	go test -race ./...

# The comparisons with git in their full volume, and streams of GiB.
soak:
	REPOMCP_SOAK=1 go test -timeout 60m ./internal/archive/... ./internal/cache

lint:
	golangci-lint run ./...

fuzz:
	.ci/fuzz.sh 1000000x

# Wants a server: repomcp serve --root testrepos
conformance:
	npm --prefix .ci/conformance ci --ignore-scripts
	.ci/conformance/run.sh $(URL)

ci:
	.ci/run

include bench.mk
