# syntax=docker/dockerfile:1
# Builds for the platforms that buildx is told, with the toolchain of this machine:
#   docker buildx build --platform linux/amd64,linux/arm64 --build-arg VERSION=v1.2.3 .
FROM --platform=$BUILDPLATFORM golang:1.26 AS builder
WORKDIR /src
# Modules have a layer of their own, which changes of the code leave alone.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH
# Without it the version is what git says.
ARG VERSION
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -tags cloud -trimpath \
    -ldflags="-s -w -X main.release=$VERSION" -o /out/repomcp ./cmd/repomcp && mkdir /out/cache

FROM gcr.io/distroless/static-debian12:nonroot
ARG VERSION
LABEL io.modelcontextprotocol.server.name="io.github.repomcp/repomcp" \
    org.opencontainers.image.title="repomcp" \
    org.opencontainers.image.description="Serves a folder of git mirrors over MCP and streams archives of them" \
    org.opencontainers.image.source="https://github.com/repomcp/repomcp" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.version="$VERSION"
COPY --from=builder /out/repomcp /usr/local/bin/repomcp
# A volume that is mounted here for --cache-dir gets this owner.
COPY --from=builder --chown=65532:65532 /out/cache /var/cache/repomcp
USER 65532:65532
EXPOSE 8080
# The mirrors are mounted read-only: docker run -v /path/to/mirrors:/srv/git:ro
# Clients reach the container by localhost, by its host name or its addresses; any
# other name, such as that of a service, has to be given: --allowed-host NAME, or
# -e REPOMCP_ALLOWED_HOST=NAME. Probes of /healthz may use any.
# It listens for other machines, and starts only when it knows who may ask. Make a token with
# "repomcp token new NAME --tokens access/tokens", let user 65532 read it, and mount the folder:
#   docker run -v ./access:/run/repomcp:ro -e REPOMCP_TOKENS=/run/repomcp/tokens …
# or, where all who can reach the container may read everything, -e REPOMCP_INSECURE_NO_AUTH=true.
ENTRYPOINT ["/usr/local/bin/repomcp"]
CMD ["serve", "--root", "/srv/git", "--listen", "0.0.0.0:8080"]
