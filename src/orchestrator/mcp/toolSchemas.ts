import type { JsonSchema } from "../../api/route.js";
import { flag, list, object, text } from "../../api/schemas.js";

const texts = list(text);
const textOrNull: JsonSchema = { type: ["string", "null"] };

const errorSchema = object({ code: text, message: text, details: text });

/** Clients check every answer against it, errors too: both shapes of the envelope must pass. */
export function envelopeSchema(data: JsonSchema): JsonSchema & { type: "object" } {
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

const issues: JsonSchema = {
  type: "array",
  items: { type: "string", enum: ["too-short", "vagueness", "missing-context", "no-action"] },
};
const confidence: JsonSchema = { type: "number", minimum: 0, maximum: 1 };
const output: JsonSchema = {
  type: ["object", "null"],
  properties: { text, data: { type: ["object", "array"] }, model: text, truncated: flag },
  required: ["text"],
};
const agentResult = object({
  agent: text,
  output,
  executedAt: text,
  executionTime: text,
  status: { type: "string", enum: ["success", "error"] },
  cached: flag,
  "error?": object({ code: text, message: text }),
});

export const listAgentsData = object({
  agents: {
    type: "array",
    items: object({ name: text, description: text, keywords: texts, id: text, path: text }),
  },
  count: { type: "integer", minimum: 0 },
  problems: { type: "array", items: object({ file: text, code: text, message: text }) },
});

export const evaluatePromptData = object({
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

export const runAgentData = object({
  agent: text,
  prompt: text,
  output,
  executedAt: text,
  executionTime: text,
  cached: flag,
});

export const orchestrationData = object({
  originalPrompt: text,
  refinedPrompt: text,
  evaluationFeedback: object({ isClear: flag, confidence, issues, suggestions: textOrNull }),
  selectedAgents: texts,
  agentResults: { type: "array", items: agentResult },
  finalOutput: text,
  executionTime: text,
  selectionRationale: texts,
  "partial?": flag,
});

export const promptInput: JsonSchema = {
  type: "string",
  minLength: 1,
  description: "The request, in plain words.",
};
