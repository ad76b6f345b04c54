import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { LiveLogs } from "../../src/sharedApi.js";
import { openStore } from "../../src/store/store.js";
import { defer, tempFolder } from "../support/cleanup.js";
import { randomFrom } from "../support/kills/randomLog.js";
import { silent, storedRecords } from "../support/live/live.js";

const writer = fileURLToPath(new URL("../support/live/liveWriter.js", import.meta.url));
/** `store/killPoints` also kills before and after a write of the log; `bench/jobs` kills at 100 random moments. */
const kills = 5;

interface Said {
  /** What readers saw under a number, per log. */
  seen: Map<string, string>;
  /** Responses that were acknowledged, per log, in order. */
  stored: Map<string, string[]>;
}

/** Kills the writer after it has written a number of lines. */
async function runAndKill(
  t: TestContext,
  dataDir: string,
  seed: number,
  lines: number,
  said: Said,
): Promise<void> {
  const child = spawn(process.execPath, ["--enable-source-maps", writer, dataDir, `${seed}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  defer(t, () => child.kill("SIGKILL"));
  const exited = once(child, "exit");
  let count = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    if (++count === lines) child.kill("SIGKILL");
    const [, kind, log = "", rest = ""] = /^(seen|stored) (\w+) (.*)$/.exec(line) ?? [];
    if (kind === "stored") said.stored.set(log, [...(said.stored.get(log) ?? []), rest]);
    if (kind === "seen") noteSeen(said, `${log} ${rest.split(" ", 1)}`, rest.slice(rest.indexOf(" ") + 1));
  }
  const [code, signal] = await exited;
  assert.equal(signal, "SIGKILL", `the writer ended by itself with ${code}`);
}

function noteSeen({ seen }: Said, key: string, json: string): void {
  const before = seen.get(key);
  assert.ok(before === undefined || before === json, `${key} was ${before} and is now ${json}`);
  seen.set(key, json);
}

describe(`After ${kills} kills (-9) at random moments`, () => {
  test("no acknowledged response is lost, no number is used twice, and every block ends once", async t => {
    const dataDir = await tempFolder(t, "portal-crash");
    const said: Said = { seen: new Map(), stored: new Map() };
    const random = randomFrom(Date.now());
    for (let kill = 1; kill <= kills; kill++)
      await runAndKill(t, dataDir, kill, 2 + Math.floor(random() * 400), said);

    const store = openStore({ dataDir, log: silent });
    defer(t, () => store.close());
    const logs = new LiveLogs(store, silent);
    await logs.adoption.start();
    let interrupted = 0;
    for (const id of said.stored.keys()) {
      const records = await storedRecords(store, id);
      const numbers = records.map(({ n }) => n);
      assert.deepEqual(
        numbers,
        [...new Set(numbers)].sort((a, b) => a - b),
        "numbers only increase",
      );
      const jsons = records.map(({ json }) => json);
      let at = -1;
      for (const json of said.stored.get(id) ?? []) {
        at = jsons.indexOf(json, at + 1);
        assert.notEqual(at, -1, `${id} lost, or moved, ${json}`);
      }
      for (const { n, json } of records) noteSeen(said, `${id} ${n}`, json);

      const open = new Map<number, string>();
      for (const { part, block, json } of records) {
        if (part === "s") open.set(block, "");
        else if (part !== "-") assert.ok(open.has(block), `${json} is outside of its block`);
        if (part === "d") open.set(block, `${open.get(block)}${JSON.parse(json)}`);
        if (part === "e") {
          const end = JSON.parse(json) as { completeContent: string; interrupted?: boolean };
          assert.equal(end.completeContent, open.get(block));
          if (end.interrupted) interrupted++;
          open.delete(block);
        }
      }
      assert.deepEqual([...open], [], "every block has ended");
    }
    assert.ok(said.seen.size > 300 && interrupted > 0, `${said.seen.size} seen, ${interrupted} interrupted`);
    t.diagnostic(`${said.seen.size} numbers seen, ${interrupted} blocks interrupted`);
  });
});
