import yargs from "yargs";
import { packageVersion } from "../base/paths.js";
import { StartError } from "../base/startError.js";
import { permissionPolicies } from "../permissions/approvals.js";

export interface AgentOptions {
  server: string;
  model: string | undefined;
  token: string | undefined;
  permissions: string | undefined;
  logLevel: string;
  login: boolean;
}

const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

function checkServer(server: string): string {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "") return url.origin;
  throw new StartError(`--server ${server}: must be the http or https address of a portal`);
}

/** Reads and checks the command line; throws a StartError that names the wrong value. */
export function parseAgentOptions(args: readonly string[], env: NodeJS.ProcessEnv): AgentOptions {
  const parsed = yargs([...args])
    .scriptName("copilot-portal-acp")
    .usage("$0 [options]\n\nSpeaks the Agent Client Protocol on stdin and stdout, for editors.")
    .parserConfiguration({ "duplicate-arguments-array": false, "dot-notation": false })
    .locale("en")
    .version(packageVersion)
    .strict()
    .option("server", {
      type: "string",
      requiresArg: true,
      default: "http://localhost:8888",
      describe: "The portal to use; one is started if none answers on this machine",
    })
    .option("model", { type: "string", requiresArg: true, describe: "The model of new sessions" })
    .option("token", {
      type: "string",
      requiresArg: true,
      describe: "The token of a portal with --auth [default: PORTAL_TOKEN]",
    })
    .option("permissions", {
      choices: permissionPolicies,
      describe: "What agents may do without asking [default: the portal's setting]",
    })
    .option("log-level", { choices: logLevels, default: "warn", describe: "The level of the log on stderr" })
    .option("login", {
      type: "boolean",
      default: false,
      describe: "Sign in to GitHub Copilot, in a terminal",
    })
    .fail((message, error) => {
      throw new StartError(`${(message ?? error.message).replaceAll(/\s+/g, " ")}; --help lists the options`);
    })
    .parseSync();
  return {
    server: checkServer(parsed.server),
    model: parsed.model,
    token: parsed.token ?? (env.PORTAL_TOKEN || undefined),
    permissions: parsed.permissions,
    logLevel: parsed.logLevel,
    login: parsed.login,
  };
}
