import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { parseDuration } from "../base/duration.js";
import { isLoopbackName, loopbackNames } from "../base/loopback.js";

export type PermissionMode = "read-only" | "declared" | "all";

export interface ProviderSettings {
  type: "openai" | "azure" | "anthropic";
  baseUrl: string;
  apiKey?: string;
}

export interface HttpConfig {
  host: string;
  port: number;
  path: string;
  allowedHosts: readonly string[];
  allowedOrigins: readonly string[];
  token: string | undefined;
}

export interface OrchestratorConfig {
  /** A real path. */
  repoRoot: string;
  logLevel: "debug" | "info" | "warn" | "error";
  agentTimeoutMs: number;
  transport: "stdio" | "http";
  cacheSize: number;
  /** 0 means forever. */
  cacheTtlMs: number;
  maxAgents: number;
  maxPromptChars: number;
  maxConcurrentAgents: number;
  defaultAgent: string | undefined;
  model: string | undefined;
  provider: ProviderSettings | undefined;
  strictPrompts: boolean;
  allowAgentMcpServers: boolean;
  permissions: PermissionMode;
  exposeJobs: boolean;
  http: HttpConfig;
}

/** All problems of the settings, one line each. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}

type Env = Readonly<Record<string, string | undefined>>;

const maxTimeoutMs = 24 * 3_600_000;
const minTokenChars = 16;

class Reader {
  readonly problems: string[] = [];
  readonly #env: Env;

  constructor(env: Env) {
    this.#env = env;
  }

  text(name: string): string | undefined {
    return this.#env[name] === "" ? undefined : this.#env[name];
  }

  /** The parsed value; undefined from `parse` is a problem. */
  read<T>(name: string, missing: T, expected: string, parse: (value: string) => T | undefined): T {
    const value = this.text(name);
    if (value === undefined) return missing;
    const parsed = parse(value);
    if (parsed !== undefined) return parsed;
    const shown = /TOKEN|KEY/.test(name) ? "" : `=${JSON.stringify(value)}`;
    this.problems.push(`${name}${shown}: expected ${expected}`);
    return missing;
  }

  oneOf<const T extends string>(name: string, missing: T, values: readonly T[]): T {
    return this.read(name, missing, values.join(", "), value =>
      values.find(known => known === value.toLowerCase()),
    );
  }

  integer(name: string, missing: number, min: number, max: number): number {
    const expected =
      max === Number.MAX_SAFE_INTEGER ? `an integer of ${min} or more` : `an integer from ${min} to ${max}`;
    return this.read(name, missing, expected, value => {
      const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
      return number >= min && number <= max ? number : undefined;
    });
  }

  duration(name: string, missing: number, expected: string, allowed: (ms: number) => boolean): number {
    return this.read(name, missing, `${expected}, for example 30s, 1m30s or 500ms`, value => {
      const ms = parseDuration(value);
      return ms !== undefined && allowed(ms) ? ms : undefined;
    });
  }

  flag(name: string): boolean {
    const values: Readonly<Record<string, boolean>> = { true: true, "1": true, false: false, "0": false };
    return this.read(name, false, "true, false, 1 or 0", value => values[value.toLowerCase()]);
  }

  names(name: string, missing: readonly string[]): readonly string[] {
    const split = (value: string) =>
      value
        .split(",")
        .map(item => item.trim().toLowerCase())
        .filter(Boolean);
    return this.read(name, missing, "names with commas between them", value =>
      split(value).length > 0 ? split(value) : undefined,
    );
  }
}

function readRepoRoot(reader: Reader, cwd: string): string {
  const given = reader.text("REPO_ROOT") ?? cwd;
  try {
    const real = realpathSync(given);
    accessSync(real, constants.R_OK);
    if (statSync(real).isDirectory()) return real;
  } catch {
    // Reported below.
  }
  reader.problems.push(`REPO_ROOT=${JSON.stringify(given)}: expected a folder that exists and can be read`);
  return given;
}

function readProvider(reader: Reader, model: string | undefined): ProviderSettings | undefined {
  const baseUrl = reader.read<string | undefined>(
    "COPILOT_PROVIDER_BASE_URL",
    undefined,
    "an http or https URL",
    value => (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol) ? value : undefined),
  );
  const type = reader.oneOf("COPILOT_PROVIDER_TYPE", "openai", ["openai", "azure", "anthropic"]);
  const apiKey = reader.text("COPILOT_PROVIDER_API_KEY");
  if (baseUrl === undefined) return undefined;
  if (model === undefined)
    reader.problems.push(
      "COPILOT_MODEL: expected the name of a model, because COPILOT_PROVIDER_BASE_URL is set",
    );
  return { type, baseUrl, ...(apiKey && { apiKey }) };
}

function readHttp(reader: Reader): HttpConfig {
  const host = reader.read("MCP_HTTP_HOST", "127.0.0.1", "a name or an address", value =>
    /^[\w.:[\]-]+$/.test(value) ? value : undefined,
  );
  const token = reader.read<string | undefined>(
    "MCP_HTTP_TOKEN",
    undefined,
    `at least ${minTokenChars} characters`,
    value => (value.length >= minTokenChars ? value : undefined),
  );
  if (!isLoopbackName(host) && token === undefined)
    reader.problems.push(
      `MCP_HTTP_TOKEN: expected at least ${minTokenChars} characters, because MCP_HTTP_HOST=${JSON.stringify(host)} is open to others`,
    );
  const ownNames = isLoopbackName(host) ? loopbackNames : [...loopbackNames, host.toLowerCase()];
  return {
    host,
    token,
    port: reader.integer("MCP_HTTP_PORT", 8080, 0, 65535),
    path: reader.read("MCP_HTTP_PATH", "/mcp", "a path that begins with /", value =>
      /^\/[\w./-]*$/.test(value) ? value : undefined,
    ),
    allowedHosts: reader.names("MCP_ALLOWED_HOSTS", ownNames),
    allowedOrigins: reader.names("MCP_ALLOWED_ORIGINS", ownNames),
  };
}

/** Reads all settings and reports all problems at once. An empty value counts as unset. */
export function readOrchestratorConfig(env: Env, cwd: string = process.cwd()): OrchestratorConfig {
  const reader = new Reader(env);
  const named = (name: string) =>
    reader.read<string | undefined>(
      name,
      undefined,
      "a name that is not blank",
      value => value.trim() || undefined,
    );
  const model = named("COPILOT_MODEL");
  const config: OrchestratorConfig = {
    repoRoot: readRepoRoot(reader, cwd),
    logLevel: reader.oneOf("LOG_LEVEL", "info", ["debug", "info", "warn", "error"]),
    agentTimeoutMs: reader.duration(
      "AGENT_TIMEOUT",
      30_000,
      "a duration above 0 and up to 24h",
      ms => ms > 0 && ms <= maxTimeoutMs,
    ),
    transport: reader.oneOf("MCP_TRANSPORT", "stdio", ["stdio", "http"]),
    cacheSize: reader.integer("CACHE_SIZE", 1000, 0, Number.MAX_SAFE_INTEGER),
    cacheTtlMs: reader.duration("CACHE_TTL", 3_600_000, "a duration (0 means no end)", () => true),
    maxAgents: reader.integer("MAX_AGENTS", 3, 1, 10),
    maxPromptChars: reader.integer("MAX_PROMPT_CHARS", 32_000, 1, 200_000),
    maxConcurrentAgents: reader.integer("MAX_CONCURRENT_AGENTS", 4, 1, 32),
    defaultAgent: named("DEFAULT_AGENT"),
    model,
    provider: readProvider(reader, model),
    strictPrompts: reader.flag("STRICT_PROMPTS"),
    allowAgentMcpServers: reader.flag("ALLOW_AGENT_MCP_SERVERS"),
    permissions: reader.oneOf("AGENT_PERMISSIONS", "read-only", ["read-only", "declared", "all"]),
    exposeJobs: reader.flag("MCP_EXPOSE_JOBS"),
    http: readHttp(reader),
  };
  if (reader.problems.length > 0) throw new ConfigError(reader.problems);
  return config;
}
