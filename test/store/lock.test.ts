import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { portalProgram } from "../../src/base/paths.js";
import { lockDataFolder } from "../../src/store/lock/lock.js";
import { parseOwner } from "../../src/store/lock/lockOwner.js";
import { defer, tempFolder } from "../support/cleanup.js";
import { isWithin } from "../support/pace.js";
import { startPortal } from "../support/portal/portal.js";

const holder = fileURLToPath(new URL("../support/store/lockHolder.js", import.meta.url));
const isLinux = process.platform === "linux";
const lockOf = (dataDir: string) => join(dataDir, "portal.lock");

/** A PID namespace of its own, as in a container; without root, this needs a user namespace. */
const inContainer = [
  "unshare",
  ...(process.getuid?.() === 0 ? [] : ["--map-root-user"]),
  "--pid",
  "--fork",
  "--kill-child",
  "--mount-proc",
];

interface Holder {
  child: ChildProcess;
  /** Its first line: that it holds the folder, or why it does not. */
  said: Promise<string>;
}

function hold(t: TestContext, dataDir: string, before: readonly string[] = []): Holder {
  const [command = "", ...args] = [...before, process.execPath, holder, dataDir];
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  defer(t, () => child.kill("SIGKILL"));
  return { child, said: once(createInterface(child.stdout), "line").then(([line]) => String(line)) };
}

async function isHeldBy(t: TestContext, dataDir: string, before: readonly string[] = []): Promise<Holder> {
  const found = hold(t, dataDir, before);
  assert.equal(await found.said, "held");
  return found;
}

async function killed(child: ChildProcess): Promise<void> {
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

async function elapsedMs(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

/** The lock of a process that was killed. */
async function staleLock(t: TestContext): Promise<string> {
  const dataDir = await tempFolder(t);
  await killed((await isHeldBy(t, dataDir)).child);
  return dataDir;
}

describe("A data folder that a portal holds", () => {
  test("a data folder is refused at once while its portal answers", async t => {
    const dataDir = await tempFolder(t);
    const { child } = await isHeldBy(t, dataDir);
    const waitedMs = await elapsedMs(() =>
      assert.rejects(lockDataFolder(dataDir), { code: "DataFolderInUse" }),
    );
    assert.ok(isWithin(waitedMs, 1_000, "wall"), `${waitedMs} ms`);
    assert.equal(child.exitCode, null);
  });

  test("a data folder is refused while its process is frozen, and free after that process is killed", async t => {
    const dataDir = await tempFolder(t);
    const { child } = await isHeldBy(t, dataDir);
    child.kill("SIGSTOP");
    await assert.rejects(lockDataFolder(dataDir), { code: "DataFolderInUse" });
    await killed(child);
    (await lockDataFolder(dataDir))();
    assert.deepEqual(readdirSync(dataDir), []);
  });

  test("a data folder without its socket is refused because of the process id", async t => {
    const dataDir = await tempFolder(t);
    await isHeldBy(t, dataDir);
    const { socket = "" } = parseOwner(readFileSync(lockOf(dataDir), "utf8")) ?? {};
    await rm(join(dataDir, socket));
    await assert.rejects(lockDataFolder(dataDir), { code: "DataFolderInUse" });
  });

  test("a lock works in a folder whose path is too long for a socket", async t => {
    const dataDir = join(await tempFolder(t), "a".repeat(120), "b".repeat(120));
    await mkdir(dataDir, { recursive: true });
    await isHeldBy(t, dataDir);
    const { socket } = parseOwner(readFileSync(lockOf(dataDir), "utf8")) ?? {};
    assert.equal(socket !== undefined, isLinux);
    await assert.rejects(lockDataFolder(dataDir), { code: "DataFolderInUse" });
  });
});

describe("A data folder that containers share", () => {
  test("a portal in a container does not start on a folder that a portal outside holds", async t => {
    const portal = await startPortal(t, { store: "embedded" });
    const args = ["--port", "0", "--data-dir", portal.dataDir];
    const [command = "", ...rest] = [...inContainer, process.execPath, portalProgram, ...args];
    const second = spawn(command, rest, { stdio: ["ignore", "pipe", "pipe"] });
    defer(t, () => second.kill("SIGKILL"));
    let [stdout, stderr] = ["", ""];
    second.stdout.on("data", text => (stdout += text));
    second.stderr.on("data", text => (stderr += text));
    const [code] = await once(second, "close");
    assert.equal(code, 1);
    assert.equal(stdout, "");
    assert.match(
      stderr,
      /^The data folder .* is in use by another portal \(pid \d+ of another container\)\..*\n$/,
    );
    assert.equal((await portal.api("test")).status, 200);
  });

  test("a lock from a container holds outside and in other containers, and ends with its process", async t => {
    const dataDir = await tempFolder(t);
    const { child } = await isHeldBy(t, dataDir, inContainer);
    await assert.rejects(lockDataFolder(dataDir), { code: "DataFolderInUse" });
    assert.match(await hold(t, dataDir, inContainer).said, /is in use by another portal/);
    await killed(child);
    await isHeldBy(t, dataDir, inContainer);
  });

  test("a lock without a socket from another container is never taken over, and the message says how to remove it", async t => {
    const dataDir = await tempFolder(t);
    const { child } = await isHeldBy(t, dataDir, inContainer);
    const { socket: _, ...owner } = parseOwner(readFileSync(lockOf(dataDir), "utf8")) ?? {};
    await killed(child);
    writeFileSync(lockOf(dataDir), JSON.stringify(owner));
    await assert.rejects(lockDataFolder(dataDir), (error: Error) => {
      assert.match(error.message, /is in use by another portal/);
      assert.match(error.message, /if it is gone, remove .*portal\.lock\.$/);
      return true;
    });
    await rm(lockOf(dataDir));
    (await lockDataFolder(dataDir))();
  });
});

describe("A data folder whose portal is gone", () => {
  test("a data folder is free when its process is a zombie", async t => {
    const dataDir = await tempFolder(t);
    // `sleep` replaces the shell and never reaps its child.
    const script = `"${process.execPath}" "${holder}" "${dataDir}" & exec sleep 1000`;
    const parent = spawn("sh", ["-c", script], { stdio: ["ignore", "pipe", "inherit"] });
    defer(t, () => parent.kill("SIGKILL"));
    await once(parent.stdout, "data");
    const { pid = 0 } = parseOwner(readFileSync(lockOf(dataDir), "utf8")) ?? {};
    process.kill(pid, "SIGKILL");
    (await lockDataFolder(dataDir))();
    assert.match(readFileSync(`/proc/${pid}/stat`, "utf8"), /\) Z /);
  });

  test("a data folder is taken at once after kill -9, without waiting for the process to disappear", async t => {
    for (let round = 0; round < 5; round++) {
      const dataDir = await tempFolder(t);
      const { child } = await isHeldBy(t, dataDir);
      child.kill("SIGKILL");
      (await lockDataFolder(dataDir))();
      assert.deepEqual(readdirSync(dataDir), []);
    }
  });

  test("a portal starts at once after kill -9 of the previous one, even in the middle of its first start", async t => {
    const first = await startPortal(t, { store: "embedded" });
    process.kill(first.pid, "SIGKILL");
    const second = await startPortal(t, { dataDir: first.dataDir });
    await second.api("copilot/session/history");
    assert.equal((await second.api("health")).body.status, "ok");
    process.kill(second.pid, "SIGKILL");
    const third = await startPortal(t, { dataDir: first.dataDir });
    await third.api("copilot/session/history");
    assert.equal((await third.api("health")).body.status, "ok");
  });

  test("exactly one of two portals that start together gets the folder, twenty times", async t => {
    const dataDir = await staleLock(t);
    for (let round = 0; round < 20; round++) {
      const both = [hold(t, dataDir), hold(t, dataDir)];
      const said = await Promise.all(both.map(each => each.said));
      assert.equal(said.filter(line => line === "held").length, 1, said.join(" | "));
      assert.equal(said.filter(line => line.includes("is in use by another portal")).length, 1);
      await Promise.all(both.map(({ child }) => (child.exitCode === null ? killed(child) : undefined)));
    }
  });

  test("exactly one of thirty simultaneous processes gets the folder", async t => {
    const dataDir = await staleLock(t);
    const results = await Promise.allSettled(Array.from({ length: 30 }, () => lockDataFolder(dataDir)));
    const taken = results.flatMap(result => (result.status === "fulfilled" ? [result.value] : []));
    assert.equal(taken.length, 1);
    for (const unlock of taken) unlock();
    assert.deepEqual(readdirSync(dataDir), []);
  });

  test("a data folder is free when a process died while taking it over", async t => {
    const dataDir = await staleLock(t);
    const text = readFileSync(lockOf(dataDir), "utf8");
    const name = createHash("sha256").update(text).digest("hex").slice(0, 16);
    writeFileSync(`${lockOf(dataDir)}.${name}-0`, text);
    (await lockDataFolder(dataDir))();
    assert.deepEqual(readdirSync(dataDir), []);
  });
});
