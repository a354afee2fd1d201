// The session era, with the client that most applications use today.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ResultSchema } from "@modelcontextprotocol/sdk/types.js";

import { session, sessionOptions } from "./eras.mjs";
import * as expect from "./expect.mjs";

const client = new Client({ name: "repomcp-ci", version: "1" }, sessionOptions);
const transport = new StreamableHTTPClientTransport(expect.url);

before(() => client.connect(transport));
after(() => client.close());

test("agrees on 2025-11-25, in a session", () => {
  assert.equal(transport.protocolVersion, "2025-11-25");
  assert.ok(transport.sessionId);
});
test("lists templates", () => expect.listsTemplates(client));
test("lists resources", () => expect.listsResources(client));
test("reads a text", () => expect.readsText(client));
test("reads binary files", () => expect.readsBlobs(client));
test("lists the tools and calls each", () => expect.callsTools(client));
test("is told what is wrong with a call", () => expect.toolsExplainErrors(client));
test("reports what is missing with -32002", () => expect.reportsMissing(client, -32002));

test("streams an archive", () => expect.streamsArchive(session(transport)));
test("downloads an archive by its downloadUrl", () => expect.downloadsArchive((request) => client.request(request, ResultSchema)));
test("downloads an archive by its httpUrl", () => expect.followsTheList(client));
