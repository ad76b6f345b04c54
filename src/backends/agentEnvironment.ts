import type { ProviderSettings } from "./providerSettings.js";

/** Where the Copilot CLI looks for a token, in its order. */
const gitHubVariables = ["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"];
/** The CLI ignores tokens of other kinds: a classic token may serve another purpose. */
const copilotToken = /^(?:gho_|ghu_|ghs_|github_pat_)/;

/** Only the portal itself may see these: each of them gives full control of the portal. */
const ownVariables = ["PORTAL_TOKEN", "PORTAL_DATABASE_URL", "MCP_HTTP_TOKEN"];

/** The portal passes these over its connection to the runtime, so an agent's commands need not see them. */
const handedOn = [
  "COPILOT_PROVIDER_API_KEY",
  "COPILOT_PROVIDER_BEARER_TOKEN",
  ...gitHubVariables,
  "GH_ENTERPRISE_TOKEN",
  "GITHUB_ENTERPRISE_TOKEN",
];

export interface AgentEnvironmentOptions {
  providers?: readonly ProviderSettings[];
  /** Secret variables that the user wants agents' commands to see anyway. */
  toolEnv?: readonly string[] | undefined;
}

/** The variables that hold provider keys. */
export function namedVariables(providers: readonly ProviderSettings[]): string[] {
  return providers
    .flatMap(({ apiKeyEnv, bearerTokenEnv }) => [apiKeyEnv, bearerTokenEnv])
    .filter(name => name !== undefined);
}

/** Every variable whose value is a secret of the portal. */
export function secretVariables(providers: readonly ProviderSettings[]): string[] {
  return [...handedOn, ...ownVariables, ...namedVariables(providers)];
}

/** What agents and all their commands inherit: the portal's environment without its secrets. */
export function agentEnvironment(
  env: NodeJS.ProcessEnv,
  { providers = [], toolEnv = [] }: AgentEnvironmentOptions = {},
): NodeJS.ProcessEnv {
  // Windows ignores the case of names.
  const key = (name: string) => name.toUpperCase();
  const wanted = new Set(toolEnv.map(key));
  const hidden = new Set([
    ...[...handedOn, ...namedVariables(providers)].map(key).filter(name => !wanted.has(name)),
    ...ownVariables,
  ]);
  return Object.fromEntries(Object.entries(env).filter(([name]) => !hidden.has(key(name))));
}

/** The GitHub token in the portal's environment. */
export function gitHubTokenIn(env: Readonly<Record<string, string | undefined>>): string | undefined {
  return gitHubVariables
    .map(name => env[name])
    .find(value => value !== undefined && copilotToken.test(value));
}
