FROM golang:1.26 AS builder
WORKDIR /src
# Modules have a layer of their own, which changes of the code leave alone.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -tags cloud -trimpath -ldflags="-s -w" -o /out/repomcp ./cmd/repomcp && mkdir /out/cache

FROM gcr.io/distroless/static-debian12:nonroot
LABEL io.modelcontextprotocol.server.name="io.github.repomcp/repomcp"
COPY --from=builder /out/repomcp /usr/local/bin/repomcp
# A volume that is mounted here for --cache-dir gets this owner.
COPY --from=builder --chown=65532:65532 /out/cache /var/cache/repomcp
USER 65532:65532
EXPOSE 8080
# The mirrors are mounted read-only: docker run -v /path/to/mirrors:/srv/git:ro
# Clients reach the container by localhost, by its host name or its addresses; any
# other name, such as that of a service, has to be given: --allowed-host NAME, or
# -e REPOMCP_ALLOWED_HOST=NAME. Probes of /healthz may use any.
ENTRYPOINT ["/usr/local/bin/repomcp"]
CMD ["serve", "--root", "/srv/git", "--listen", "0.0.0.0:8080"]
