# Shortcuts. What a change has to pass is in .ci/run.

URL ?= http://127.0.0.1:8080/mcp

.PHONY: build test race soak lint fuzz conformance inspector ci

build:
	CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o repomcp ./cmd/repomcp

test:
	go test ./...

race:
	go test -race ./...

# The comparisons with git in their full volume, and streams of GiB.
soak:
	REPOMCP_SOAK=1 go test -timeout 120m ./internal/...

lint:
	golangci-lint run ./...

# Every target for long; .ci/run looks only a little further than the seeds.
fuzz:
	.ci/fuzz.sh 1000000x

# Wants a server: repomcp serve --root testrepos
conformance:
	npm --prefix .ci/conformance ci --ignore-scripts
	.ci/conformance/run.sh $(URL)

# The MCP Inspector's command line calls each tool; wants the same server.
inspector:
	npm --prefix .ci/inspector ci --ignore-scripts
	MCP_URL=$(URL) npm --prefix .ci/inspector test

ci:
	.ci/run

include bench.mk
