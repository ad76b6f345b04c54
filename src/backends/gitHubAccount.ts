import type { CopilotClient } from "@github/copilot-sdk";

export type AccountClient = Pick<CopilotClient, "getAuthStatus" | "listModels" | "rpc">;

export interface GitHubModel {
  id: string;
  name: string;
  billing?: { multiplier?: number };
  capabilities?: { supports?: { vision?: boolean } };
}

/**
 * Each call carries the token, if there is one: the SDK would put it into the runtime's environment or arguments, where
 * every command of an agent could read it.
 */
export async function isSignedIn(client: AccountClient, token: string | undefined): Promise<boolean> {
  return token !== undefined || (await client.getAuthStatus()).isAuthenticated;
}

export async function accountModels(
  client: AccountClient,
  token: string | undefined,
): Promise<readonly GitHubModel[]> {
  if (token === undefined) return client.listModels();
  return (await client.rpc.models.list({ gitHubToken: token })).models;
}
