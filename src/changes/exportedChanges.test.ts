import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { pino } from "pino";
import type { Store } from "../store/store.js";
import type { ChangeRecord } from "./changeRecords.js";
import { Changes } from "./changes.js";
import type { FileDiff } from "./diff.js";
import { ChangesInFile, maxAllChars } from "./exportedChanges.js";
import { type TestRepository, testRepository } from "./testRepository.js";

/** The differences that an exported file has after this work, by the path of their file. */
async function exported(repo: TestRepository, work: () => Promise<unknown>, maxDiffs?: number) {
  // Snapshots need no store.
  const changes = new Changes({ dataDir: repo.data, store: {} as Store, log: pino({ level: "silent" }) });
  const before = await changes.snapshots.take(repo.root);
  await work();
  const after = await changes.snapshots.take(repo.root);
  assert.ok(before && after);
  const { files } = await changes.snapshots.changesBetween(before, after);
  const record = { repository: after.repository, prefix: "", base: before.tree, head: after.tree };
  const inFile = new ChangesInFile(changes, "changes", maxDiffs);
  await inFile.add("turn=1", { files }, [record as ChangeRecord]);
  const differences = new Map<string, FileDiff | null>();
  for (const { path } of files) {
    const make = inFile.answers[`changes/file?turn=1&path=${encodeURIComponent(path)}`];
    assert.ok(typeof make === "function", path);
    differences.set(path, await make());
  }
  assert.deepEqual(inFile.answers["changes?turn=1"], { files });
  return differences;
}

describe("The changes in an exported file", () => {
  test("have the difference of each file, without its texts", async t => {
    const repo = await testRepository(t);
    const found = await exported(repo, async () => {
      await repo.write("a.txt", "one\n2\nthree\n");
      await repo.write("b/</script>&?.txt", "new\n");
      await repo.write("c.bin", Buffer.from([0, 1, 2]));
    });
    assert.match(found.get("a.txt")?.diff ?? "", /^-two\n\+2$/m);
    assert.match(found.get("b/</script>&?.txt")?.diff ?? "", /^\+new$/m);
    assert.equal(found.get("c.bin")?.binary, true);
    for (const difference of found.values()) assert.equal(difference && "after" in difference, false);
  });

  test("leave out a difference that is too long, and those for which no room is left", async t => {
    const repo = await testRepository(t);
    const chars = 150_000;
    const found = await exported(repo, async () => {
      await repo.write("0-too-long.txt", "x".repeat(250_000));
      await repo.write("0-too-many-lines.txt", "\n".repeat(250_000));
      for (let i = 0; i < 9; i++) await repo.write(`1-long-${i}.txt`, "x".repeat(chars));
      await repo.write("2-short.txt", "short\n");
    });
    const isThere = [...found].map(([path, difference]) => [path, difference !== null] as const);
    const fits = Math.floor(maxAllChars / chars);
    assert.deepEqual(isThere, [
      ["0-too-long.txt", false],
      ["0-too-many-lines.txt", false],
      ...Array.from({ length: 9 }, (_, i) => [`1-long-${i}.txt`, i < fits] as const),
      ["2-short.txt", true],
    ]);
    const all = [...found.values()].reduce((sum, difference) => sum + (difference?.diff.length ?? 0), 0);
    assert.ok(all <= maxAllChars, `${all}`);
  });

  test("have no more differences than can be made soon", async t => {
    const repo = await testRepository(t);
    const work = async () => {
      for (const path of ["1.txt", "2.txt", "3.txt"]) await repo.write(path, `${path}\n`);
    };
    const found = await exported(repo, work, 2);
    assert.deepEqual(
      [...found].map(([path, difference]) => [path, difference !== null]),
      [
        ["1.txt", true],
        ["2.txt", true],
        ["3.txt", false],
      ],
    );
  });
});
