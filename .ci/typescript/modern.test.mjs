// The modern era, without sessions. The client must find it by itself.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

import * as expect from "./expect.mjs";

const version = "2026-07-28";
const clientInfo = { name: "repomcp-ci", version: "1" };
const client = new Client(clientInfo, { versionNegotiation: { mode: "auto" } });

before(() => client.connect(new StreamableHTTPClientTransport(expect.url)));
after(() => client.close());

test(`agrees on ${version}`, () => {
  assert.equal(client.getNegotiatedProtocolVersion(), version);
  assert.equal(client.getProtocolEra(), "modern");
});
test("lists templates", () => expect.listsTemplates(client));
test("lists resources", () => expect.listsResources(client));
test("reads a text", () => expect.readsText(client));
test("reads binary files", () => expect.readsBlobs(client));
test("lists the tools and calls each", () => expect.callsTools(client));
test("is told what is wrong with a call", () => expect.toolsExplainErrors(client));
test("reports what is missing with -32602", () => expect.reportsMissing(client, -32602));

// Without sessions every request declares the capability for itself.
test("streams an archive", () =>
  expect.streamsArchive(
    { "MCP-Protocol-Version": version, "Mcp-Method": "resources/stream", "Mcp-Name": "repo://hello/archive/refs/heads/main.tar.gz" },
    {
      _meta: {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": clientInfo,
        "io.modelcontextprotocol/clientCapabilities": expect.streaming,
      },
    },
  ));
