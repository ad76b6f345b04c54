import type { CopilotClient, ModelInfo } from "@github/copilot-sdk";
import { type Backend, type BackendModel, BackendUnavailable } from "./backend.js";

type ModelClient = Pick<CopilotClient, "getAuthStatus" | "listModels">;

const howToSignIn =
  "Sign in with the Copilot CLI (run `copilot`, then /login) or with `gh auth login`, or set GH_TOKEN, " +
  "and start the portal again. Or bring your own key: set COPILOT_PROVIDER_BASE_URL and " +
  "COPILOT_PROVIDER_API_KEY, or name providers in portal.config.json.";

/** The runtime's message holds the whole answer of GitHub: only the kind of the failure is taken from it. */
export function explainListFailure(message: string): BackendUnavailable | undefined {
  const status = /"kind":"http","status":(\d{3})/.exec(message)?.[1];
  if (status === "401" || status === "403") {
    return BackendUnavailable.failing(`GitHub Copilot refused your sign-in (HTTP ${status}). ${howToSignIn}`);
  }
  if (status !== undefined) {
    return BackendUnavailable.failing(`GitHub Copilot answered HTTP ${status}. Try again later.`);
  }
  if (message.includes('"kind":"network"')) {
    return BackendUnavailable.failing("GitHub Copilot cannot be reached. Check the network, then try again.");
  }
  return undefined;
}

async function listModels(client: ModelClient): Promise<ModelInfo[]> {
  try {
    return await client.listModels();
  } catch (error) {
    throw explainListFailure(String(error)) ?? error;
  }
}

/** The models of the user's GitHub Copilot plan, asked of the runtime that runs the sessions. */
export function gitHubBackend(useClient: () => Promise<ModelClient>): Backend {
  return {
    kind: "github",
    name: "github",
    async list(): Promise<BackendModel[]> {
      const client = await useClient();
      const { isAuthenticated } = await client.getAuthStatus();
      if (!isAuthenticated) {
        throw BackendUnavailable.notSetUp(`You are not signed in to GitHub Copilot. ${howToSignIn}`);
      }
      const models = await listModels(client);
      return models.map(({ id, name, billing }) => ({
        id,
        name,
        // `auto` has no billing of its own: it costs what the model it chooses costs, usually one request.
        multiplier: billing?.multiplier ?? 1,
        target: { model: id },
      }));
    },
  };
}
