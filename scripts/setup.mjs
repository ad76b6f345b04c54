// Makes a fresh clone runnable: installs and builds when needed, and is silent when there is nothing to do.
// Uses only Node, because it runs before anything is installed.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(root, "node_modules");
const dist = join(root, "dist");
const bundler = join("scripts", "bundle.mjs");
const compiler = join("scripts", "compile.mjs");
const sources = ["src", "test", "bench", "tsconfig.json", "package-lock.json", bundler, compiler];

/** Progress goes to stderr: stdout belongs to the command that follows. */
const say = text => process.stderr.write(`${text}\n`);

export class SetupError extends Error {}

const common = { cwd: root, stdio: ["ignore", 2, 2], shell: process.platform === "win32" };

function checkEnd(what, { error, status }) {
  if (status !== 0) throw new SetupError(`${what} failed (${error?.message ?? `exit code ${status}`})`);
}

export function run(command, args, what, options = {}) {
  checkEnd(what, spawnSync(command, args, { ...common, ...options }));
}

/** The same, while this process goes on. */
export async function runBeside(command, args, what, options = {}) {
  const child = spawn(command, args, { ...common, ...options });
  const end = await new Promise(resolve => {
    child.once("error", error => resolve({ error }));
    child.once("exit", status => resolve({ status }));
  });
  checkEnd(what, end);
}

const modifiedMs = path => (existsSync(path) ? statSync(path).mtimeMs : 0);

function newestMs(path) {
  if (!existsSync(path)) return 0;
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(stat.mtimeMs, ...readdirSync(path).map(name => newestMs(join(path, name))));
}

/**
 * Installs exactly what the lock file says, and compares each package with its checksum. `npm ci` refuses a lock file
 * that lacks the packages of other platforms, which not every registry has: then `npm install` does the same checks.
 */
export function installLocked(folder, more = []) {
  const flags = ["--no-audit", "--no-fund", "--loglevel=error", ...more];
  const options = { cwd: folder, stdio: ["ignore", 2, "pipe"], encoding: "utf8" };
  const shell = process.platform === "win32";
  const { status, stderr } = spawnSync("npm", ["ci", ...flags], { ...options, shell });
  if (status === 0) return;
  // A package with a wrong checksum must not be retried in a laxer way.
  if (/EINTEGRITY/.test(stderr)) throw new SetupError(`A package is not what the lock file says\n${stderr}`);
  run("npm", ["install", "--no-save", ...flags], "npm install", { cwd: folder });
}

function install() {
  const lock = join(root, "package-lock.json");
  const stamp = join(modules, ".portal-lock");
  const wanted = createHash("sha256").update(readFileSync(lock)).digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  const installedMs = modifiedMs(join(modules, ".package-lock.json"));
  if (existsSync(stamp) || installedMs < modifiedMs(lock)) {
    say("Installing packages (about 500 MB, once) …");
    installLocked(root);
  }
  writeFileSync(stamp, wanted);
}

function build() {
  const stamp = join(dist, ".built");
  const newest = Math.max(...sources.map(name => newestMs(join(root, name))));
  if (modifiedMs(stamp) > newest) return;
  say("Building …");
  const startedAt = new Date();
  for (const name of ["src", "test", "bench"]) rmSync(join(dist, name), { recursive: true, force: true });
  mkdirSync(dist, { recursive: true });
  run(process.execPath, [join(modules, "typescript", "bin", "tsc"), "-p", root], "The build");
  run(process.execPath, [join(root, bundler)], "The build");
  writeFileSync(stamp, startedAt.toISOString());
}

/** The pages as single files, which an export fills with what happened. */
function exportPages() {
  const stamp = join(dist, "export", ".built");
  const script = join("scripts", "exportPages.mjs");
  const wholePage = join("src", "server", "wholePage.ts");
  const parts = ["assets", "package-lock.json", script, join("scripts", "exportedFile"), wholePage];
  const newest = Math.max(...parts.map(name => newestMs(join(root, name))));
  if (modifiedMs(stamp) > newest) return;
  const startedAt = new Date();
  run(process.execPath, [join(root, script)], "Preparing the exported pages");
  writeFileSync(stamp, startedAt.toISOString());
}

/** A ready-made empty store makes the first start take one second instead of five. */
async function storeTemplate() {
  const store = join(dist, "src", "store");
  const { templatePath } = await import(pathToFileURL(join(store, "template.js")));
  const template = templatePath();
  if (existsSync(template)) return;
  say("Preparing the embedded store …");
  for (const name of readdirSync(dist)) if (name.startsWith("store-template-")) rmSync(join(dist, name));
  run(process.execPath, [join(store, "makeTemplate.js"), template], "Preparing the embedded store");
}

/** The portal starts without it, but takes a tenth of a second longer. */
function compiledCode() {
  const program = join(dist, "src", "portal.cjs");
  if (existsSync(`${program}.compiled`)) return;
  try {
    run(process.execPath, [join(root, compiler), program], "Compiling the portal ahead", { timeout: 60_000 });
  } catch (error) {
    say(error.message);
  }
}

export async function setup() {
  install();
  build();
  exportPages();
  await storeTemplate();
  compiledCode();
}
