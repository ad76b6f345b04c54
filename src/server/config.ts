import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { ErrorObject } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { StartError } from "../base/startError.js";
import type { Retention } from "../store/keep/retention.js";

/** A model of a provider whose name, wire name or limits differ from what the runtime would guess. */
export interface ProviderModel {
  id: string;
  name?: string;
  /** A well-known model of the same behaviour, from which the runtime takes its settings. */
  modelId?: string;
  /** What the provider calls it: an Azure deployment, for example. */
  wireModel?: string;
  maxPromptTokens?: number;
  maxOutputTokens?: number;
}

/** One of the user's own providers, as portal.config.json has it. */
export interface ProviderSettings {
  name: string;
  type?: "openai" | "azure" | "anthropic";
  baseUrl: string;
  apiKey?: string;
  apiKeyEnv?: string;
  bearerToken?: string;
  bearerTokenEnv?: string;
  wireApi?: "completions" | "responses";
  transport?: "http" | "websockets";
  azureApiVersion?: string;
  headers?: Record<string, string>;
  models?: (string | ProviderModel)[];
}

export interface Config {
  providers: ProviderSettings[];
  /** How many tasks of jobs may have a session at once. */
  maxTasks?: number;
  permissions?: PermissionSettings;
  /** For how many days ended things are kept. */
  retention?: Partial<Retention>;
  /** Secret variables of the portal that commands of agents may see all the same: `GH_TOKEN`, for `gh`. */
  toolEnv?: string[];
  sandbox?: SandboxSettings;
}

/** Folders that agents in a sandbox see besides their own; `~` is the user's home. */
export interface SandboxSettings {
  read?: string[];
  write?: string[];
}

export interface PermissionSettings {
  /** After this time a request that nobody answered counts as rejected. */
  timeoutSeconds?: number;
  /** A file of rules; in the config its path may be relative to that of the config. */
  policy?: string;
}

const text = { type: "string", minLength: 1 };
const tokens = { type: "integer", minimum: 1 };
/** 0 is for ever. */
const days = { type: "integer", minimum: 0, maximum: 36_500 };

const modelSchema = {
  type: "object",
  properties: {
    id: text,
    name: text,
    modelId: text,
    wireModel: text,
    maxPromptTokens: tokens,
    maxOutputTokens: tokens,
  },
  required: ["id"],
  additionalProperties: false,
};

export const providerSchema = {
  type: "object",
  properties: {
    // It stands before an id that another backend has too, with a slash between them.
    name: { type: "string", pattern: "^[A-Za-z0-9][A-Za-z0-9._-]*$" },
    type: { enum: ["openai", "azure", "anthropic"] },
    baseUrl: { type: "string", format: "http-url" },
    apiKey: text,
    apiKeyEnv: text,
    bearerToken: text,
    bearerTokenEnv: text,
    wireApi: { enum: ["completions", "responses"] },
    transport: { enum: ["http", "websockets"] },
    azureApiVersion: text,
    headers: { type: "object", additionalProperties: { type: "string" } },
    models: {
      type: "array",
      minItems: 1,
      // An id alone, or an object: the keywords of each apply to that one only.
      items: { ...modelSchema, type: ["string", "object"], minLength: 1 },
    },
  },
  required: ["name", "baseUrl"],
  additionalProperties: false,
};

const folders = { type: "array", items: { type: "string", pattern: "^(~|~?/.*)$" } };

const configSchema = {
  type: "object",
  properties: {
    $schema: { type: "string" },
    providers: { type: "array", items: providerSchema },
    maxTasks: { type: "integer", minimum: 1, maximum: 1000 },
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
    // Checked agent by agent, because one that is wrong must not keep the portal from starting.
    acpAgents: {},
  },
  additionalProperties: false,
};

/** A user name or password in the address would show up wherever the address does. */
function isHttpUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password } = new URL(value);
  return (protocol === "http:" || protocol === "https:") && username === "" && password === "";
}

function jsonPath(pointer: string, property?: unknown): string {
  const steps = pointer.split("/").slice(1);
  if (typeof property === "string") steps.push(property);
  return `$${steps.map(step => (/^\d+$/.test(step) ? `[${step}]` : `.${step}`)).join("")}`;
}

/** No value is ever shown, because any of them may be a key that was put in the wrong place. */
function explain({ keyword, instancePath, params, message }: ErrorObject): string {
  switch (keyword) {
    case "required":
      return `${jsonPath(instancePath, params.missingProperty)}: is missing`;
    case "additionalProperties":
      return `${jsonPath(instancePath, params.additionalProperty)}: is not known here`;
    case "enum":
      return `${jsonPath(instancePath)}: must be one of ${(params.allowedValues as string[]).join(", ")}`;
    case "format":
      return `${jsonPath(instancePath)}: must be an http or https address without user name and password`;
    default:
      return `${jsonPath(instancePath)}: ${message}`;
  }
}

const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true });
ajv.addFormat("http-url", isHttpUrl);

/** Every way in which a value does not fit a schema, each with its JSON path and without the value. */
export function problemsBySchema(schema: object, value: unknown): string[] {
  const validate = ajv.compile(schema);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(explain);
}

function repeatedNames({ providers }: Config): string[] {
  return providers.flatMap(({ name }, index) =>
    providers.findIndex(other => other.name === name) < index
      ? [`$.providers[${index}].name: another provider has this name`]
      : [],
  );
}

/** Every problem of a config, each with its JSON path. */
export function configProblems(value: unknown): string[] {
  const problems = problemsBySchema(configSchema, value);
  return problems.length > 0 ? problems : repeatedNames({ providers: [], ...(value as Partial<Config>) });
}

/** Every problem of one provider, for those that do not come from a file. */
export function providerProblems(value: unknown): string[] {
  return problemsBySchema(providerSchema, value);
}

/** Throws a StartError that quotes nothing of the file. */
export function parseJson(file: string): unknown {
  let content: string;
  try {
    content = readFileSync(file, "utf8");
  } catch (error) {
    throw new StartError(`${file}: cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  try {
    return JSON.parse(content);
  } catch (error) {
    // The message may quote the file, and with it a key: only the place is safe to show.
    const place = /at position \d+( \(line \d+ column \d+\))?/.exec(String(error))?.[0];
    throw new StartError(`${file}: is not valid JSON${place ? ` ${place}` : ""}`);
  }
}

/** Reads portal.config.json; throws a StartError with one line for each problem. */
export function readConfig(file: string | undefined): Config {
  if (file === undefined) return { providers: [] };
  const value = parseJson(file);
  const problems = configProblems(value);
  if (problems.length > 0) throw new StartError(problems.map(problem => `${file}: ${problem}`).join("\n"));
  const config = { providers: [], ...(value as Partial<Config>) };
  const { policy } = config.permissions ?? {};
  if (policy === undefined) return config;
  return { ...config, permissions: { ...config.permissions, policy: resolve(dirname(file), policy) } };
}
