// The tests drive real ACP agents offline. They are installed once into a separate folder, because the portal does not need them.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root, runBeside, SetupError } from "./setup.mjs";

/** The package of this name is for people; the program itself is in one package per platform. */
function opencodePackage() {
  const system = process.platform === "win32" ? "windows" : process.platform;
  // "baseline" also runs on processors without AVX2.
  const variant = process.arch === "x64" ? "-baseline" : "";
  const isGlibc = process.report.getReport().header.glibcVersionRuntime !== undefined;
  const library = process.platform === "linux" && !isGlibc ? "-musl" : "";
  return `opencode-${system}-${process.arch}${variant}${library}`;
}

const wanted = JSON.stringify({
  private: true,
  dependencies: { "@github/copilot": "1.0.102", opencode: `npm:${opencodePackage()}@1.18.33` },
});

/** The folder of the agents, for the variable TEST_AGENTS that the tests read. */
export async function testAgents() {
  if (process.env.TEST_AGENTS) return process.env.TEST_AGENTS;
  const folder = join(root, "dist", "test-agents");
  const stamp = join(folder, ".installed");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return folder;
  process.stderr.write("Installing the ACP agents that the tests drive (about 600 MB, once) …\n");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), wanted);
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  try {
    await runBeside("npm", ["install", ...flags], "npm install", { cwd: folder });
    await unpackCopilot(folder);
  } catch (error) {
    throw new SetupError(
      `The tests need real ACP agents from the npm registry, and they could not be installed: ${error.message}`,
    );
  }
  writeFileSync(stamp, wanted);
  return folder;
}

/** Its first start unpacks it for seconds; tests must not wait for that, and the user's own cache stays untouched. */
function unpackCopilot(folder) {
  const env = {
    ...process.env,
    COPILOT_HOME: join(folder, "copilot-home"),
    COPILOT_CACHE_HOME: join(folder, "copilot-cache"),
  };
  const program = join(folder, "node_modules", ".bin", "copilot");
  return runBeside(program, ["--version"], "copilot --version", { env, stdio: ["ignore", "ignore", 2] });
}
