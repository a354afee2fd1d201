# syntax=docker/dockerfile:1
# The image of a release, from programs that were built before: see .goreleaser.yaml,
# which adds the labels of the version. It is the Dockerfile at the root but for that.
FROM --platform=$BUILDPLATFORM busybox:1.37 AS folders
RUN mkdir -p /out/cache

FROM gcr.io/distroless/static-debian12:nonroot
ARG TARGETPLATFORM
LABEL io.modelcontextprotocol.server.name="io.github.repomcp/repomcp"
COPY $TARGETPLATFORM/repomcp /usr/local/bin/repomcp
COPY --from=folders --chown=65532:65532 /out/cache /var/cache/repomcp
USER 65532:65532
EXPOSE 8080
# Other machines can connect: it starts with REPOMCP_TOKENS or REPOMCP_OAUTH_ISSUER alone, or
# with REPOMCP_INSECURE_NO_AUTH=true.
ENTRYPOINT ["/usr/local/bin/repomcp"]
CMD ["serve", "--root", "/srv/git", "--listen", "0.0.0.0:8080"]
