import { problemsBySchema } from "../base/settingsFile.js";

/** A provider's model whose name, wire name or limits differ from the runtime's guess. */
export interface ProviderModel {
  id: string;
  name?: string;
  /** A well-known model that behaves the same, from which the runtime takes its settings. */
  modelId?: string;
  /** What the provider calls it: an Azure deployment, for example. */
  wireModel?: string;
  maxPromptTokens?: number;
  maxOutputTokens?: number;
  /** False for a model that takes no pictures. */
  vision?: boolean;
}

/** One of the user's own providers from portal.config.json. */
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

const text = { type: "string", minLength: 1 };
const tokens = { type: "integer", minimum: 1 };

const modelSchema = {
  type: "object",
  properties: {
    id: text,
    name: text,
    modelId: text,
    wireModel: text,
    maxPromptTokens: tokens,
    maxOutputTokens: tokens,
    vision: { type: "boolean" },
  },
  required: ["id"],
  additionalProperties: false,
};

export const providerSchema = {
  type: "object",
  properties: {
    // It prefixes an id that another backend also has, with a slash between them.
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
      // A plain id or an object: each keyword applies to one of them only.
      items: { ...modelSchema, type: ["string", "object"], minLength: 1 },
    },
  },
  required: ["name", "baseUrl"],
  additionalProperties: false,
};

/** Every problem with one provider, for providers that do not come from a file. */
export function providerProblems(value: unknown): string[] {
  return problemsBySchema(providerSchema, value);
}
