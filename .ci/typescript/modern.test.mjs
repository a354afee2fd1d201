// The modern era, without sessions. The client must find it by itself.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

import { modern, modernOptions } from "./eras.mjs";
import * as expect from "./expect.mjs";

const { version, clientInfo } = modern;
const client = new Client(clientInfo, modernOptions);

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

test("streams an archive", () => expect.streamsArchive(modern));
test("downloads an archive by its downloadUrl", () => expect.downloadsArchive((request) => client.request(request, modern.schema)));
test("downloads an archive by its httpUrl", () => expect.followsTheList(client));
