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
}

/** A round's verdict is its last boolean call. */
export function verdictOf(toolCalls: readonly ToolCall[]): Verdict {
  const last = toolCalls.findLast(({ name }) => name === "job_boolean_true" || name === "job_boolean_false");
  if (!last) return { passed: false, reason: "neither job_boolean_true nor job_boolean_false was called" };
  return { passed: last.name === "job_boolean_true", reason: `${last.name} was called: ${last.argument}` };
}

export function missingTools(required: readonly string[], toolCalls: readonly ToolCall[]): string[] {
  const called = new Set(toolCalls.map(({ name }) => name));
  return required.filter(name => !called.has(name));
}
