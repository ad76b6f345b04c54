import type { ProviderSettings } from "./providerSettings.js";

/** Where the Copilot CLI looks for a token, in its order. */
const gitHubVariables = ["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"];
/** The CLI leaves tokens of other kinds alone: a classic one may be there for something else. */
const copilotToken = /^(?:gho_|ghu_|ghs_|github_pat_)/;

/** Only the portal itself may see these: whoever has one of them has the portal. */
const ownVariables = ["PORTAL_TOKEN", "PORTAL_DATABASE_URL", "MCP_HTTP_TOKEN"];

/** The portal hands these on by the connection to the runtime, so no command of an agent needs to see them. */
const handedOn = [
  "COPILOT_PROVIDER_API_KEY",
  "COPILOT_PROVIDER_BEARER_TOKEN",
  ...gitHubVariables,
  "GH_ENTERPRISE_TOKEN",
  "GITHUB_ENTERPRISE_TOKEN",
];

export interface AgentEnvironmentOptions {
  providers?: readonly ProviderSettings[];
  /** Variables of these that the user wants commands of agents to see all the same. */
  toolEnv?: readonly string[] | undefined;
}

/** The variables that hold the keys of providers. */
export function namedVariables(providers: readonly ProviderSettings[]): string[] {
  return providers
    .flatMap(({ apiKeyEnv, bearerTokenEnv }) => [apiKeyEnv, bearerTokenEnv])
    .filter(name => name !== undefined);
}

/** Every variable whose value is a secret of the portal. */
export function secretVariables(providers: readonly ProviderSettings[]): string[] {
  return [...handedOn, ...ownVariables, ...namedVariables(providers)];
}

/** What agents inherit, and with them every command that they run: the portal's environment without its secrets. */
export function agentEnvironment(
  env: NodeJS.ProcessEnv,
  { providers = [], toolEnv = [] }: AgentEnvironmentOptions = {},
): NodeJS.ProcessEnv {
  // Windows does not tell upper from lower case.
  const key = (name: string) => name.toUpperCase();
  const wanted = new Set(toolEnv.map(key));
  const hidden = new Set([
    ...[...handedOn, ...namedVariables(providers)].map(key).filter(name => !wanted.has(name)),
    ...ownVariables,
  ]);
  return Object.fromEntries(Object.entries(env).filter(([name]) => !hidden.has(key(name))));
}

/** The GitHub token that the portal was started with. */
export function gitHubTokenIn(env: Readonly<Record<string, string | undefined>>): string | undefined {
  return gitHubVariables
    .map(name => env[name])
    .find(value => value !== undefined && copilotToken.test(value));
}
