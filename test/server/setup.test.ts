import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { pathToFileURL } from "node:url";
import { packageRoot } from "../../src/base/paths.js";
import { tempFolder } from "../support/cleanup.js";

const { installLocked } = (await import(pathToFileURL(join(packageRoot, "scripts", "setup.mjs")).href)) as {
  installLocked(folder: string, more: string[]): void;
};
const quiet = { stdio: "ignore" as const };

/** A project with one package, an archive beside it, and a lock file with the archive's checksum. */
async function project(t: TestContext) {
  const folder = await tempFolder(t, "portal-setup");
  await mkdir(join(folder, "tiny"));
  await writeFile(join(folder, "tiny", "package.json"), '{"name":"tiny","version":"1.0.0"}');
  execFileSync("npm", ["pack", "./tiny"], { cwd: folder, ...quiet });
  const manifest = { name: "project", version: "1.0.0", dependencies: { tiny: "file:tiny-1.0.0.tgz" } };
  await writeFile(join(folder, "package.json"), JSON.stringify(manifest));
  execFileSync("npm", ["install", "--offline", "--no-audit"], { cwd: folder, ...quiet });
  await rm(join(folder, "node_modules"), { recursive: true });
  const lockFile = join(folder, "package-lock.json");
  const installed = () => existsSync(join(folder, "node_modules", "tiny", "package.json"));
  return { folder, manifest, lockFile, installed };
}

describe("The set-up installs packages", () => {
  test("the set-up installs what the lock file says", async t => {
    const { folder, lockFile, installed } = await project(t);
    const before = await readFile(lockFile, "utf8");
    installLocked(folder, ["--offline"]);
    assert.ok(installed());
    assert.equal(await readFile(lockFile, "utf8"), before);
  });

  test("the set-up installs nothing when a package does not match the lock file", async t => {
    const { folder, lockFile, installed } = await project(t);
    const lock = await readFile(lockFile, "utf8");
    await writeFile(lockFile, lock.replace(/sha512-[^"]+/, `sha512-${"A".repeat(86)}==`));
    assert.throws(() => installLocked(folder, ["--offline"]), /not what the lock file says/);
    assert.ok(!installed());
  });

  test("the set-up also installs packages that the lock file lacks, and leaves the lock file as it is", async t => {
    const { folder, lockFile, manifest, installed } = await project(t);
    const lock = JSON.stringify({ name: "project", version: "1.0.0", lockfileVersion: 3, packages: {} });
    await writeFile(lockFile, lock);
    await writeFile(join(folder, "package.json"), JSON.stringify(manifest));
    installLocked(folder, ["--offline"]);
    assert.ok(installed());
    assert.equal(await readFile(lockFile, "utf8"), lock);
  });
});
