// isomorphic-git, a git in JavaScript, reads checkouts as clones: refs, objects, the index, and the state of files.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";

import git from "isomorphic-git";

const program = process.env.REPOMCP;
const root = path.resolve(import.meta.dirname, "../../testrepos");

// checkout extracts one of a sample mirror.
function checkout(t, repository, ...flags) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "checkout-"));
  t.after(() => fs.rmSync(dir, { recursive: true }));
  const archive = execFileSync(
    program,
    ["archive", "--root", root, repository, "--format", "tar", "--profile", "checkout", ...flags],
    { maxBuffer: 1 << 30 },
  );
  execFileSync("tar", ["xf", "-", "-C", dir], { input: archive });
  return { fs, dir };
}

for (const repository of ["hello", "history", "attributes", "large-tree"]) {
  test(`${repository} is read`, async (t) => {
    const at = checkout(t, repository, "--origin", "https://git.example/a.git");
    const mirror = path.join(root, `${repository}.git`);
    const head = execFileSync("git", ["-C", mirror, "rev-parse", "HEAD"], { encoding: "utf8" }).trim();
    assert.equal(await git.resolveRef({ ...at, ref: "HEAD" }), head);
    assert.equal(await git.currentBranch(at), "main");
    assert.deepEqual(await git.listRemotes(at), [{ remote: "origin", url: "https://git.example/a.git" }]);
    assert.equal((await git.log(at)).length, 1); // the history is cut there

    let read = 0;
    for (const filepath of await git.listFiles(at)) {
      const { blob } = await git.readBlob({ ...at, oid: head, filepath });
      const want = execFileSync("git", ["-C", mirror, "cat-file", "blob", `HEAD:${filepath}`]);
      assert.ok(want.equals(blob), filepath);
      read++;
    }
    assert.ok(read > 0);
  });
}

test("edits are seen and committed", async (t) => {
  const at = checkout(t, "hello");
  assert.ok((await git.statusMatrix(at)).every(([, head, work, stage]) => head === 1 && work === 1 && stage === 1));
  fs.appendFileSync(path.join(at.dir, "README.md"), "edited\n");
  assert.equal(await git.status({ ...at, filepath: "README.md" }), "*modified");
  await git.add({ ...at, filepath: "README.md" });
  const before = await git.resolveRef({ ...at, ref: "HEAD" });
  await git.commit({ ...at, message: "edited", author: { name: "A U Thor", email: "author@example.com" } });
  const [commit] = await git.log({ ...at, depth: 1 });
  assert.deepEqual(commit.commit.parent, [before]);
  assert.equal(execFileSync("git", ["-C", at.dir, "status", "--porcelain"], { encoding: "utf8" }), "");
});
