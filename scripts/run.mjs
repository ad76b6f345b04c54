// npm run portal | mcp | acp | test | check | bench | build: sets up what is missing, then does it.
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { needBubblewrap } from "./bubblewrap.mjs";
import { chromium } from "./chromium.mjs";
import { root, run, SetupError, setup } from "./setup.mjs";
import { testAgents } from "./testAgents.mjs";

const [command, ...args] = process.argv.slice(2);
const node = process.execPath;

function filesEndingWith(folder, ending) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter(file => file.isFile() && file.name.endsWith(ending))
    .map(file => join(file.parentPath ?? file.path, file.name))
    .sort();
}

function check() {
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  run(node, [tsc, "-p", join(root, "assets")], "The type check of assets/");
  run(
    node,
    [join(root, "node_modules", "@biomejs", "biome", "bin", "biome"), "check", "--error-on-warnings", "."],
    "biome",
  );
}

/** They take longest; begun last, one of them would keep a single core busy at the end. */
const longest = ["jobSurvive", "sessionsSurvive", "pagesJobs", "jobDurable", "stop.", "start."];

function longestFirst(files) {
  const rank = file => {
    const place = longest.findIndex(name => basename(file).startsWith(name));
    return place < 0 ? longest.length : place;
  };
  return files.sort((a, b) => rank(a) - rank(b));
}

/** `npm test` runs everything; `npm test -- live` runs the test files whose path contains "live". */
function test() {
  const files = ["src", "test"]
    .flatMap(folder => filesEndingWith(join(root, "dist", folder), ".test.js"))
    .filter(file => args.length === 0 || args.some(part => file.slice(root.length).includes(part)));
  if (files.length === 0) throw new SetupError(`No test file matches ${args.join(" ")}`);
  const agents = files.some(file => /acp/i.test(file.slice(root.length))) && { TEST_AGENTS: testAgents() };
  if (files.some(file => /sandbox/i.test(file.slice(root.length)))) needBubblewrap();
  const env = { ...process.env, CHROMIUM: chromium(), ...agents };
  const runner = ["--enable-source-maps", join(root, "scripts", "runTests.mjs")];
  run(node, [...runner, ...longestFirst(files)], "The tests", { stdio: "inherit", env });
}

/** In this process, so that signals and streams are its own. */
function start(program) {
  process.argv.splice(2, 1);
  return import(`../dist/src/${program}`);
}

const commands = {
  portal: () => start("index.js"),
  mcp: () => {
    // npm moves into the package; the repository is where the user is.
    process.env.REPO_ROOT ||= process.env.INIT_CWD ?? process.cwd();
    return start("mcp.js");
  },
  acp: () => start("acp.js"),
  test: () => {
    if (args.length === 0) check();
    test();
  },
  check,
  bench: () => {
    const env = { ...process.env, CHROMIUM: chromium(), TEST_AGENTS: testAgents() };
    run(node, [join(root, "dist", "bench", "index.js"), ...args], "The bench", { stdio: "inherit", env });
  },
  build: () => undefined,
};

try {
  const perform = commands[command];
  if (!perform)
    throw new SetupError(`Unknown command ${command}; known: ${Object.keys(commands).join(", ")}`);
  setup();
  await perform();
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
