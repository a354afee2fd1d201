// What clients hear of pushes over a line that breaks.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

import { modern, modernOptions, sessionOptions } from "./eras.mjs";

assert.ok(process.env.REPOMCP, "REPOMCP must be the program to test");

const branch = "repo://hello/refs/heads/main";
const folder = mkdtempSync(join(tmpdir(), "repomcp-events-"));
const root = join(folder, "root");
const key = join(folder, "session.key");
let server, line;

before(async () => {
  cpSync(fileURLToPath(new URL("../../testrepos", import.meta.url)), root, { recursive: true });
  writeFileSync(key, randomBytes(64), { mode: 0o600 });
  line = await openLine();
  await start();
});

after(async () => {
  await stop("SIGTERM");
  line.close();
  rmSync(folder, { recursive: true });
});

async function start() {
  server = spawn(process.env.REPOMCP, ["serve", "--root", root, "--listen", "127.0.0.1:0", "--session-key-file", key], { stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  server.stderr.on("data", (text) => (log += text));
  line.leadTo(await until(() => log.match(/listening on http:\/\/127\.0\.0\.1:(\d+)/)?.[1], () => log));
}

async function stop(signal) {
  server.kill(signal);
  await new Promise((resolve) => server.on("exit", resolve));
}

// until waits for what takes no time unless it is broken.
async function until(happens, state) {
  for (let tries = 0; tries < 300; tries++) {
    const result = happens();
    if (result) {
      return result;
    }
    await sleep(50);
  }
  assert.fail(`it never happens: ${state()}`);
}

// A line to the server. When it is cut the client notices, and the server does not: what it sends is lost. Then the line
// is down until it is mended.
function openLine() {
  const calls = new Set();
  const lost = new Set();
  let port;
  let down = false;
  const relay = createServer((near) => {
    if (down) {
      return near.destroy();
    }
    const far = connect(port, "127.0.0.1");
    const call = { near, far };
    calls.add(call);
    far.on("error", () => {}).on("close", () => near.destroy());
    near.on("error", () => {}).on("close", () => calls.delete(call) && far.destroy());
    near.pipe(far);
    far.pipe(near);
  });
  const line = {
    cut: () => {
      down = true;
      for (const call of calls) {
        calls.delete(call);
        lost.add(call.far.resume());
        call.near.unpipe(call.far);
        call.near.destroy();
      }
    },
    mend: () => (down = false),
    leadTo: (other) => (port = other),
    close: () => {
      relay.close();
      lost.forEach((far) => far.destroy());
    },
  };
  return new Promise((resolve) => relay.listen(0, "127.0.0.1", () => resolve(Object.assign(line, { url: new URL(`http://127.0.0.1:${relay.address().port}/mcp`) }))));
}

function push() {
  const git = (...args) => execFileSync("git", ["-C", join(root, "hello.git"), "-c", "user.name=ci", "-c", "user.email=ci@example.com", ...args]).toString().trim();
  git("update-ref", "refs/heads/main", git("commit-tree", "-p", "main", "-m", "pushed", "main^{tree}"));
}

// The server waits for the end of a push, and a second notification of it would follow the first.
const settled = () => sleep(1000);

// A session that watches the branch, with what it hears.
async function watching() {
  const client = new Client({ name: "repomcp-ci", version: "1" }, sessionOptions);
  const heard = [];
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => heard.push(n.params.uri));
  client.onerror = () => {}; // it tells of the cuts
  const reconnectionOptions = { initialReconnectionDelay: 100, maxReconnectionDelay: 500, reconnectionDelayGrowFactor: 1.5, maxRetries: 50 };
  await client.connect(new StreamableHTTPClientTransport(line.url, { reconnectionOptions }));
  await client.subscribeResource({ uri: branch });
  return { client, heard };
}

test("a session hears once of a push that came while its line was down", async () => {
  const { client, heard } = await watching();
  for (let round = 1; round <= 3; round++) {
    push();
    await until(() => heard.length === 2 * round - 1, () => heard);
    line.cut();
    push();
    await settled();
    line.mend();
    await until(() => heard.length === 2 * round, () => heard);
  }
  await settled();
  assert.deepEqual(heard, Array(6).fill(branch));
  await client.close();
});

test("a session goes on when its server was killed and another one is there", async () => {
  const { client, heard } = await watching();
  for (let round = 1; round <= 2; round++) {
    push();
    await until(() => heard.length === 2 * round - 1, () => heard);
    await stop("SIGKILL");
    push();
    await start();
    await until(() => heard.length === 2 * round, () => heard);
  }
  await settled();
  assert.deepEqual(heard, Array(4).fill(branch));
  await client.close();
});

test(`${modern.version}: a subscription ends with its line`, async () => {
  const client = new ModernClient(modern.clientInfo, modernOptions);
  const heard = [];
  client.setNotificationHandler("notifications/resources/updated", (n) => heard.push(n.params.uri));
  await client.connect(new ModernTransport(line.url));
  const filter = { resourceSubscriptions: [branch] };
  for (let round = 1; round <= 2; round++) {
    const subscription = await client.listen(filter);
    assert.deepEqual(subscription.honoredFilter, filter);
    push();
    await until(() => heard.length === round, () => heard);
    line.cut();
    assert.equal(await subscription.closed, "remote");
    line.mend();
  }
  assert.deepEqual(heard, Array(2).fill(branch));
  await client.close();
});
