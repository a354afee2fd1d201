// Servers with one bucket in a real S3 server: what one has made the others
// redirect to.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ResultSchema } from "@modelcontextprotocol/sdk/types.js";

import { modern, modernOptions, session, sessionOptions } from "./eras.mjs";
import * as expect from "./expect.mjs";

assert.ok(process.env.REPOMCP, "REPOMCP must be the program to test");

const folder = mkdtempSync(join(tmpdir(), "repomcp-redirect-"));
const samples = fileURLToPath(new URL("../../testrepos", import.meta.url));
const keys = { AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "secret" };
const running = [];

function launch(program, ...args) {
  const child = spawn(program, args, { env: { ...process.env, ...keys }, stdio: ["ignore", "ignore", "pipe"] });
  const started = { child, log: "", ended: new Promise((resolve) => child.on("exit", resolve)) };
  child.stderr.on("data", (text) => (started.log += text));
  running.push(started);
  return started;
}

// until waits for what a process does, which takes no time unless it is broken.
async function until(what, happens) {
  for (let tries = 0; tries < 200; tries++) {
    const result = await happens();
    if (result) {
      return result;
    }
    await sleep(100);
  }
  assert.fail(`${what} never happens: ${running.map((p) => p.log).join("\n")}`);
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

// A server that has kept nothing yet.
async function serve() {
  const server = launch(process.env.REPOMCP, "serve", "--root", samples, "--listen", "127.0.0.1:0",
    "--cache-dir", join(folder, `cache${running.length}`), "--cache-bytes", "1000000000", "--object-store", store, "--object-store-public", store);
  const [, address] = await until("listening", () => server.log.match(/listening on (http:[^, ]*)/));
  return address;
}

let store;

before(async () => {
  const port = await freePort();
  mkdirSync(join(folder, "s3", "archives"), { recursive: true });
  launch("versitygw", "--access", keys.AWS_ACCESS_KEY_ID, "--secret", keys.AWS_SECRET_ACCESS_KEY, "--port", `127.0.0.1:${port}`, "--quiet", "posix", join(folder, "s3"));
  await until("the S3 server", () => fetch(`http://127.0.0.1:${port}/`).then(() => true, () => false));
  store = `s3://archives?region=us-east-1&use_path_style=true&endpoint=http://127.0.0.1:${port}`;
  await expect.isTheArchive(await fetch(`${await serve()}/archive/hello/refs/heads/main.tar.gz`));
  // The upload goes on beside the download. Who asks before it has ended makes
  // the archive again, and keeps it.
  await until("the upload", async () => {
    const { status } = await fetch(`${await serve()}/archive/hello/refs/heads/main.tar.gz`, { redirect: "manual" });
    return status === 302;
  });
});

after(async () => {
  for (const { child } of running) {
    child.kill("SIGTERM");
  }
  await Promise.all(running.map((p) => p.ended));
  rmSync(folder, { recursive: true });
});

test("the session era", async () => {
  const url = new URL(`${await serve()}/mcp`);
  const client = new Client({ name: "repomcp-ci", version: "1" }, sessionOptions);
  const transport = new StreamableHTTPClientTransport(url);
  await client.connect(transport);
  await expect.redirectsToArchive(url, session(transport));
  await expect.downloadsArchive((request) => client.request(request, ResultSchema));
  await client.close();
});

test(modern.version, async () => {
  const url = new URL(`${await serve()}/mcp`);
  const client = new ModernClient(modern.clientInfo, modernOptions);
  await client.connect(new ModernTransport(url));
  await expect.redirectsToArchive(url, modern);
  await expect.downloadsArchive((request) => client.request(request, modern.schema));
  await client.close();
});
