import { existsSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../../src/base/paths.js";

/** Where `npm test` has installed the real ACP agents. */
const folder = process.env.TEST_AGENTS ?? join(packageRoot, "dist", "test-agents");

export const copilotCommand = join(folder, "node_modules", ".bin", "copilot");
/** The CLI was unpacked here at its installation. */
export const copilotCache = join(folder, "copilot-cache");
export const opencodeCommand = join(folder, "node_modules", "opencode", "bin", "opencode");

for (const program of [copilotCommand, opencodeCommand])
  if (!existsSync(program)) throw new Error(`There is no ${program}; npm test installs it`);
