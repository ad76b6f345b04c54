// npm run portal | mcp | acp | test | test:fast | check | bench | build: sets up what is missing, then runs the command.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { needBubblewrap } from "./bubblewrap.mjs";
import { chromium } from "./chromium.mjs";
import { inMemory } from "./inMemory.mjs";
import { postgres } from "./postgres.mjs";
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

/**
 * What takes longest starts first, since it would run alone at the end: kills, and what waits for agents, browsers and
 * leases. Pure tests come last, because they use whatever processor time is left.
 */
const longest = [
  "test/store/killPoints",
  "test/nodes/killPoints",
  "test/pages/",
  "test/sessions/",
  "test/permissions/",
  "test/jobs/survive",
  "test/store/exportImport",
  "test/nodes/",
  "test/orchestrator/",
  "test/editors/",
  "test/live/",
  "test/guard/",
  "test/",
];

function longestFirst(files) {
  const rank = file => {
    const place = longest.findIndex(name => file.includes(name));
    return place < 0 ? longest.length : place;
  };
  return files.sort((a, b) => rank(a) - rank(b));
}

/** The test files below these folders of dist/ whose path contains one of `parts`; without parts, all of them. */
function testFiles(folders, parts) {
  const files = folders
    .flatMap(folder => filesEndingWith(join(root, "dist", folder), ".test.js"))
    .filter(file => parts.length === 0 || parts.some(part => file.slice(root.length).includes(part)));
  if (files.length === 0) throw new SetupError(`No test file matches ${parts.join(" ")}`);
  return files;
}

function runTests(files, env) {
  const runner = [
    node,
    "--enable-source-maps",
    join(root, "scripts", "runTests.mjs"),
    ...longestFirst(files),
  ];
  inMemory(runner, ([program, ...args], folder) =>
    run(program, args, "The tests", {
      stdio: "inherit",
      // Every Node process would read these certificates when it starts, and no test talks to another machine.
      env: { ...process.env, ...env, ...folder, NODE_EXTRA_CA_CERTS: undefined },
    }),
  );
}

/**
 * `npm test` runs everything; `npm test -- live` runs the test files whose path contains "live". The agents are
 * downloaded while the code is checked.
 */
async function test() {
  const files = testFiles(["src", "test"], args);
  const matches = expression => files.some(file => expression.test(file.slice(root.length)));
  const agents = matches(/dist\/test\/.*(acp|editors|api|backends|permissions)/i) ? testAgents() : undefined;
  // Its failure is reported where it is awaited.
  agents?.catch(() => {});
  if (args.length === 0) check();
  if (matches(/sandbox/i)) needBubblewrap();
  const server = matches(/dist\/test\//) && postgres();
  runTests(files, { ...chromium(), ...server, ...(agents && { TEST_AGENTS: await agents }) });
}

/** Runs in this process, so that the program owns its signals and streams. */
function start(program) {
  const file = join(root, "dist", "src", program);
  process.argv.splice(1, 2, file);
  return import(pathToFileURL(file));
}

const commands = {
  portal: () => start("portal.js"),
  mcp: () => {
    // npm changes into the package folder; the repository is the user's folder.
    process.env.REPO_ROOT ||= process.env.INIT_CWD ?? process.cwd();
    return start("mcp.js");
  },
  acp: () => start("acp.js"),
  test,
  // A test beside its source needs no portal, no browser and no agent.
  "test:fast": () => runTests(testFiles(["src"], args)),
  check,
  bench: async () => {
    const env = { ...process.env, ...chromium(), ...postgres(), TEST_AGENTS: await testAgents() };
    run(node, [join(root, "dist", "bench", "index.js"), ...args], "The bench", { stdio: "inherit", env });
  },
  build: () => undefined,
};

try {
  const perform = commands[command];
  if (!perform)
    throw new SetupError(`Unknown command ${command}; known: ${Object.keys(commands).join(", ")}`);
  await setup();
  await perform();
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
