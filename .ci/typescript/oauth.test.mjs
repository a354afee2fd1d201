// The OAuth of the official clients, against a server that asks who they are and a real issuer:
// they find it by the server's 401, register, have the user agree, and ask with what they got.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from "@modelcontextprotocol/client";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

import { Provider } from "oidc-provider";

import { agree, scope, startIssuer } from "../issuer.mjs";
import { modernOptions, sessionOptions } from "./eras.mjs";

assert.ok(process.env.REPOMCP, "REPOMCP must be the program to test");

const samples = fileURLToPath(new URL("../../testrepos", import.meta.url));
const home = "http://127.0.0.1:1/callback"; // where nobody listens: the browser is part of this test

let issuer, stingy;
const running = [];

async function serve(...flags) {
  const child = spawn(process.env.REPOMCP, ["serve", "--root", samples, "--listen", "127.0.0.1:0", ...flags], { stdio: ["ignore", "ignore", "pipe"] });
  const server = { child, log: "", ended: new Promise((resolve) => child.on("exit", resolve)) };
  child.stderr.on("data", (text) => (server.log += text));
  running.push(server);
  for (let tries = 0; tries < 200; tries++) {
    const found = server.log.match(/listening on (http:[^, ]*)/);
    if (found) {
      return Object.assign(server, { url: found[1] });
    }
    await sleep(50);
  }
  assert.fail(`the server does not listen: ${server.log}`);
}

before(async () => {
  issuer = await startIssuer(Provider);
  stingy = await startIssuer(Provider, { grants: "other:scope" });
});

after(async () => {
  for (const { child } of running) {
    child.kill("SIGTERM");
  }
  await Promise.all(running.map((p) => p.ended));
  issuer.close();
  stingy.close();
});

// A client application of one user, which forgets nothing until it ends.
class Application {
  redirects = [];
  get redirectUrl() {
    return home;
  }
  get clientMetadata() {
    return { client_name: "repomcp-ci", redirect_uris: [home], grant_types: ["authorization_code", "refresh_token"], response_types: ["code"], token_endpoint_auth_method: "none" };
  }
  clientInformation() {
    return this.information;
  }
  saveClientInformation(information) {
    this.information = information;
  }
  tokens() {
    return this.kept;
  }
  saveTokens(tokens) {
    this.kept = tokens;
  }
  redirectToAuthorization(url) {
    this.redirects.push(url);
  }
  saveCodeVerifier(verifier) {
    this.verifier = verifier;
  }
  codeVerifier() {
    return this.verifier;
  }
  saveDiscoveryState(state) {
    this.discovered = state;
  }
  discoveryState() {
    return this.discovered;
  }
}

// Both official clients, by what differs: how one is made, and what it wants to know of the
// user's return.
const kinds = {
  "2025-11-25": {
    make: () => new Client({ name: "repomcp-ci", version: "1" }, sessionOptions),
    transport: (url, authProvider) => new StreamableHTTPClientTransport(url, { authProvider }),
    finish: (transport, back) => transport.finishAuth(back.get("code")),
  },
  "2026-07-28": {
    make: () => new ModernClient({ name: "repomcp-ci", version: "1" }, modernOptions),
    transport: (url, authProvider) => new ModernTransport(url, { authProvider }),
    finish: (transport, back) => transport.finishAuth(back),
  },
};

// logIn connects a client as its documentation says: it fails, the user agrees, it connects.
async function logIn(kind, url, application) {
  const first = kind.transport(url, application);
  await assert.rejects(kind.make().connect(first), (error) => error instanceof UnauthorizedError || error.constructor.name === "UnauthorizedError");
  assert.equal(application.redirects.length, 1, "the user is asked once");
  const asked = application.redirects[0];
  assert.equal(asked.searchParams.get("code_challenge_method"), "S256");
  assert.equal(asked.searchParams.get("resource"), url.href, "a token is asked for this server (RFC 8707)");
  assert.equal(asked.searchParams.get("scope")?.split(" ").includes(scope), true, "the scope is that of the challenge");
  await kind.finish(first, await agree(asked, home));
  const client = kind.make();
  await client.connect(kind.transport(url, application));
  return client;
}

for (const [version, kind] of Object.entries(kinds)) {
  test(`the client of ${version} logs in`, async () => {
    const server = await serve("--oauth-issuer", issuer.url);
    const url = new URL(`${server.url}/mcp`);
    const application = new Application();
    const client = await logIn(kind, url, application);
    const { contents } = await client.readResource({ uri: "repo://hello/contents/README.md" });
    assert.match(contents[0].text, /hello/);
    assert.ok((await client.listTools()).tools.length > 3);
    const result = await client.callTool({ name: "search_repositories", arguments: {} });
    assert.notEqual(result.isError, true);
    await client.close();

    // The same token gets files, and only as a header.
    const token = application.kept.access_token;
    const file = `${server.url}/raw/hello/main/README.md`;
    const status = async (at, headers) => (await fetch(at, { headers })).status;
    assert.equal(await status(file, { authorization: `Bearer ${token}` }), 200);
    assert.equal(await status(file, { authorization: `Basic ${Buffer.from(`me:${token}`).toString("base64")}` }), 200);
    assert.equal(await status(`${file}?access_token=${token}`), 401);
    assert.equal(await status(file, { authorization: `Bearer ${token.slice(0, -6)}AAAAAA` }), 401);

    // With an access token that is no longer good the client gets another one by itself.
    application.kept = { ...application.kept, access_token: `${token.slice(0, -6)}AAAAAA` };
    const again = kind.make();
    await again.connect(kind.transport(url, application));
    assert.ok((await again.listTools()).tools.length > 3);
    assert.notEqual(application.kept.access_token, token);
    assert.equal(application.redirects.length, 1, "the user is not asked again");
    await again.close();
    assert.match(server.log, /principal=oauth:alice/);
    assert.ok(!server.log.includes(token.split(".")[2]), "the log has a token");
  });

  test(`the client of ${version} is not let in with a token for another server`, async () => {
    const [one, other] = await Promise.all([serve("--oauth-issuer", issuer.url), serve("--oauth-issuer", issuer.url)]);
    const application = new Application();
    await (await logIn(kind, new URL(`${one.url}/mcp`), application)).close();
    const reply = await fetch(`${other.url}/repositories`, { headers: { authorization: `Bearer ${application.kept.access_token}` } });
    assert.equal(reply.status, 401);
    assert.match(reply.headers.get("www-authenticate"), /error="invalid_token"/);
  });

  test(`the client of ${version} is told which scope it lacks`, async () => {
    const server = await serve("--oauth-issuer", stingy.url, "--oauth-scope", "repomcp:read");
    const url = new URL(`${server.url}/mcp`);
    const application = new Application();
    const first = kind.transport(url, application);
    await assert.rejects(kind.make().connect(first));
    await kind.finish(first, await agree(application.redirects[0], home));
    const reply = await fetch(url, { method: "POST", headers: { authorization: `Bearer ${application.kept.access_token}`, "content-type": "application/json" }, body: "{}" });
    assert.equal(reply.status, 403);
    assert.match(reply.headers.get("www-authenticate"), /error="insufficient_scope".*scope="repomcp:read"/);
    await assert.rejects(kind.make().connect(kind.transport(url, application)));
  });
}

test("the metadata is what RFC 9728 wants, at both addresses", async () => {
  const server = await serve("--oauth-issuer", issuer.url);
  for (const path of ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"]) {
    const reply = await fetch(server.url + path);
    assert.equal(reply.status, 200);
    assert.match(reply.headers.get("content-type"), /^application\/json/);
    assert.deepEqual(await reply.json(), {
      resource: `${server.url}/mcp`, authorization_servers: [issuer.url], scopes_supported: [scope],
      bearer_methods_supported: ["header"], resource_name: "repomcp: git repositories",
    });
  }
});
