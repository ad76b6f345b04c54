import type { EditorSessionOptions } from "./editorSession.js";
import type { Portal } from "./portal.js";
import { invalid } from "./rpcErrors.js";

/** Opening a session may start the runtime or an agent. */
const startTimeoutMs = 120_000;

type Start = Pick<EditorSessionOptions, "cwd" | "model" | "permissions" | "mcpServers">;

/** Starts a session on the portal and returns its id. */
export async function startPortalSession(
  portal: Portal,
  { cwd, model, permissions, mcpServers }: Start,
): Promise<string> {
  // For an empty cwd the portal would use its own folder.
  if (cwd.trim() === "") throw invalid("cwd is empty; it must be an absolute path");
  const id = encodeURIComponent(model.id);
  const query = permissions === undefined ? "" : `?permissions=${permissions}`;
  const withServers = model.backend === "acp" && mcpServers.length > 0;
  const [path, body] = withServers
    ? [`acp/session/start/${id}`, JSON.stringify({ cwd, permissions, mcpServers })]
    : [`copilot/session/start/${id}${query}`, cwd];
  return (await portal.call<{ sessionId: string }>(path, { body, timeoutMs: startTimeoutMs })).sessionId;
}
