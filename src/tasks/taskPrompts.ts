/** Precedes a request that is resent because its session crashed. */
export const SESSION_CRASH_PREFIX = "The session crashed, please redo and here is the last request:\n";

/** The original prompt, followed by what went wrong. */
export function retryPrompt(
  prompt: string,
  missingTools: readonly string[],
  additionalPrompt: string | undefined,
): string {
  const lines = [prompt];
  if (missingTools.length > 0) lines.push(`## Required Tool Not Called: ${missingTools.join(", ")}`);
  if (additionalPrompt !== undefined) lines.push("## You accidentally Stopped", additionalPrompt);
  return lines.join("\n");
}
