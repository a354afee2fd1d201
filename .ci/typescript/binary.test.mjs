// Bytes beside replies, over HTTP with undici and taken apart by the multipart parser
// of busboy: neither knows anything of MCP.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";

import { Dicer } from "@fastify/busboy";
import { request } from "undici";

import { git } from "../tools.mjs";

assert.ok(process.env.MCP_URL, "MCP_URL must be the address of a server of testrepos");

const capabilities = { extensions: { "io.github.repomcp/binary-transfer": { supported: true, maxBinarySize: 1 << 20 } } };
const clientInfo = { name: "repomcp-ci", version: "1" };

function post(headers, method, params) {
  return request(process.env.MCP_URL, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream, multipart/mixed", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
}

// How each era asks, with the capability declared.
const eras = {
  "2025-11-25": async () => {
    const protocolVersion = "2025-11-25";
    const { headers, body } = await post({}, "initialize", { protocolVersion, capabilities, clientInfo });
    const { result } = await body.json();
    assert.deepEqual(result.capabilities.binaryTransfer.supportedModes, ["multipart"]);
    return (method, params) =>
      post({ "mcp-session-id": headers["mcp-session-id"], "mcp-protocol-version": protocolVersion }, method, params);
  },
  "2026-07-28": async () => (method, params) => {
    const version = "2026-07-28";
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": version,
      "io.modelcontextprotocol/clientInfo": clientInfo,
      "io.modelcontextprotocol/clientCapabilities": capabilities,
    };
    const headers = { "mcp-protocol-version": version, "mcp-method": method, "mcp-name": params.uri ?? params.name };
    return post(headers, method, { ...params, _meta });
  },
};

// partsOf reads a reply: its parts with their headers, or why they are not whole.
async function partsOf({ headers, body }) {
  const boundary = /^multipart\/mixed; boundary=([0-9a-f]+)$/.exec(headers["content-type"])?.[1];
  assert.ok(boundary, `the reply is ${headers["content-type"]}: ${boundary ? "" : (await body.text()).slice(0, 300)}`);
  const dicer = new Dicer({ boundary });
  const parts = [];
  dicer.on("part", (stream) => {
    const part = { headers: {}, chunks: [] };
    parts.push(part);
    stream.on("header", (names) => Object.assign(part.headers, names));
    stream.on("data", (chunk) => part.chunks.push(chunk));
  });
  await new Promise((resolve, reject) => {
    dicer.on("finish", resolve).on("error", reject);
    body.on("error", reject).pipe(dicer);
  });
  return parts.map((part) => ({ headers: part.headers, content: Buffer.concat(part.chunks) }));
}

// received is what a reply says, and the one stream that follows, checked.
async function received(response, refOf) {
  const [message, stream, end, ...more] = await partsOf(response);
  assert.deepEqual(message.headers["content-type"], ["application/json"]);
  const { result } = JSON.parse(message.content);
  const ref = refOf(result);
  assert.deepEqual(stream.headers["content-id"], [`<${ref.streamId}>`]);
  assert.equal(more.length, 0);
  if (ref.checksum === undefined) {
    assert.deepEqual(end.headers["content-id"], [`<${ref.streamId}.end>`]);
    Object.assign(ref, JSON.parse(end.content));
  } else {
    assert.equal(end, undefined);
    assert.deepEqual(stream.headers["content-length"], [String(ref.size)]);
  }
  assert.equal(ref.size, stream.content.length);
  assert.equal(ref.checksum, createHash("sha256").update(stream.content).digest("hex"));
  return { result, type: stream.headers["content-type"][0], content: stream.content };
}

for (const [version, open] of Object.entries(eras)) {
  test(`${version}: files come as bytes`, async () => {
    const ask = await open();
    for (const [path, type] of [["images/logo.png", "image/png"], ["data/noise.bin", "application/octet-stream"]]) {
      const response = await ask("resources/read", { uri: `repo://media/contents/${path}`, transferMode: "binary" });
      const stream = await received(response, (result) => result.contents[0].binaryRef);
      assert.equal(stream.type, type);
      assert.ok(stream.content.equals(git("media", "show", `main:${path}`)), `${path} has other bytes than git's`);
    }
  });

  test(`${version}: an archive comes as bytes`, async () => {
    const ask = await open();
    const response = await ask("resources/read", { uri: "repo://hello/archive/main.tar.gz", transferMode: "binary" });
    const { content } = await received(response, (result) => result.contents[0].binaryRef);
    assert.ok(gunzipSync(content).equals(git("hello", "archive", "--format=tar", "main")), "the tar is not that of git");
  });

  test(`${version}: a tool gives an image as bytes`, async () => {
    const ask = await open();
    const params = { name: "get_file_contents", arguments: { repo: "media", path: "images/logo.png" } };
    const response = await ask("tools/call", { ...params, transferMode: "binary" });
    const image = (result) => result.content.find(({ type }) => type === "image");
    const { result, content } = await received(response, (result) => image(result).binaryRef);
    assert.equal(image(result).transferMode, "binary");
    assert.ok(content.equals(git("media", "show", "main:images/logo.png")));
  });

  test(`${version}: base64 stays where nobody asks`, async () => {
    const ask = await open();
    const { headers, body } = await ask("resources/read", { uri: "repo://media/contents/images/logo.png" });
    assert.equal(headers["content-type"], "application/json");
    const { result } = await body.json();
    assert.ok(Buffer.from(result.contents[0].blob, "base64").equals(git("media", "show", "main:images/logo.png")));
  });
}
