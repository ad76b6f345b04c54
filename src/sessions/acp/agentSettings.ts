import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { isRecord } from "../../base/json.js";
import { isLoopbackName } from "../../base/loopback.js";
import { repoRoot } from "../../base/paths.js";
import { problemsBySchema, readSettingsFile } from "../../base/settingsFile.js";
import type { PermissionPolicy } from "../../permissions/approvals.js";
import { duplicateAgents } from "./duplicateAgents.js";
import { type Fields, fieldsOf, listOf, textOf } from "./fields.js";

/** One agent as the portal uses it: every field checked, every default filled in. */
export interface AgentSettings {
  id: string;
  title: string;
  enabled: boolean;
  transport: "stdio" | "tcp";
  command: string | undefined;
  args: string[];
  /** Secret values: never shown, never logged. */
  env: Record<string, string>;
  inheritEnv: boolean;
  cwd: string;
  host: string;
  /** 0 means a free port, for an agent that the portal starts. */
  port: number;
  models: string[];
  modelArgs: string[];
  /** Absent means the portal's default. */
  policy: PermissionPolicy | undefined;
  taskPolicy: PermissionPolicy | undefined;
  initPrompt: string | undefined;
  defaults: { mode?: string; options?: Record<string, string | boolean> };
  mcpServers: object[];
  clientFs: boolean;
  clientTerminal: boolean;
  startupTimeoutMs: number;
  requestTimeoutMs: number;
  promptTimeoutMs: number;
  permissionTimeoutMs: number;
  idleShutdownMs: number;
  errorTextIsFailure: boolean | "auto";
  loginHint: string | undefined;
  installHint: string | undefined;
}

export interface AgentsRead {
  agents: AgentSettings[];
  /** Agents whose settings are unusable. */
  broken: { id: string; message: string }[];
  /** Every error and unknown setting, one line each. */
  problems: string[];
}

const text = { type: "string", minLength: 1 };
const texts = { type: "array", items: { type: "string" } };
const flag = { type: "boolean" };
const policy = { enum: ["approve-all", "allow-all", "ask", "deny"] };
/** A timer of more than 24 days would fire at once. */
const seconds = { type: "number", minimum: 0, maximum: 2_000_000 };

const agentSchema = {
  type: "object",
  properties: {
    title: text,
    enabled: flag,
    transport: { enum: ["stdio", "tcp"] },
    command: text,
    args: texts,
    env: { type: "object", additionalProperties: { type: "string" } },
    inheritEnv: flag,
    cwd: text,
    host: text,
    port: { type: "integer", minimum: 0, maximum: 65535 },
    allowRemote: flag,
    models: texts,
    modelArgs: texts,
    policy,
    taskPolicy: policy,
    initPrompt: text,
    defaults: {
      type: "object",
      properties: {
        mode: text,
        options: { type: "object", additionalProperties: { type: ["string", "boolean"] } },
      },
    },
    mcpServers: { type: "array", items: { type: "object" } },
    clientFs: flag,
    clientTerminal: flag,
    startupTimeoutSec: { ...seconds, exclusiveMinimum: 0 },
    requestTimeoutSec: { ...seconds, exclusiveMinimum: 0 },
    promptTimeoutSec: seconds,
    permissionTimeoutSec: seconds,
    idleShutdownSec: seconds,
    errorTextIsFailure: { enum: [true, false, "auto"] },
    loginHint: text,
    installHint: text,
  },
};

const idPattern = /^[a-z0-9][a-z0-9-]{0,39}$/;

/** An agent's problems beyond the types of its fields. */
function ruleProblems(id: string, agent: Fields, env: NodeJS.ProcessEnv): string[] {
  const problems: string[] = [];
  if (!idPattern.test(id))
    problems.push("its id must be of small letters, digits and hyphens, at most 40, and not begin with one");
  if (agent.transport === "tcp") {
    if (agent.port === undefined && agent.command === undefined) problems.push("port: is missing");
    if (agent.port === 0 && agent.command === undefined)
      problems.push("port: 0 is for an agent that the portal starts, and there is no command");
    if (!isLoopbackName(textOf(agent.host) ?? "127.0.0.1") && agent.allowRemote !== true)
      problems.push(
        'host: is not on this machine, and ACP over TCP has no authentication; "allowRemote": true takes the risk',
      );
  } else if (agent.command === undefined) problems.push("command: is missing");
  if (listOf(agent.models).length > 0 && agent.modelArgs === undefined)
    problems.push('modelArgs: is missing, for example ["--model", "{model}"]');
  for (const [name, value] of Object.entries(fieldsOf(agent.env)))
    for (const [, variable = ""] of String(value).matchAll(variablePattern))
      if (env[variable] === undefined)
        problems.push(`env.${name}: the environment variable ${variable} is not set`);
  return problems;
}

const variablePattern = /\$\{env:([^}]*)\}/g;

function settingsOf(id: string, agent: Fields, folder: string, env: NodeJS.ProcessEnv): AgentSettings {
  const ms = (name: string, defaultSec: number) => Number(agent[name] ?? defaultSec) * 1000;
  const variables = Object.entries(fieldsOf(agent.env)).map(([name, value]) => [
    name,
    String(value).replaceAll(variablePattern, (_, variable: string) => env[variable] ?? ""),
  ]);
  return {
    id,
    title: textOf(agent.title) ?? id,
    enabled: agent.enabled !== false,
    transport: agent.transport === "tcp" ? "tcp" : "stdio",
    command: textOf(agent.command),
    args: listOf(agent.args).map(String),
    env: Object.fromEntries(variables),
    inheritEnv: agent.inheritEnv !== false,
    cwd: resolve(folder, textOf(agent.cwd) ?? repoRoot),
    host: textOf(agent.host) ?? "127.0.0.1",
    port: Number(agent.port ?? 0),
    models: [...new Set(listOf(agent.models).map(String))],
    modelArgs: listOf(agent.modelArgs).map(String),
    policy: policyOf(agent.policy),
    taskPolicy: policyOf(agent.taskPolicy),
    initPrompt: textOf(agent.initPrompt),
    defaults: fieldsOf(agent.defaults) as AgentSettings["defaults"],
    mcpServers: listOf(agent.mcpServers) as object[],
    clientFs: agent.clientFs === true,
    clientTerminal: agent.clientTerminal === true,
    startupTimeoutMs: ms("startupTimeoutSec", 30),
    requestTimeoutMs: ms("requestTimeoutSec", 60),
    promptTimeoutMs: ms("promptTimeoutSec", 0),
    permissionTimeoutMs: ms("permissionTimeoutSec", 600),
    idleShutdownMs: ms("idleShutdownSec", 300),
    errorTextIsFailure: (agent.errorTextIsFailure as boolean | "auto" | undefined) ?? "auto",
    loginHint: textOf(agent.loginHint),
    installHint: textOf(agent.installHint),
  };
}

/** ACP clients say approve-all where the portal says allow-all. */
function policyOf(value: unknown): PermissionPolicy | undefined {
  return value === "approve-all" ? "allow-all" : (value as PermissionPolicy | undefined);
}

/** Reads the agents of a config file; throws a StartError when the file is unreadable. */
export function readAgentsFile(file: string | undefined, env: NodeJS.ProcessEnv): AgentsRead {
  if (file === undefined) return readAgents(undefined, "", env);
  const read = readAgents(fieldsOf(readSettingsFile(file)).acpAgents, file, env);
  const twice = duplicateAgents(readFileSync(file, "utf8"));
  return {
    ...read,
    problems: [...twice.map(id => `acpAgents.${id}: is there twice; the last one counts`), ...read.problems],
  };
}

/** The values of all environments, which must not be shown or logged. */
export function agentSecrets({ agents }: AgentsRead): string[] {
  return agents.flatMap(({ env }) => Object.values(env));
}

/** Reads the `acpAgents` of a config; one agent's problems do not affect the others. */
export function readAgents(section: unknown, configFile: string, env: NodeJS.ProcessEnv): AgentsRead {
  const read: AgentsRead = { agents: [], broken: [], problems: [] };
  if (section === undefined) return read;
  if (!isRecord(section)) {
    read.problems.push("acpAgents: must be an object, with an agent under each id");
    return read;
  }
  for (const [id, value] of Object.entries(section)) {
    const agent = fieldsOf(value);
    const types = problemsBySchema(agentSchema, value).map(problem => problem.replace(/^\$\.?/, ""));
    const wrong = types.length > 0 ? types : ruleProblems(id, agent, env);
    read.problems.push(
      ...Object.keys(agent)
        .filter(name => !Object.hasOwn(agentSchema.properties, name))
        .map(name => `acpAgents.${id}.${name}: is not known here and is ignored`),
      ...wrong.map(problem => `acpAgents.${id}: ${problem}`),
    );
    if (wrong.length === 0) read.agents.push(settingsOf(id, agent, dirname(configFile), env));
    else read.broken.push({ id, message: `Its settings are wrong: ${wrong.join("; ")}.` });
  }
  return read;
}
