import type { Tool } from "@github/copilot-sdk";

const descriptions = {
  job_prepare_document:
    "Reports the document that you prepared. The first line of the argument is its absolute path.",
  job_boolean_true:
    "Answers the condition that you were asked to check: it holds. The argument is the reason.",
  job_boolean_false:
    "Answers the condition that you were asked to check: it does not hold. The argument is the reason.",
  job_prerequisite_failed:
    "Reports that the work cannot be done because something it needs is missing. The argument is the reason.",
} as const;

export type JobToolName = keyof typeof descriptions;
export const jobToolNames = Object.keys(descriptions) as readonly JobToolName[];

/** Every session has these tools; an agent uses them to report to the task that drives it. */
export function jobTools(): Tool[] {
  return jobToolNames.map(name => ({
    name,
    description: descriptions[name],
    parameters: {
      type: "object",
      properties: { argument: { type: "string" } },
      required: ["argument"],
      additionalProperties: false,
    },
    // The model must see them from the first request on, and a report needs no permission.
    defer: "never",
    skipPermission: true,
    handler: giveBack,
  }));
}

export const badArgument = "The tool takes one property, `argument`, which is a string.";

/** The reported argument; undefined when the arguments do not fit a job tool. */
export function jobToolArgument(args: unknown): string | undefined {
  const known = typeof args === "object" && args !== null && "argument" in args;
  return known && typeof args.argument === "string" ? args.argument : undefined;
}

function giveBack(args: unknown) {
  const failure = { textResultForLlm: badArgument, resultType: "failure" as const, error: badArgument };
  return jobToolArgument(args) ?? failure;
}
