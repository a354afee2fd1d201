// The one table of calls that every client makes: a call or more of each tool,
// and what git or the table says of the result.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

export function git(repository, ...args) {
  const folder = fileURLToPath(new URL(`../testrepos/${repository}.git`, import.meta.url));
  return execFileSync("git", ["-C", folder, ...args]);
}

const lines = (buffer) => buffer.toString().trimEnd().split("\n");
const head = (repository) => lines(git(repository, "rev-parse", "HEAD"))[0];

// A check gets the data of a result, its text blocks and its links, and whether
// these are streamable.
export const calls = [
  {
    name: "search_repositories",
    arguments: { query: "tools" },
    check: ({ data }) => assert.deepEqual(data.repositories, ["team/tools", "team/tools/builder"]),
  },
  {
    name: "get_repository",
    arguments: { repo: "hello" },
    check: ({ data }) => assert.equal(data.head.sha, head("hello")),
  },
  {
    name: "list_branches",
    arguments: { repo: "refs", perPage: 100 },
    check: ({ data }) => {
      const found = data.refs.map((ref) => `${ref.name} ${ref.sha}`);
      assert.deepEqual(found, lines(git("refs", "for-each-ref", "--sort=-creatordate", "--format=%(refname:lstrip=2) %(objectname)", "refs/heads")));
    },
  },
  {
    name: "list_tags",
    arguments: { owner: "team/tools", repo: "builder" },
    check: ({ data }) => assert.equal(data.refs[0].sha, lines(git("team/tools/builder", "rev-parse", "v0.1.0^{commit}"))[0]),
  },
  {
    name: "get_tag",
    arguments: { repo: "hello", tag: "v1.0.0" },
    check: ({ texts, data }) => {
      assert.equal(data, undefined);
      assert.ok(texts[0].includes(lines(git("hello", "cat-file", "tag", "v1.0.0")).at(-1)));
    },
  },
  {
    name: "get_repository_tree",
    arguments: { repo: "modes", recursive: true },
    check: ({ data }) => {
      const found = data.tree.map((e) => `${e.mode} ${e.type} ${e.sha}\t${e.path}`);
      assert.deepEqual(found, lines(git("modes", "ls-tree", "-r", "-t", "HEAD")));
    },
  },
  {
    name: "get_file_contents",
    arguments: { repo: "hello", path: "README.md" },
    check: ({ texts, data }) => {
      assert.equal(data, undefined);
      assert.equal(texts[0], git("hello", "show", "HEAD:README.md").toString());
    },
  },
  {
    name: "get_file_contents",
    arguments: { repo: "media", path: "images/logo.png" },
    check: ({ links, streamable }) => {
      assert.equal(links.length, 1);
      assert.equal(links[0].mimeType, "image/png");
      assert.equal(links[0].size, 123);
      assert.equal(links[0]._meta["io.github.repomcp/streamable"], streamable);
    },
  },
  {
    name: "find_files",
    arguments: { repo: "hello", glob: "**/*.{js,md}", order: "path" },
    check: ({ data }) => assert.deepEqual(data.files, lines(git("hello", "ls-tree", "-r", "--name-only", "HEAD")).filter((f) => /\.(js|md)$/.test(f))),
  },
  {
    name: "search_code",
    arguments: { repo: "hello", query: "greeting", case: "sensitive", sort: "path" },
    check: ({ data, texts }) => {
      const found = data.files.flatMap((f) => f.lines.map((l) => `${f.path}:${l.line}:${l.column}:${l.text}`));
      const printed = lines(git("hello", "grep", "-n", "--column", "-I", "-e", "greeting", "HEAD"));
      assert.deepEqual(found, printed.map((line) => line.replace(/^HEAD:/, "")));
      assert.equal(texts[0].trimEnd().split("\n").length, found.length + 1);
    },
  },
  {
    name: "list_commits",
    arguments: { repo: "hello", sha: "feature/login" },
    check: ({ data }) => assert.deepEqual(data.commits.map((c) => `${c.sha} ${c.subject}`), lines(git("hello", "log", "--format=%H %s", "feature/login"))),
  },
  {
    name: "list_commits",
    arguments: { repo: "hello", ref: "main...feature/login" },
    check: ({ data }) => assert.deepEqual(data.commits.map((c) => c.sha), lines(git("hello", "log", "--format=%H", "main...feature/login"))),
  },
  {
    name: "get_commit",
    arguments: { repo: "hello", sha: "v1.0.0", detail: "full_patch" },
    check: ({ texts }) => assert.ok(texts[0].endsWith(`\n\n${git("hello", "show", "--format=", "v1.0.0^{commit}")}`)),
  },
  {
    name: "compare_commits",
    arguments: { repo: "hello", base: "first", head: "v1.0.0" },
    check: ({ texts }) => {
      const commits = lines(git("hello", "log", "--abbrev=12", "--format=%h", "first..v1.0.0"));
      const files = lines(git("hello", "diff", "--numstat", "first...v1.0.0")).map((line) => line.split("\t")[2]);
      const [log, stats] = texts[0].trimEnd().split("\n\n").map((part) => part.split("\n"));
      assert.deepEqual(log.map((line) => line.split(" ")[0]), commits);
      assert.deepEqual(stats.map((line) => line.split(" ").at(-1)), files);
    },
  },
  {
    name: "compare_commits",
    arguments: { repo: "hello", base: "main", head: "feature/login", detail: "full_patch" },
    check: ({ texts }) => assert.equal(texts[0], git("hello", "diff", "main...feature/login").toString()),
  },
  {
    name: "get_file_blame",
    arguments: { repo: "hello", path: "README.md" },
    check: ({ data }) => {
      const found = data.ranges.flatMap((r) => r.lines.map((line) => `${r.sha} ${line}`));
      const porcelain = lines(git("hello", "blame", "--line-porcelain", "HEAD", "--", "README.md"));
      const ids = porcelain.filter((line) => /^[0-9a-f]{40} /.test(line)).map((line) => line.slice(0, 40));
      const texts = porcelain.filter((line) => line.startsWith("\t")).map((line) => line.slice(1));
      assert.deepEqual(found, ids.map((id, i) => `${id} ${texts[i]}`));
    },
  },
  {
    name: "get_archive_link",
    arguments: { repo: "hello", ref: "v1.0.0", format: "tar" },
    check: ({ data, links }) => {
      const commit = lines(git("hello", "rev-parse", "v1.0.0^{commit}"))[0];
      assert.equal(data.uri, `repo://hello/archive/${commit}.tar`);
      assert.equal(data.size, git("hello", "archive", "--format=tar", "v1.0.0").length);
      assert.equal(links[0].uri, data.uri);
    },
  },
];

// Every tool that the server lists is called, and nothing else.
export function checkList(tools) {
  assert.deepEqual(tools.map((tool) => tool.name), [...new Set(calls.map((call) => call.name))].sort());
  for (const tool of tools) {
    assert.equal(tool.annotations.readOnlyHint, true, tool.name);
    assert.ok(tool.title && tool.description, tool.name);
  }
}

// Without an HTTP server nothing is streamable.
export function checkResult(call, result, streamable = true) {
  const texts = result.content.filter((block) => block.type === "text").map((block) => block.text);
  assert.notEqual(result.isError, true, `${call.name}: ${texts}`);
  const links = result.content.filter((block) => block.type === "resource_link");
  call.check({ data: result.structuredContent, texts, links, streamable });
}
