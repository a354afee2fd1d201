// The Inspector's command line, as people try servers with it: it lists the tools
// and calls each, in both eras, a process for each request.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { calls, checkList, checkResult } from "../tools.mjs";

assert.ok(process.env.MCP_URL, "MCP_URL must be the address of a server of testrepos, such as http://127.0.0.1:8080/mcp");

const inspector = join(import.meta.dirname, "node_modules/.bin/mcp-inspector");

// The Inspector writes to its user's home.
let home;
before(async () => (home = await mkdtemp(join(tmpdir(), "inspector-"))));
after(() => rm(home, { recursive: true, force: true }));

async function inspect(era, ...options) {
  const command = ["--cli", process.env.MCP_URL, "--transport", "http", "--protocol-era", era, "--format", "json", "--quiet", ...options];
  const { stdout } = await promisify(execFile)(inspector, command, { env: { ...process.env, HOME: home }, maxBuffer: 16 << 20 });
  const reply = JSON.parse(stdout);
  return reply.result ?? reply;
}

for (const era of ["legacy", "modern"]) {
  // With --strict it ends with 6 if a schema is not one that all models take.
  test(`${era}: lists the tools, with portable schemas`, async () => checkList((await inspect(era, "--method", "tools/list", "--strict")).tools));
  for (const call of calls) {
    test(`${era}: calls ${call.name} ${JSON.stringify(call.arguments)}`, async () =>
      checkResult(call, await inspect(era, "--method", "tools/call", "--tool-name", call.name, "--tool-args-json", JSON.stringify(call.arguments))));
  }
}
