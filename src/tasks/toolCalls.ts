/** One call of a job tool. */
export interface ToolCall {
  name: string;
  argument: string;
}

/** The tools' reports so far, by the names of the runtime variables without `$`. */
export type ReportedValues = { [name: string]: string };

export function valuesAfter(values: ReportedValues, toolCalls: readonly ToolCall[]): ReportedValues {
  return toolCalls.reduce(valuesAfterCall, values);
}

function valuesAfterCall(values: ReportedValues, { name, argument }: ToolCall): ReportedValues {
  switch (name) {
    case "job_prepare_document":
      return { ...values, "reported-document": (argument.split(/\r?\n/)[0] ?? "").trim() };
    case "job_boolean_true":
      return { ...without(values, "reported-false-reason"), "reported-true-reason": argument };
    case "job_boolean_false":
      return { ...without(values, "reported-true-reason"), "reported-false-reason": argument };
    default:
      return values;
  }
}

function without(values: ReportedValues, name: string): ReportedValues {
  const { [name]: _, ...others } = values;
  return others;
}

export interface Verdict {
  passed: boolean;
  reason: string;
  /** The judge's own words. */
  said: string;
}

const noAnswer = "neither job_boolean_true nor job_boolean_false was called";

/** A round's verdict is its last boolean call. */
export function verdictOf(toolCalls: readonly ToolCall[]): Verdict {
  const last = toolCalls.findLast(({ name }) => name === "job_boolean_true" || name === "job_boolean_false");
  if (!last) return { passed: false, reason: noAnswer, said: noAnswer };
  const { name, argument: said } = last;
  return { passed: name === "job_boolean_true", reason: `${name} was called: ${said}`, said };
}

export function missingTools(required: readonly string[], toolCalls: readonly ToolCall[]): string[] {
  const called = new Set(toolCalls.map(({ name }) => name));
  return required.filter(name => !called.has(name));
}

/** Why tools are missing: what the agent reported instead, if it reported anything. */
export function saidInstead(missing: readonly string[], toolCalls: readonly ToolCall[]): string {
  const instead = toolCalls.findLast(
    ({ name }) =>
      name === "job_prerequisite_failed" ||
      (name === "job_boolean_false" && missing.includes("job_boolean_true")),
  );
  return instead?.argument || `${missing.join(", ")} ${missing.length === 1 ? "was" : "were"} not called`;
}
