import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { copilotHomeIn, readMemory, writeMemory } from "./memoryFiles.js";

const folder = mkdtempSync(join(tmpdir(), "portal-memory-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const outside = join(folder, "outside");
mkdirSync(outside);
writeFileSync(join(outside, "events.jsonl"), "secret\n");

let homes = 0;
function newHome(): string {
  const home = join(folder, `home-${++homes}`);
  mkdirSync(join(home, "session-state"), { recursive: true });
  return home;
}
const content = Buffer.from("one\n");
const textOf = async (home: string, id: string) =>
  (await readMemory(home, id, "events.jsonl"))?.bytes.toString();

describe("The files of an agent's memory", () => {
  test("are written to a home that does not exist, and read from any place on", async () => {
    const home = join(folder, "new");
    assert.equal(await writeMemory(home, "a-1", "events.jsonl", Buffer.from("one\ntwo\n")), true);
    assert.equal(await textOf(home, "a-1"), "one\ntwo\n");
    const part = await readMemory(home, "a-1", "events.jsonl", 4);
    assert.deepEqual([part?.size, part?.bytes.toString()], [8, "two\n"]);
    assert.equal((await readMemory(home, "a-1", "events.jsonl", 99))?.bytes.length, 0);
    assert.equal(await textOf(home, "other"), undefined);
  });

  for (const id of ["../../outside", "..", ".", "", "a/b", "a\\b", "/etc", "a\0b", "x".repeat(101)])
    test(`are not looked for under the id ${JSON.stringify(id).slice(0, 20)}`, async () => {
      const home = newHome();
      assert.equal(await textOf(home, id), undefined);
      assert.equal(await writeMemory(home, id, "events.jsonl", content), false);
    });

  test("are not read from and not written to a folder that a link leads to", async () => {
    const home = newHome();
    symlinkSync(outside, join(home, "session-state", "a"));
    assert.equal(await textOf(home, "a"), undefined);
    assert.equal(await writeMemory(home, "a", "events.jsonl", content), false);
    assert.equal(readFileSync(join(outside, "events.jsonl"), "utf8"), "secret\n");
  });

  test("are never what a link in their place leads to, and writing replaces the link", async () => {
    const home = newHome();
    mkdirSync(join(home, "session-state", "a"));
    symlinkSync(join(outside, "events.jsonl"), join(home, "session-state", "a", "events.jsonl"));
    assert.equal(await textOf(home, "a"), undefined);
    assert.equal(await writeMemory(home, "a", "events.jsonl", content), true);
    assert.equal(await textOf(home, "a"), "one\n");
    assert.equal(readFileSync(join(outside, "events.jsonl"), "utf8"), "secret\n");
  });

  test("are not waited for when a pipe is in their place", async () => {
    const home = newHome();
    mkdirSync(join(home, "session-state", "a"));
    execFileSync("mkfifo", [join(home, "session-state", "a", "events.jsonl")]);
    assert.equal(await textOf(home, "a"), undefined);
    assert.ok(!existsSync(join(home, "session-state", "a", "workspace.yaml")));
  });

  test("are where the runtime keeps them", () => {
    assert.equal(copilotHomeIn({ COPILOT_HOME: "/x", HOME: "/home/u" }), "/x");
    assert.equal(copilotHomeIn({ HOME: "/home/u" }), "/home/u/.copilot");
  });
});
