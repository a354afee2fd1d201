// A server over a mirror that git makes, and a model that is told what to say: it
// keeps what the framework sends it.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

assert.ok(process.env.REPOMCP, "REPOMCP must be the path of the program");

export const longFile = Array.from({ length: 3000 }, (_, i) => `line ${i + 1} of a file that is too long for one result\n`).join("");

// mirror makes a repository with tags, commits, a long file and a binary one.
function mirror(root) {
  const repository = join(root, "story.git");
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  execFileSync("git", ["init", "-q", "--bare", "-b", "main", repository], { env });
  const files = [["long.txt", Buffer.from(longFile)], ["image.png", Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 3])]];
  const parts = [];
  for (let n = 1; n <= 6; n++) {
    parts.push(`commit refs/heads/main\ncommitter C <c@example.com> ${1700000000 + n} +0000\ndata ${`change ${n}`.length}\nchange ${n}\n`);
    for (const [name, content] of n === 1 ? files : [["counter", Buffer.from(`${n}\n`)]]) {
      parts.push(`M 100644 inline ${name}\ndata ${content.length}\n`, content, "\n");
    }
    parts.push(`reset refs/tags/v${n}\nfrom refs/heads/main\n\n`);
  }
  execFileSync("git", ["-C", repository, "fast-import", "--quiet"], { env, input: Buffer.concat(parts.map((part) => Buffer.from(part))) });
}

// serve starts the program, and gives the address of its endpoint.
export async function serve(...flags) {
  const root = mkdtempSync(join(tmpdir(), "repomcp-agents-"));
  mirror(root);
  const program = spawn(process.env.REPOMCP, ["serve", "--root", root, "--listen", "127.0.0.1:0", ...flags], { stdio: ["ignore", "ignore", "pipe"] });
  const said = [];
  let url;
  for await (const line of createInterface({ input: program.stderr })) {
    said.push(line);
    url = line.match(/^listening on (http:\/\/[^, ]*)/)?.[1];
    if (url) break;
  }
  program.stderr.resume();
  assert.ok(url, said.join("\n"));
  const close = async () => {
    program.kill("SIGTERM");
    const [code] = program.exitCode === null ? await once(program, "exit") : [program.exitCode];
    rmSync(root, { recursive: true });
    assert.equal(code, 0);
  };
  return { url: `${url}/mcp`, close };
}

// model serves the chat completions of OpenAI's API on the loopback interface. It
// answers with the messages of the script, one after the other.
export async function model(...script) {
  const requests = [];
  const server = createServer(async (request, response) => {
    const body = [];
    for await (const part of request) body.push(part);
    requests.push(JSON.parse(Buffer.concat(body).toString()));
    const message = script.shift() ?? { content: "done" };
    response.setHeader("Content-Type", "application/json");
    response.end(
      JSON.stringify({
        id: "chat-1", object: "chat.completion", created: 1700000000, model: "scripted",
        choices: [{ index: 0, finish_reason: message.tool_calls ? "tool_calls" : "stop", message: { role: "assistant", content: null, ...message } }],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      }),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${server.address().port}/v1`, requests, close: () => new Promise((done) => server.close(done)) };
}

// Calls that an agent makes, and what its model has to see of each.
const link = /repo:\/\/story\/archive\/[0-9a-f]{40}\.tar\.gz/;
export const calls = [
  { name: "list_tags", arguments: { repo: "story", perPage: 2 }, sees: [/^v[0-9] [0-9a-f]{12} /m, /\[Cut here\. Go on with cursor=/] },
  { name: "list_commits", arguments: { repo: "story", perPage: 2 }, sees: [/: change 6$/m, /: change 5$/m, /\[Cut here\. Go on with cursor=/] },
  { name: "get_file_contents", arguments: { repo: "story", path: "long.txt" }, sees: [/^line 1 of/, /\[Cut here\. Go on with start_line=[0-9]+\]/, /GET \/raw\/|curl /] },
  { name: "get_repository_tree", arguments: { repo: "story" }, sees: [/ image\.png$/m] },
  { name: "get_archive_link", arguments: { repo: "story" }, sees: [link], links: true },
  { name: "get_file_contents", arguments: { repo: "story", path: "image.png" }, sees: [/It is not a text file/, /contents\/image\.png/], links: true },
];

// toolCalls asks for the calls, in the words of OpenAI's API.
export const toolCalls = (list) => ({
  tool_calls: list.map((call, i) => ({ id: `call-${i}`, type: "function", function: { name: call.name, arguments: JSON.stringify(call.arguments) } })),
});

// checkSeen holds what a model was sent against a call: texts alone, in the forms
// that the API has, and no more than the promised 32 KiB.
export function checkSeen(call, content) {
  const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
  for (const part of parts) {
    assert.equal(part.type, "text", `${call.name}: ${JSON.stringify(part).slice(0, 300)}`);
  }
  const text = parts.map((part) => part.text).join("\n");
  for (const expected of call.sees) {
    assert.match(text, expected, call.name);
  }
  assert.ok(Buffer.byteLength(text) <= 32 << 10, `${call.name}: ${Buffer.byteLength(text)} bytes`);
}
