// node scripts/compile.mjs PROGRAM.cjs: starts the portal once in a folder of its own, and keeps what V8 compiled of it.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import v8 from "node:v8";
import { Script } from "node:vm";

const [, , program] = process.argv;
const launcher = program.replace(/\.cjs$/, ".js");
const dataDir = mkdtempSync(join(tmpdir(), "portal-compile-"));
process.on("exit", () => rmSync(dataDir, { recursive: true, force: true }));
// V8 refuses compiled code of a process with other flags than those at the portal's start.
v8.setFlagsFromString = () => {};

const script = new Script(readFileSync(program, "latin1"), {
  filename: program,
});
process.argv.splice(1, Infinity, launcher, "--port", "0", "--data-dir", dataDir, "--log-level", "error");
const printed = new Promise(resolve => {
  process.stdout.write = resolve;
});
const importPackage = name => import(name);
const here = pathToFileURL(launcher).href;
script.runInThisContext()(createRequire(launcher), importPackage, here, import.meta.resolve);
const [url] = (await printed).split("\n");
await fetch(url);
while ((await (await fetch(`${url}/api/health`)).json()).status !== "ok");
writeFileSync(`${program}.compiled`, script.createCachedData());
process.exit();
