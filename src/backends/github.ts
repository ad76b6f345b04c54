import { type Backend, type BackendModel, BackendUnavailable } from "./backend.js";
import { type AccountClient, accountModels, type GitHubModel, isSignedIn } from "./gitHubAccount.js";

const howToSignIn =
  "Sign in with the Copilot CLI (run `copilot`, then /login) or with `gh auth login`, or set GH_TOKEN, " +
  "and start the portal again. Or bring your own key: set COPILOT_PROVIDER_BASE_URL and " +
  "COPILOT_PROVIDER_API_KEY, or name providers in portal.config.json.";

/** The runtime's message holds GitHub's whole answer: only the kind of failure is taken from it. */
export function explainListFailure(message: string): BackendUnavailable | undefined {
  const status = /"kind":"http","status":(\d{3})|user info: (\d{3}) /.exec(message)?.slice(1).find(Boolean);
  if (status === "401" || status === "403") {
    return BackendUnavailable.failing(`GitHub Copilot refused your sign-in (HTTP ${status}). ${howToSignIn}`);
  }
  if (status !== undefined) {
    return BackendUnavailable.failing(`GitHub Copilot answered HTTP ${status}. Try again later.`);
  }
  if (message.includes('"kind":"network"') || message.includes("network fetch failed")) {
    return BackendUnavailable.failing("GitHub Copilot cannot be reached. Check the network, then try again.");
  }
  return undefined;
}

async function listModels(client: AccountClient, token: string | undefined): Promise<readonly GitHubModel[]> {
  try {
    return await accountModels(client, token);
  } catch (error) {
    throw explainListFailure(String(error)) ?? error;
  }
}

/** The models of the user's GitHub Copilot plan, according to the runtime that runs the sessions. */
export function gitHubBackend(useClient: () => Promise<AccountClient>, token?: string): Backend {
  return {
    kind: "github",
    name: "github",
    async list(): Promise<BackendModel[]> {
      const client = await useClient();
      if (!(await isSignedIn(client, token))) {
        throw BackendUnavailable.notSetUp(`You are not signed in to GitHub Copilot. ${howToSignIn}`);
      }
      const models = await listModels(client, token);
      return models.map(({ id, name, billing, capabilities }) => ({
        id,
        name,
        // `auto` has no price of its own: it costs what the chosen model costs, usually one request.
        multiplier: billing?.multiplier ?? 1,
        vision: capabilities?.supports?.vision,
        target: { model: id, ...(token !== undefined && { gitHubToken: token }) },
      }));
    },
  };
}
