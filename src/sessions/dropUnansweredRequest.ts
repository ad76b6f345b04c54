import type { CopilotSession } from "@github/copilot-sdk";

/**
 * Takes the last request out of a conversation in which nothing answered it, so that sending it again after a crash
 * does not ask twice. True when there was one.
 */
export async function dropUnansweredRequest(session: CopilotSession): Promise<boolean> {
  const events = (await session.getEvents()).filter(({ agentId }) => agentId === undefined);
  const last = events.findLast(({ type }) => type === "user.message" || type === "assistant.message");
  if (last?.type !== "user.message") return false;
  await session.rpc.history.truncate({ eventId: last.id });
  return true;
}
