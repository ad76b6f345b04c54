import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The program that the SDK would start by itself, for when another command has to wrap it. Linux only. */
export function runtimeProgram(env: NodeJS.ProcessEnv): { command: string; args: string[] } {
  const own = env.COPILOT_CLI_PATH;
  if (own)
    return own.endsWith(".js") ? { command: process.execPath, args: [own] } : { command: own, args: [] };
  const platform = `${isMusl() ? "linuxmusl" : "linux"}-${process.arch}`;
  const fromSdk = createRequire(fileURLToPath(import.meta.resolve("@github/copilot-sdk")));
  const root = dirname(fromSdk.resolve(`@github/copilot-sdk-${platform}/package.json`));
  return { command: join(root, "prebuilds", platform, "copilot-runtime"), args: [] };
}

function isMusl(): boolean {
  const { header } = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  return header?.glibcVersionRuntime === undefined;
}
