import type { ProviderConfig } from "@github/copilot-sdk";
import { secretVariables } from "./agentEnvironment.js";
import { type Backend, type BackendModel, BackendUnavailable } from "./backend.js";
import { fetchModelIds } from "./providerModels.js";
import { type ProviderModel, type ProviderSettings, providerProblems } from "./providerSettings.js";

type Env = Readonly<Record<string, string | undefined>>;

/** Leaves out what is undefined or empty, because an unset and an empty variable mean the same. */
function given<T extends object>(values: T): Partial<{ [Key in keyof T]: NonNullable<T[Key]> }> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined && value !== ""),
  ) as Partial<{ [Key in keyof T]: NonNullable<T[Key]> }>;
}

function tokenLimit(value: string | undefined): number | undefined {
  return value === undefined || value === "" ? undefined : Number(value);
}

/** The provider that the Copilot CLI's own environment variables describe; undefined when they describe none. */
export function environmentProvider(env: Env): unknown {
  const baseUrl = env.COPILOT_PROVIDER_BASE_URL;
  if (!baseUrl) return undefined;
  const modelId = env.COPILOT_PROVIDER_MODEL_ID;
  const wireModel = env.COPILOT_PROVIDER_WIRE_MODEL;
  const id = env.COPILOT_MODEL || modelId || wireModel;
  const model = given({
    id,
    modelId,
    wireModel,
    maxPromptTokens: tokenLimit(env.COPILOT_PROVIDER_MAX_PROMPT_TOKENS),
    maxOutputTokens: tokenLimit(env.COPILOT_PROVIDER_MAX_OUTPUT_TOKENS),
  });
  return {
    name: "environment",
    baseUrl,
    ...given({
      type: env.COPILOT_PROVIDER_TYPE,
      apiKey: env.COPILOT_PROVIDER_API_KEY,
      bearerToken: env.COPILOT_PROVIDER_BEARER_TOKEN,
      wireApi: env.COPILOT_PROVIDER_WIRE_API,
      transport: env.COPILOT_PROVIDER_TRANSPORT,
      azureApiVersion: env.COPILOT_PROVIDER_AZURE_API_VERSION,
    }),
    ...(id && { models: [model] }),
  };
}

/** The key itself, or the value of the variable that the settings name. */
function secret(settings: ProviderSettings, name: "apiKey" | "bearerToken", env: Env): string | undefined {
  const variable = settings[`${name}Env`];
  if (settings[name] !== undefined || variable === undefined) return settings[name];
  const value = env[variable];
  if (value) return value;
  throw BackendUnavailable.failing(
    `Provider "${settings.name}" is left out: the environment variable ${variable}, which its ${name}Env names, is not set.`,
  );
}

/** The runtime's configuration for one model of the provider. */
export function providerConfig(settings: ProviderSettings, model: ProviderModel, env: Env): ProviderConfig {
  const { type = "openai", baseUrl, wireApi, transport, azureApiVersion, headers } = settings;
  const { modelId, wireModel, maxPromptTokens, maxOutputTokens } = model;
  return {
    type,
    baseUrl,
    ...given({ apiKey: secret(settings, "apiKey", env), bearerToken: secret(settings, "bearerToken", env) }),
    ...given({ wireApi, transport, headers, modelId, wireModel, maxPromptTokens, maxOutputTokens }),
    ...(azureApiVersion && { azure: { apiVersion: azureApiVersion } }),
  };
}

function listed(settings: ProviderSettings): ProviderModel[] | undefined {
  return settings.models?.map(model => (typeof model === "string" ? { id: model } : model));
}

function providerBackend(settings: ProviderSettings, env: Env): Backend {
  return {
    kind: "provider",
    name: settings.name,
    async list(signal): Promise<BackendModel[]> {
      const known = listed(settings);
      const access = providerConfig(settings, { id: "" }, env);
      const models: ProviderModel[] = known ?? (await fetchModelIds(settings.name, access, signal));
      return models.map(model => ({
        id: model.id,
        name: model.name ?? model.id,
        multiplier: 0,
        vision: model.vision,
        target: { model: model.id, provider: providerConfig(settings, model, env) },
      }));
    },
  };
}

function brokenBackend(name: string, message: string): Backend {
  return { kind: "provider", name, list: () => Promise.reject(BackendUnavailable.failing(message)) };
}

/** The user's own providers: first the one from the environment, then those of the config in order. */
export function providerBackends(configured: readonly ProviderSettings[], env: Env): Backend[] {
  const backends = configured.map(settings => providerBackend(settings, env));
  const fromEnvironment = environmentProvider(env);
  if (fromEnvironment === undefined) return backends;
  const problems = providerProblems(fromEnvironment).map(problem => problem.replace(/^\$\./, ""));
  const first =
    problems.length > 0
      ? brokenBackend(
          "environment",
          `The provider of COPILOT_PROVIDER_… is left out: ${problems.join("; ")}.`,
        )
      : providerBackend(fromEnvironment as ProviderSettings, env);
  return [first, ...backends];
}

/** Every key and token that this portal has, so that none of them is ever written anywhere. */
export function knownSecrets(
  configured: readonly ProviderSettings[],
  env: Env,
  portalToken?: string,
): string[] {
  const fromEnv = secretVariables(configured).map(name => env[name]);
  const fromConfig = configured.flatMap(({ apiKey, bearerToken, headers = {} }) => [
    apiKey,
    bearerToken,
    ...Object.values(headers),
  ]);
  return [...fromEnv, ...fromConfig, portalToken].filter(secret => secret !== undefined);
}
