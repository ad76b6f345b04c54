import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFile, chmod, mkdir, readdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { diffFile } from "./diff.js";
import { Snapshots } from "./snapshots.js";
import { type TestRepository, testRepository } from "./testRepository.js";

interface Hostile extends TestRepository {
  /** The names of the settings whose program ran. */
  ran(): Promise<string[]>;
}

/** A repository in which every setting and hook that can name a program names one that leaves a trace. */
async function hostileRepository(t: TestContext): Promise<Hostile> {
  const repo = await testRepository(t);
  const traces = join(repo.outside, "traces");
  await mkdir(traces);
  const program = async (name: string) => {
    const file = join(repo.outside, `program-${name}`);
    await writeFile(file, `#!/bin/sh\ntouch '${join(traces, name)}'\ncat 2>/dev/null\n`);
    await chmod(file, 0o755);
    return file;
  };
  await repo.write(".gitattributes", "*.txt filter=own diff=own\n[attr]macro filter=macro\nmacro.* macro\n");
  await repo.write("a.bin", Buffer.from([0, 1]));
  await repo.write("macro.file", "x\n");
  await writeFile(join(repo.root, ".git", "info", "attributes"), "*.bin filter=info diff=own\n");
  repo.git("add", "-A");
  repo.git("commit", "-qm", "attributes");
  const settings: Record<string, string> = {
    "core.fsmonitor": await program("fsmonitor"),
    "core.pager": await program("pager"),
    "core.sshCommand": await program("sshCommand"),
    "core.askPass": await program("askPass"),
    "core.editor": await program("editor"),
    "core.gitProxy": await program("gitProxy"),
    "core.alternateRefsCommand": await program("alternateRefsCommand"),
    "credential.helper": await program("credentialHelper"),
    "diff.external": await program("diffExternal"),
    "diff.own.textconv": await program("textconv"),
    "diff.own.command": await program("diffCommand"),
    "filter.own.clean": await program("clean"),
    "filter.own.smudge": await program("smudge"),
    "filter.own.required": "true",
    "filter.info.process": await program("process"),
    "filter.macro.clean": await program("macroClean"),
    "gpg.program": await program("gpg"),
    "commit.gpgSign": "true",
    "merge.own.driver": await program("mergeDriver"),
    "remote.origin.url": `ext::${await program("remote")}`,
    "remote.origin.promisor": "true",
    "remote.origin.uploadpack": await program("uploadpack"),
  };
  for (const [name, value] of Object.entries(settings)) repo.git("config", name, value);
  const hooks = join(repo.outside, "hooks");
  await mkdir(hooks);
  for (const name of ["post-index-change", "pre-commit", "commit-msg", "reference-transaction"]) {
    await writeFile(join(hooks, name), `#!/bin/sh\ntouch '${join(traces, `hook ${name}`)}'\n`, {
      mode: 0o755,
    });
  }
  // An included file is as good as the settings themselves.
  await writeFile(join(repo.outside, "included"), `[core]\n\thooksPath = ${hooks}\n`);
  await appendFile(
    join(repo.root, ".git", "config"),
    `[include]\n\tpath = ${join(repo.outside, "included")}\n`,
  );
  return { ...repo, ran: async () => (await readdir(traces)).sort() };
}

/** Of the same size, so that git has to read the files. */
async function change(repo: Hostile): Promise<void> {
  await repo.write("a.txt", "ONE\ntwo\nthree\n");
  await repo.write("a.bin", Buffer.from([0, 2]));
  await repo.write("macro.file", "y\n");
  for (const name of ["a.txt", "a.bin", "macro.file"]) await utimes(join(repo.root, name), 1, 1);
}

describe("A repository whose settings name programs", () => {
  test("runs none of them in snapshots and diffs", async t => {
    const repo = await hostileRepository(t);
    const snapshots = new Snapshots(repo.data);
    const before = await snapshots.take(repo.root);
    await change(repo);
    const after = await snapshots.take(repo.root);
    assert.ok(before && after);
    const { files } = await snapshots.changesBetween(before, after);
    assert.deepEqual(
      files.map(({ path }) => path),
      ["a.bin", "a.txt", "macro.file"],
    );
    const diff = await diffFile(snapshots.shadowOf(after.repository), before.tree, after.tree, "a.txt");
    assert.match(diff?.diff ?? "", /^-one\n\+ONE$/m);
    assert.deepEqual(await repo.ran(), []);
  });

  test("runs many of them with plain git, so that the test above can fail", async t => {
    const repo = await hostileRepository(t);
    await change(repo);
    for (const args of [["status"], ["diff"], ["add", "-A"], ["commit", "-m", "x"], ["fetch"]]) {
      try {
        execFileSync("git", ["-C", repo.root, ...args], { stdio: "ignore", timeout: 10_000 });
      } catch {
        // Some of the programs break git; what counts is that they ran.
      }
    }
    const ran = await repo.ran();
    for (const name of [
      "clean",
      "process",
      "macroClean",
      "diffCommand",
      "fsmonitor",
      "hook post-index-change",
    ])
      assert.ok(ran.includes(name), `${name} ran: ${ran}`);
  });
});
