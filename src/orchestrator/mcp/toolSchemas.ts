type Schema = Record<string, unknown>;

const text: Schema = { type: "string" };
const flag: Schema = { type: "boolean" };
const texts: Schema = { type: "array", items: text };
const textOrNull: Schema = { type: ["string", "null"] };

/** An object with these properties; a name that ends in `?` is optional. */
export function objectSchema(properties: Record<string, Schema>): Schema & { type: "object" } {
  const entries = Object.entries(properties);
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(([name, schema]) => [name.replace(/\?$/, ""), schema])),
    required: entries.map(([name]) => name).filter(name => !name.endsWith("?")),
  };
}

const errorSchema = objectSchema({ code: text, message: text, details: text });

/** Clients check every answer against it, errors too: both shapes of the envelope must pass. */
export function envelopeSchema(data: Schema): Schema & { type: "object" } {
  return {
    type: "object",
    properties: { status: { type: "string", enum: ["success", "error"] }, timestamp: text },
    required: ["status", "timestamp"],
    oneOf: [
      {
        properties: { status: { const: "success" }, data, executionTime: text },
        required: ["data", "executionTime"],
      },
      { properties: { status: { const: "error" }, error: errorSchema }, required: ["error"] },
    ],
  };
}

const issues: Schema = {
  type: "array",
  items: { type: "string", enum: ["too-short", "vagueness", "missing-context", "no-action"] },
};
const confidence: Schema = { type: "number", minimum: 0, maximum: 1 };
const output: Schema = {
  type: ["object", "null"],
  properties: { text, data: { type: ["object", "array"] }, model: text, truncated: flag },
  required: ["text"],
};
const agentResult = objectSchema({
  agent: text,
  output,
  executedAt: text,
  executionTime: text,
  status: { type: "string", enum: ["success", "error"] },
  cached: flag,
  "error?": objectSchema({ code: text, message: text }),
});

export const listAgentsData = objectSchema({
  agents: {
    type: "array",
    items: objectSchema({ name: text, description: text, keywords: texts, id: text, path: text }),
  },
  count: { type: "integer", minimum: 0 },
  problems: { type: "array", items: objectSchema({ file: text, code: text, message: text }) },
});

export const evaluatePromptData = objectSchema({
  originalPrompt: text,
  isClear: flag,
  confidence,
  issues,
  refinedPrompt: text,
  keywords: texts,
  selectedAgents: texts,
  suggestions: textOrNull,
  selectionRationale: texts,
});

export const runAgentData = objectSchema({
  agent: text,
  prompt: text,
  output,
  executedAt: text,
  executionTime: text,
  cached: flag,
});

export const orchestrationData = objectSchema({
  originalPrompt: text,
  refinedPrompt: text,
  evaluationFeedback: objectSchema({ isClear: flag, confidence, issues, suggestions: textOrNull }),
  selectedAgents: texts,
  agentResults: { type: "array", items: agentResult },
  finalOutput: text,
  executionTime: text,
  selectionRationale: texts,
  "partial?": flag,
});

export const promptInput: Schema = {
  type: "string",
  minLength: 1,
  description: "The request, in plain words.",
};
