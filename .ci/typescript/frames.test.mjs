// Bytes beside messages over WebSocket, with a client that knows nothing of MCP.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import WebSocket from "ws";

assert.ok(process.env.REPOMCP, "REPOMCP must be the program to test");

const window = 256 << 10;
const size = 3 << 20;
const files = { "one.bin": randomBytes(size), "two.bin": randomBytes(size), "small.bin": Buffer.from([0xff, 0, 0xfe]) };
const [data, end, abort, credit, cancel] = [0, 1, 2, 4, 8];
const capabilities = { extensions: { "io.github.repomcp/binary-transfer": { supported: true } } };
const modern = "2026-07-28";

let root, server, address;

before(async () => {
  root = mkdtempSync(join(tmpdir(), "repomcp-frames-"));
  const repo = join(root, "files.git");
  const git = (input, ...args) => execFileSync("git", ["-C", repo, "-c", "user.name=ci", "-c", "user.email=ci@example.com", ...args], { input }).toString().trim();
  execFileSync("git", ["init", "--quiet", "--bare", "--initial-branch=main", repo]);
  const tree = Object.entries(files).map(([name, content]) => {
    writeFileSync(join(root, name), content);
    return `100644 blob ${git("", "hash-object", "-w", join(root, name))}\t${name}`;
  });
  git("", "update-ref", "refs/heads/main", git("", "commit-tree", "-m", "files", git(tree.join("\n") + "\n", "mktree")));
  server = spawn(process.env.REPOMCP, ["serve", "--root", root, "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "pipe"] });
  address = await new Promise((resolve, reject) => {
    let log = "";
    const look = (text) => {
      log += text;
      const found = /listening on http:\/\/([^,\s]+)/.exec(log);
      if (found) resolve(`ws://${found[1]}/ws`);
    };
    server.stdout.on("data", look);
    server.stderr.on("data", look);
    server.on("exit", () => reject(new Error(`the server ended: ${log}`)));
  });
});

after(() => {
  server.removeAllListeners("exit");
  server.kill();
  rmSync(root, { recursive: true });
});

// Client keeps what came, and tells who waits.
class Client {
  replies = new Map();
  streams = new Map();
  order = [];
  waiting = [];
  pongs = 0;
  grants = true;

  static async open(version) {
    const client = new Client();
    client.version = version;
    client.socket = new WebSocket(address, "mcp", { perMessageDeflate: false });
    client.closed = new Promise((resolve) => client.socket.on("close", (code, reason) => resolve({ code, reason: reason.toString() })));
    client.socket.on("message", (message, binary) => (binary ? client.frame(message) : client.message(JSON.parse(message))));
    client.socket.on("pong", () => {
      client.pongs++;
      client.wake();
    });
    await new Promise((resolve, reject) => client.socket.on("open", resolve).on("error", reject));
    if (version !== modern) {
      const { result } = await client.call("hello", "initialize", { protocolVersion: version, capabilities, clientInfo: { name: "ci", version: "1" } });
      assert.deepEqual(result.capabilities.binaryTransfer.supportedModes, ["websocket-binary"]);
    }
    return client;
  }

  message(message) {
    this.order.push("message");
    this.replies.set(message.id, message);
    for (const { binaryRef } of message.result?.contents ?? []) {
      if (binaryRef) this.streams.set(binaryRef.streamId, { ref: binaryRef, chunks: [], received: 0, next: 0, sent: 0, credit: window });
    }
    this.wake();
  }

  frame(frame) {
    const hex = frame.toString("hex", 0, 16);
    const id = [[0, 8], [8, 12], [12, 16], [16, 20], [20, 32]].map(([from, to]) => hex.slice(from, to)).join("-");
    const stream = this.streams.get(id);
    assert.ok(stream && !stream.over, `a frame of ${id}`);
    assert.equal(frame.readUInt32BE(17), stream.next++);
    const payload = frame.subarray(21);
    this.order.push(id);
    switch (frame[16]) {
      case data:
        stream.chunks.push(Buffer.from(payload));
        stream.received += payload.length;
        stream.credit -= payload.length;
        assert.ok(stream.credit >= 0 && payload.length <= 32 << 10);
        if (this.grants && stream.credit <= window / 2) this.grant(stream, window / 2);
        break;
      case end:
        stream.over = "end";
        stream.end = { size: Number(payload.readBigUInt64BE(0)), checksum: payload.toString("hex", 8) };
        assert.equal(payload.length, 40);
        break;
      default:
        assert.equal(frame[16], abort);
        stream.over = "abort";
        stream.words = payload.toString();
    }
    this.wake();
  }

  send(stream, flags, payload = Buffer.alloc(0), options) {
    const header = Buffer.alloc(21);
    header.write(stream.ref.streamId.replaceAll("-", ""), "hex");
    header[16] = flags;
    header.writeUInt32BE(stream.sent++, 17);
    this.socket.send(Buffer.concat([header, payload]), options);
  }

  grant(stream, more) {
    stream.credit += more;
    const payload = Buffer.alloc(8);
    payload.writeBigUInt64BE(BigInt(more));
    this.send(stream, credit, payload);
  }

  wake() {
    this.waiting.splice(0).forEach((resolve) => resolve());
  }

  async until(done) {
    while (!done()) await new Promise((resolve) => this.waiting.push(resolve));
  }

  ask(id, method, params) {
    if (this.version === modern) {
      params = { ...params, _meta: { "io.modelcontextprotocol/protocolVersion": modern, "io.modelcontextprotocol/clientCapabilities": capabilities } };
    }
    this.socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
  }

  async call(id, method, params) {
    this.replies.delete(id);
    this.ask(id, method, params);
    await this.until(() => this.replies.has(id));
    return this.replies.get(id);
  }

  async begin(id, name) {
    const reply = await this.call(id, "resources/read", { uri: `repo://files/contents/${name}`, transferMode: "binary" });
    assert.ok(reply.result, JSON.stringify(reply));
    return this.streams.get(reply.result.contents[0].binaryRef.streamId);
  }

  async whole(stream, content) {
    await this.until(() => stream.over);
    assert.equal(stream.over, "end", stream.words);
    const received = Buffer.concat(stream.chunks);
    assert.ok(received.equals(content));
    const checksum = createHash("sha256").update(received).digest("hex");
    assert.deepEqual(stream.end, { size: content.length, checksum });
    assert.deepEqual({ size: stream.ref.size, checksum: stream.ref.checksum }, stream.end);
  }
}

for (const version of ["2025-11-25", modern]) {
  test(`${version}: streams and messages take turns`, async () => {
    const client = await Client.open(version);
    const [one, two] = await Promise.all([client.begin(1, "one.bin"), client.call(0, "ping", {}).then(() => client.begin(2, "two.bin"))]);
    for (let i = 0; i < 10; i++) {
      client.socket.ping();
      const { result } = await client.call(10 + i, "tools/call", { name: "list_branches", arguments: { repo: "files" } });
      assert.match(JSON.stringify(result), /main/);
    }
    await client.whole(one, files["one.bin"]);
    await client.whole(two, files["two.bin"]);
    await client.until(() => client.pongs === 10);
    const turns = client.order.filter((from, i) => from !== client.order[i - 1]).length;
    assert.ok(turns > 15, `${turns} turns among ${client.order.length}`);
    client.socket.close();
  });

  test(`${version}: a stream without credit waits, alone, and is cancelled`, async () => {
    const client = await Client.open(version);
    client.grants = false;
    const stalled = [];
    for (let i = 0; i < 8; i++) stalled.push(await client.begin(i, "one.bin"));
    await client.until(() => stalled.every(({ received }) => received === window));
    const { error } = await client.call(50, "resources/read", { uri: "repo://files/contents/two.bin", transferMode: "binary" });
    assert.equal(error.data.reason, "busy");
    assert.match(error.message, /at most 8 binary streams/);
    assert.ok((await client.call(51, "resources/templates/list", {})).result);
    client.send(stalled[0], cancel);
    client.socket.send(JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } }));
    await client.until(() => stalled[0].over && stalled[1].over);
    assert.match(stalled[0].words, /cancelled the stream/);
    assert.match(stalled[1].words, /request was cancelled/);
    client.grant(stalled[2], size);
    await client.whole(stalled[2], files["one.bin"]);
    assert.ok(stalled.slice(3).every(({ over, received }) => !over && received === window));
    await client.whole(await client.begin(60, "small.bin"), files["small.bin"]);
    client.socket.close();
  });

  test(`${version}: bad frames end their connection`, async () => {
    for (const [flags, payload, reason] of [
      [data, "x", /credit and cancel frames alone/], [16, "", /malformed/], [credit, "short", /malformed/], [cancel, "why", /malformed/],
    ]) {
      const client = await Client.open(version);
      client.grants = false;
      client.send(await client.begin(1, "one.bin"), flags, Buffer.from(payload));
      const closed = await client.closed;
      assert.equal(closed.code, 1002);
      assert.match(closed.reason, reason);
    }
  });
}

// What the Binary Transfer RFC alone says: a declaration, and frames that are the id of a stream and some of its bytes.
async function readAsInTheRFC(version) {
  const capabilities = { binaryTransfer: { supported: true } };
  const socket = new WebSocket(address, "mcp", { perMessageDeflate: false });
  const [replies, streams, waiting] = [new Map(), new Map(), []];
  socket.on("message", (message, binary) => {
    if (binary) {
      const stream = streams.get(message.subarray(0, 16).toString("hex"));
      stream.chunks.push(message.subarray(16));
      stream.missing -= message.length - 16;
      stream.frames++;
    } else {
      const reply = JSON.parse(message);
      replies.set(reply.id, reply);
      for (const { binaryRef } of reply.result?.contents ?? []) {
        streams.set(binaryRef.streamId.replaceAll("-", ""), { ref: binaryRef, chunks: [], missing: binaryRef.size, frames: 0 });
      }
    }
    waiting.splice(0).forEach((wake) => wake());
  });
  const until = async (done) => {
    while (!done()) await new Promise((resolve) => waiting.push(resolve));
  };
  await new Promise((resolve, reject) => socket.on("open", resolve).on("error", reject));
  const ask = (id, method, params) => socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
  if (version !== modern) {
    ask("hello", "initialize", { protocolVersion: version, capabilities, clientInfo: { name: "ci", version: "1" } });
    await until(() => replies.has("hello"));
  }
  const _meta = { "io.modelcontextprotocol/protocolVersion": modern, "io.modelcontextprotocol/clientCapabilities": capabilities };
  for (const name of Object.keys(files)) {
    ask(name, "resources/read", { uri: `repo://files/contents/${name}`, transferMode: "binary", ...(version === modern && { _meta }) });
  }
  await until(() => streams.size === Object.keys(files).length && [...streams.values()].every(({ missing, frames }) => missing <= 0 && frames > 0));
  for (const name of Object.keys(files)) {
    const [{ binaryRef }] = replies.get(name).result.contents;
    const content = Buffer.concat(streams.get(binaryRef.streamId.replaceAll("-", "")).chunks);
    assert.equal(content.length, binaryRef.size, name);
    assert.equal(createHash("sha256").update(content).digest("hex"), binaryRef.checksum, name);
    assert.ok(content.equals(files[name]), name);
  }
  socket.close();
}

for (const version of ["2025-11-25", modern]) {
  test(`a client of the RFC alone reads files in ${version}`, () => readAsInTheRFC(version));
}
