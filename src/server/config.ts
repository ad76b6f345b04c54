import { dirname, resolve } from "node:path";
import { type ProviderSettings, providerSchema } from "../backends/providerSettings.js";
import { problemsBySchema, readSettingsFile } from "../base/settingsFile.js";
import { StartError } from "../base/startError.js";
import type { SandboxSettings } from "../sandbox/sandboxes.js";
import type { Retention } from "../store/keep/retention.js";

export interface Config {
  providers: ProviderSettings[];
  /** How many job tasks may have a session at once. */
  maxTasks?: number;
  /** How many jobs may run at once. Without it: 8 on a database server, as many as are started on an embedded store. */
  maxJobs?: number;
  permissions?: PermissionSettings;
  /** How many days things are kept after their end. */
  retention?: Partial<Retention>;
  /** Secret variables of the portal that agents' commands may see anyway: `GH_TOKEN`, for `gh`. */
  toolEnv?: string[];
  sandbox?: SandboxSettings;
}

export interface PermissionSettings {
  /** After this time, an unanswered request is rejected. */
  timeoutSeconds?: number;
  /** A file of rules; in the config, its path may be relative to the config file. */
  policy?: string;
}

const text = { type: "string", minLength: 1 };
/** 0 means forever. */
const days = { type: "integer", minimum: 0, maximum: 36_500 };

const folders = { type: "array", items: { type: "string", pattern: "^(~|~?/.*)$" } };

const configSchema = {
  type: "object",
  properties: {
    $schema: { type: "string" },
    providers: { type: "array", items: providerSchema },
    maxTasks: { type: "integer", minimum: 1, maximum: 1000 },
    maxJobs: { type: "integer", minimum: 1, maximum: 1000 },
    permissions: {
      type: "object",
      properties: {
        timeoutSeconds: { type: "integer", minimum: 1, maximum: 7 * 24 * 3600 },
        policy: text,
      },
      additionalProperties: false,
    },
    toolEnv: { type: "array", items: { type: "string", pattern: "^[A-Za-z_][A-Za-z0-9_]*$" } },
    sandbox: {
      type: "object",
      properties: { read: folders, write: folders },
      additionalProperties: false,
    },
    retention: {
      type: "object",
      properties: { jobs: days, sessions: days, runs: days },
      additionalProperties: false,
    },
    // Checked agent by agent, because one wrong agent must not keep the portal from starting.
    acpAgents: {},
  },
  additionalProperties: false,
};

function repeatedNames({ providers }: Config): string[] {
  return providers.flatMap(({ name }, index) =>
    providers.findIndex(other => other.name === name) < index
      ? [`$.providers[${index}].name: another provider has this name`]
      : [],
  );
}

/** Every problem in a config, each with its JSON path. */
export function configProblems(value: unknown): string[] {
  const problems = problemsBySchema(configSchema, value);
  return problems.length > 0 ? problems : repeatedNames({ providers: [], ...(value as Partial<Config>) });
}

/** Reads portal.config.json; throws a StartError with one line for each problem. */
export function readConfig(file: string | undefined): Config {
  if (file === undefined) return { providers: [] };
  const value = readSettingsFile(file);
  const problems = configProblems(value);
  if (problems.length > 0) throw new StartError(problems.map(problem => `${file}: ${problem}`).join("\n"));
  const config = { providers: [], ...(value as Partial<Config>) };
  const { policy } = config.permissions ?? {};
  if (policy === undefined) return config;
  return { ...config, permissions: { ...config.permissions, policy: resolve(dirname(file), policy) } };
}
