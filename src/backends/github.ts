import type { CopilotClient } from "@github/copilot-sdk";
import { type Backend, type BackendModel, BackendUnavailable } from "./backend.js";

type ModelClient = Pick<CopilotClient, "getAuthStatus" | "listModels">;

const howToSignIn =
  "Sign in with the Copilot CLI (run `copilot`, then /login) or with `gh auth login`, or set GH_TOKEN, " +
  "and start the portal again. Or bring your own key: set COPILOT_PROVIDER_BASE_URL and " +
  "COPILOT_PROVIDER_API_KEY, or name providers in portal.config.json.";

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
      const models = await client.listModels();
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
