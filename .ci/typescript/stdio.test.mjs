// Both clients start the program themselves and speak over its pipes.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { Client as ModernClient } from "@modelcontextprotocol/client";
import { StdioClientTransport as ModernTransport } from "@modelcontextprotocol/client/stdio";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

import { modern, modernOptions, sessionOptions } from "./eras.mjs";
import * as expect from "./expect.mjs";

assert.ok(process.env.REPOMCP, "REPOMCP must be the program to test");

const samples = fileURLToPath(new URL("../../testrepos", import.meta.url));
const serve = (root) => ({ command: process.env.REPOMCP, args: ["stdio", "--root", root], stderr: "ignore" });
const branch = "repo://hello/refs/heads/main";

function push(root) {
  const git = (...args) => execFileSync("git", ["-C", join(root, "hello.git"), "-c", "user.name=ci", "-c", "user.email=ci@example.com", ...args]).toString().trim();
  git("update-ref", "refs/heads/main", git("commit-tree", "-p", "main", "-m", "pushed", "main^{tree}"));
}

async function readsEverything(client, missing) {
  await expect.readsText(client);
  await expect.readsBlobs(client);
  await expect.callsTools(client, false);
  await expect.toolsExplainErrors(client);
  await expect.reportsMissing(client, missing);
  assert.ok((await client.listPrompts()).prompts.length > 0);
  const { completion } = await client.complete({ ref: { type: "ref/resource", uri: "repo://{+repo}" }, argument: { name: "repo", value: "hel" } });
  assert.deepEqual(completion.values, ["hello"]);
  const listed = [...(await client.listResources()).resources, ...(await client.listResourceTemplates()).resourceTemplates];
  assert.ok(listed.length > 20);
  assert.deepEqual(listed.filter((r) => r._meta?.[expect.streamable]), [], "there is no resources/stream to have them by");
  assert.deepEqual(Object.keys(client.getServerCapabilities().extensions), ["io.github.repomcp/binary-transfer", "io.modelcontextprotocol/skills"], "there is no resources/stream");
  await assert.rejects(client.request({ method: "resources/stream", params: { uri: expect.archive } }, modern.schema), (error) => error.code === -32601);
}

test("the session era", async (t) => {
  const client = new Client({ name: "repomcp-ci", version: "1" }, sessionOptions);
  const updated = new Promise((resolve) => client.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => resolve(n.params.uri)));
  client.onerror = (error) => assert.fail(`no message: ${error}`);
  const root = mkdtempSync(join(tmpdir(), "repomcp-stdio-")); // it is pushed to
  t.after(async () => {
    await client.close();
    rmSync(root, { recursive: true });
  });
  cpSync(samples, root, { recursive: true });
  await client.connect(new StdioClientTransport(serve(root)));
  await client.subscribeResource({ uri: branch });
  await readsEverything(client, -32002);
  push(root);
  assert.equal(await updated, branch);
});

test(modern.version, async (t) => {
  const client = new ModernClient(modern.clientInfo, modernOptions);
  client.onerror = (error) => assert.fail(`no message: ${error}`);
  t.after(() => client.close());
  await client.connect(new ModernTransport(serve(samples)));
  assert.equal(client.getNegotiatedProtocolVersion(), modern.version);
  await readsEverything(client, -32602);
});
