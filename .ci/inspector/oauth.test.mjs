// The Inspector's own OAuth against a server that asks who its clients are, and a real issuer: it
// finds the issuer, registers, sends its user there, takes the code at an address of its own, and
// asks with what it got for that. The user's browser is this test.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Provider } from "oidc-provider";

import { agree, startIssuer } from "../issuer.mjs";

assert.ok(process.env.REPOMCP, "REPOMCP must be the program to test");

const inspector = join(import.meta.dirname, "node_modules/.bin/mcp-inspector");
const samples = join(import.meta.dirname, "../../testrepos");

let home, issuer, server, token, url;

before(async () => {
  home = await mkdtemp(join(tmpdir(), "inspector-"));
  issuer = await startIssuer(Provider);
  const tokens = join(home, "tokens");
  token = execFileSync(process.env.REPOMCP, ["token", "new", "inspector", "--tokens", tokens]).toString().trim();
  server = spawn(process.env.REPOMCP, ["serve", "--root", samples, "--listen", "127.0.0.1:0", "--oauth-issuer", issuer.url, "--tokens", tokens], { stdio: ["ignore", "ignore", "pipe"] });
  url = await new Promise((resolve) => {
    let log = "";
    server.stderr.on("data", (text) => {
      log += text;
      const found = log.match(/listening on (http:[^, ]*)/);
      found && resolve(`${found[1]}/mcp`);
    });
  });
});

after(async () => {
  const ended = new Promise((resolve) => server.on("exit", resolve));
  server.kill("SIGTERM");
  await ended;
  issuer.close();
  await rm(home, { recursive: true, force: true });
});

function freePort() {
  return new Promise((resolve) => {
    const listener = createServer().listen(0, "127.0.0.1", () => {
      const { port } = listener.address();
      listener.close(() => resolve(port));
    });
  });
}

// inspect runs one request; ask is given the address to which the Inspector sends its user.
async function inspect(ask, ...options) {
  const command = ["--cli", "--server-url", url, "--transport", "http", "--format", "json", "--quiet", ...options];
  // MCP_AUTO_OPEN_ENABLED says that there is a user although there is no terminal.
  const child = spawn(inspector, command, { env: { ...process.env, HOME: home, BROWSER: "true", MCP_AUTO_OPEN_ENABLED: "true" } });
  let out = "", said = "", asked;
  child.stdout.on("data", (text) => (out += text));
  child.stderr.on("data", (text) => {
    said += text;
    const found = said.match(/navigate to: (http:\S+)\s/);
    if (found && !asked) {
      asked = ask(found[1]);
    }
  });
  const code = await new Promise((resolve) => child.on("close", resolve));
  await asked;
  return { code, said, asked: asked !== undefined, result: out && (JSON.parse(out).result ?? JSON.parse(out)) };
}

for (const era of ["legacy", "modern"]) {
  test(`${era}: logs in and lists the tools`, async () => {
    const callback = `http://127.0.0.1:${await freePort()}/oauth/callback`;
    const browser = async (address) => {
      const back = await agree(address, callback);
      assert.equal((await fetch(`${callback}?${back}`)).ok, true);
    };
    const listed = await inspect(browser, "--relogin", "--protocol-era", era, "--callback-url", callback, "--method", "tools/list");
    assert.equal(listed.code, 0, listed.said);
    assert.equal(listed.asked, true, "the user was not asked");
    assert.ok(listed.result.tools.length > 3);
  });

  test(`${era}: takes a token as a header`, async () => {
    const ask = (value) =>
      inspect(() => assert.fail("the user is asked"), "--protocol-era", era, "--stored-auth-only", "--header", `Authorization: Bearer ${value}`, "--method", "tools/list");
    const [good, wrong] = await Promise.all([ask(token), ask("rmcp_AAAAAAAAAAAAAAAAAAAAAAAAAA")]);
    assert.equal(good.code, 0, good.said);
    assert.ok(good.result.tools.length > 3);
    assert.notEqual(wrong.code, 0);
    assert.ok(!wrong.result?.tools);
  });
}
