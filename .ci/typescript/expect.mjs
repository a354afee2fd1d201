// What both eras have to agree on, and where the truth comes from: git itself.

import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";

import { calls, checkList, checkResult, git } from "../tools.mjs";

assert.ok(process.env.MCP_URL, "MCP_URL must be the address of a server of testrepos, such as http://127.0.0.1:8080/mcp");

export const url = new URL(process.env.MCP_URL);

export const streamable = "io.github.repomcp/streamable";

// The templates, and which of them lead to bytes that can be streamed.
const templates = {
  "repo://{+repo}": false,
  "repo://{+repo}/refs": true,
  "repo://{+repo}/refs/heads/{branch}": false,
  "repo://{+repo}/refs/tags/{tag}": false,
  "repo://{+repo}/contents{/path*}": true,
  "repo://{+repo}/refs/heads/{branch}/contents{/path*}": true,
  "repo://{+repo}/refs/tags/{tag}/contents{/path*}": true,
  "repo://{+repo}/sha/{sha}/contents{/path*}": true,
  "repo://{+repo}/compare/{+base}...{+head}.{form}": true,
  "repo://{+repo}/commit/{+sha}.{form}": true,
  "repo://{+repo}/archive/{+ref}.{format}{?path*,exclude*,prefix,strip,profile,base,delta,fallback,lfs,submodules,objects,depth,refname,origin,pushurl}": true,
};

export async function listsTemplates(client) {
  const { resourceTemplates } = await client.listResourceTemplates();
  const found = resourceTemplates.map((t) => [t.uriTemplate, t._meta?.[streamable] === true]);
  assert.deepEqual(Object.fromEntries(found), templates);
  assert.equal(found.length, Object.keys(templates).length, "a template is listed twice");
}

export async function listsResources(client) {
  const { resources } = await client.listResources();
  const byURI = new Map(resources.map((r) => [r.uri, r]));
  assert.equal(byURI.get("repo://hello")?.mimeType, "application/json");
  const archive = byURI.get("repo://hello/archive/refs/heads/main.tar.gz");
  assert.equal(archive?.mimeType, "application/gzip");
  assert.equal(archive._meta?.[streamable], true);
  assert.ok(byURI.has("repo://team/tools/builder"), "a repository three levels deep is missing");
}

export async function readsText(client) {
  const uri = "repo://hello/contents/README.md";
  const { contents } = await client.readResource({ uri });
  assert.equal(contents.length, 1);
  assert.equal(contents[0].uri, uri);
  assert.equal(contents[0].text, git("hello", "show", "main:README.md").toString());
}

export async function readsBlobs(client) {
  for (const path of ["data/noise.bin", "images/logo.png"]) {
    const { contents } = await client.readResource({ uri: `repo://media/contents/${path}` });
    assert.equal(contents.length, 1);
    assert.equal(contents[0].text, undefined);
    const bytes = Buffer.from(contents[0].blob, "base64");
    assert.ok(bytes.equals(git("media", "show", `main:${path}`)), `${path} has other bytes than git's`);
  }
}

export async function reportsMissing(client, code) {
  for (const uri of ["repo://hello/contents/missing.txt", "repo://missing", "repo://hello/refs/heads/missing"]) {
    await assert.rejects(client.readResource({ uri }), (error) => {
      assert.equal(error.code, code, `${uri}: ${error}`);
      assert.equal(error.data?.uri, uri);
      assert.equal(error.data?.reason, "not_found");
      return true;
    });
  }
}

// The clients hold the data of results against the schemas that were listed.
export async function callsTools(client, streamable) {
  checkList((await client.listTools()).tools);
  for (const call of calls) {
    checkResult(call, await client.callTool({ name: call.name, arguments: call.arguments }), streamable);
  }
}

export async function toolsExplainErrors(client) {
  const result = await client.callTool({ name: "list_tags", arguments: { repo: "hello", per_page: 1 } });
  assert.equal(result.isError, true);
  assert.match(result.content[0].text, /Did you mean perPage\?/);
}

export const archive = "repo://hello/archive/refs/heads/main.tar.gz";

// gunzipSync refuses a stream that ends early, and git's tar shows that nothing
// is missing inside.
export async function isTheArchive(response) {
  assert.equal(response.status, 200, response.ok ? "" : await response.text());
  assert.equal(response.headers.get("Content-Type"), "application/gzip");
  const tar = gunzipSync(Buffer.from(await response.arrayBuffer()));
  assert.ok(tar.equals(git("hello", "-c", "tar.umask=0002", "archive", "--format=tar", "refs/heads/main")));
}

// What is said of the archive beside its bytes.
export function tellsOfTheArchive(headers) {
  assert.equal(headers.get("MCP-Resource-Uri"), archive);
  assert.match(headers.get("Content-Location"), /^repo:\/\/hello\/archive\/[0-9a-f]{40}\.tar\.gz$/);
  assert.equal(headers.get("Content-Disposition"), "attachment; filename=hello-main.tar.gz");
}

// The clients take no reply but JSON and events, so that bytes need a plain fetch.
export function stream(to, { headers, meta }, options) {
  return fetch(to, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "*/*", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "resources/stream", params: { uri: archive, ...meta } }),
    ...options,
  });
}

export async function streamsArchive(era) {
  const response = await stream(url, era);
  tellsOfTheArchive(response.headers);
  await isTheArchive(response);
}

// The client itself asks for the downloadUrl: its Accept admits no bytes. The
// link is good for one download. The server asks nobody who they are, so that the
// link needs nothing beside it.
export async function downloadsArchive(ask) {
  const result = await ask({ method: "resources/stream", params: { uri: archive } });
  assert.equal(result.uri, archive);
  assert.equal(result.mimeType, "application/gzip");
  assert.match(new URL(result.downloadUrl).pathname, /^\/dl\/[A-Za-z0-9_-]+$/);
  const look = await fetch(result.downloadUrl, { method: "HEAD" });
  assert.equal(look.status, 200);
  const response = await fetch(result.downloadUrl, { redirect: "error" });
  tellsOfTheArchive(response.headers);
  await isTheArchive(response);
  const again = await fetch(result.downloadUrl);
  assert.equal(again.status, 404);
  assert.match(await again.text(), /resources\/stream/);
}

// Of a list the link is for who has nothing but it.
export async function followsTheList(client) {
  const { resources } = await client.listResources();
  const link = resources.find((r) => r.uri === archive)._meta["io.github.repomcp/httpUrl"];
  for (let i = 0; i < 2; i++) {
    await isTheArchive(await fetch(link));
  }
}

// The archive is in the bucket: the server sends whoever admits bytes there.
export async function redirectsToArchive(to, era) {
  const response = await stream(to, era, { redirect: "manual" });
  assert.equal(response.status, 302, response.status === 302 ? "" : await response.text());
  assert.equal(response.headers.get("MCP-Resource-Uri"), archive);
  assert.notEqual(new URL(response.headers.get("Location")).host, new URL(to).host);
  await isTheArchive(await stream(to, era));
}
