import type { ProviderConfig } from "@github/copilot-sdk";
import { BackendUnavailable } from "./backend.js";

/** A list of ten thousand models fits; anything longer is not a model list. */
const maxListBytes = 4 * 1024 * 1024;
const maxIdLength = 500;
const maxNameLength = 200;
const maxModels = 10_000;

interface ListedModel {
  id: string;
  name: string;
}

/** The address of a provider's model list. Azure lists what it could deploy, not what is deployed. */
export function modelListUrl({
  type,
  baseUrl,
}: Pick<ProviderConfig, "type" | "baseUrl">): string | undefined {
  const base = baseUrl.replace(/(?<!\/)\/+$/, "");
  if (type === "azure") return undefined;
  return type === "anthropic" && !base.endsWith("/v1") ? `${base}/v1/models` : `${base}/models`;
}

function accessHeaders({ type, apiKey, bearerToken, headers }: ProviderConfig): Record<string, string> {
  const key: Record<string, string> =
    bearerToken !== undefined
      ? { authorization: `Bearer ${bearerToken}` }
      : apiKey === undefined
        ? {}
        : type === "anthropic"
          ? { "x-api-key": apiKey }
          : { authorization: `Bearer ${apiKey}` };
  return { ...(type === "anthropic" && { "anthropic-version": "2023-06-01" }), ...key, ...headers };
}

/** The models of an OpenAI or Anthropic list; undefined for anything else. */
export function parseModelList(content: string): ListedModel[] | undefined {
  let list: unknown;
  try {
    list = JSON.parse(content)?.data;
  } catch {
    return undefined;
  }
  if (!Array.isArray(list)) return undefined;
  const models = list.slice(0, maxModels).flatMap((item: unknown) => {
    const { id, display_name: name } = Object(item) as { id?: unknown; display_name?: unknown };
    if (typeof id !== "string" || id === "" || id.length > maxIdLength) return [];
    return [{ id, name: typeof name === "string" && name !== "" ? name.slice(0, maxNameLength) : id }];
  });
  return list.length > 0 && models.length === 0 ? undefined : models;
}

async function readBounded(response: Response): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let size = 0;
  let content = "";
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > maxListBytes) return undefined;
    content += decoder.decode(chunk, { stream: true });
  }
  return content + decoder.decode();
}

function refusal(status: number): string {
  if (status === 401 || status === 403) return `refused the key (HTTP ${status}). Check its key or token.`;
  if (status === 404)
    return 'has no model list (HTTP 404). Check its baseUrl, or name its models under "models".';
  return `answered HTTP ${status} instead of its model list. Try again later, or name its models under "models".`;
}

/** Returns only the code: the message of a failed request may quote a header, and with it the key. */
function failureCode(error: unknown): string {
  const { name, cause } = error as { name?: string; cause?: { code?: string } };
  return cause?.code ?? name ?? "unknown";
}

/** Asks a provider for its models; throws BackendUnavailable, which says what to do. */
export async function fetchModelIds(
  name: string,
  provider: ProviderConfig,
  signal: AbortSignal,
): Promise<ListedModel[]> {
  // Without a query, which may hold a key.
  const { origin, pathname } = new URL(provider.baseUrl);
  const failing = (what: string) =>
    BackendUnavailable.failing(`Provider "${name}" at ${origin}${pathname} ${what}`);
  const url = modelListUrl(provider);
  if (url === undefined) throw failing('is an Azure resource: name its deployments under "models".');
  let response: Response;
  let content: string | undefined;
  try {
    // A redirect would carry the key to another address.
    response = await fetch(url, { headers: accessHeaders(provider), redirect: "manual", signal });
    content = response.ok ? await readBounded(response) : "";
    if (!response.ok) await response.body?.cancel();
  } catch (error) {
    throw failing(`cannot be reached (${failureCode(error)}). Start it, or correct its baseUrl.`);
  }
  if (!response.ok) throw failing(refusal(response.status));
  const models = content === undefined ? undefined : parseModelList(content);
  if (models === undefined) throw failing("answered something that is not a model list. Check its baseUrl.");
  if (models.length === 0) throw failing('lists no models. Install one there, or name them under "models".');
  return models;
}
