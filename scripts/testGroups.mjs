// Bundles the test files of a folder into one, so that they load their modules once and share portals and browsers
// (test/support/sharing.ts). Each file stays a suite of its own, named after it, and one runs after the other.
import { readFileSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { root } from "./setup.mjs";

const dist = join(root, "dist");
const folder = join(dist, "test-groups");
/** More files would run for too long beside two cores that the other groups have left. */
const mostFiles = 14;
const mostPureFiles = 40;
/** A file that takes longer hangs, and so does each test of it: it fails by its name, and the next ones run. */
const timeoutMs = 15 * 60_000;

/** These run parts of the portal in their own process, where some things exist only once, or take minutes. */
const ownProcess = [
  "test/house",
  "test/jobs",
  "test/nodes",
  "test/sandbox",
  "test/server",
  "test/store",
  "test/tasks",
];
/** This one measures the processor time of its process. */
const measuring = ["src/orchestrator/prompt/worstInput"];
const alone = [...ownProcess.map(folder => `${folder}/`), ...measuring];

/** A file that waits while it loads cannot be a suite of a bundle. */
const waits = /^(?!\s|\/\/|\*)(?:(?!\basync\b).)*\bawait\b/m;

export const nameOf = file =>
  relative(dist, file)
    .split(sep)
    .join("/")
    .replace(/\.test\.js$/, "");
const runsAlone = file =>
  alone.some(part => nameOf(file).startsWith(part)) || waits.test(readFileSync(file, "utf8"));

function groupOf(file) {
  return nameOf(file).startsWith("src/") ? "src" : dirname(nameOf(file));
}

function parts(files, most) {
  const count = Math.ceil(files.length / most);
  // Dealt out like cards, so that neighbours in the order of length do not meet in one part.
  return Array.from({ length: count }, (_, part) => files.filter((_, i) => i % count === part));
}

/** A module must still find the files beside it. */
const ownPlace = {
  name: "own place",
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]dist[\\/](src|test)[\\/].*\.js$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      return { contents: text.replaceAll("import.meta.url", JSON.stringify(pathToFileURL(path).href)) };
    });
  },
};

async function bundle(name, files) {
  const suites = files.map(
    file =>
      `describe(${JSON.stringify(nameOf(file))}, { timeout: ${timeoutMs} }, () => void require(${JSON.stringify(file)}));`,
  );
  const outfile = join(folder, `${name}.test.js`);
  await build({
    stdin: { contents: `import { describe } from "node:test";\n${suites.join("\n")}\n`, resolveDir: root },
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    packages: "external",
    // Some tests look at the names of functions, which a bundle would change.
    keepNames: true,
    sourcemap: true,
    sourcesContent: false,
    logLevel: "warning",
    plugins: [ownPlace],
  });
  return outfile;
}

/** The files to run, in the order of `files`: a group stands where its first file stood. */
export async function inGroups(files) {
  rmSync(folder, { recursive: true, force: true });
  const groups = new Map();
  for (const file of files) {
    const key = runsAlone(file) ? file : groupOf(file);
    groups.set(key, [...(groups.get(key) ?? []), file]);
  }
  const runs = [];
  for (const [key, members] of groups) {
    if (members.length === 1) {
      runs.push(members[0]);
      continue;
    }
    const name = key.replaceAll("/", "-");
    for (const [i, part] of parts(members, key === "src" ? mostPureFiles : mostFiles).entries())
      runs.push(await bundle(`${name}-${i + 1}`, part));
  }
  return runs;
}
