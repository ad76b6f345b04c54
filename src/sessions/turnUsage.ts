import type { TurnUsage } from "../live/callbacks.js";

/** The part of `assistant.usage` that is counted. */
export interface ModelCallUsage {
  inputTokens?: number;
  outputTokens?: number;
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
  reasoningTokens?: number;
  cost?: number;
  duration?: number;
  initiator?: string;
  isByok?: boolean;
}

export function noUsage(): TurnUsage {
  return {
    modelCalls: 0,
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    cost: 0,
    premiumRequests: 0,
    durationMs: 0,
  };
}

export function addUsage(sum: TurnUsage, call: ModelCallUsage): TurnUsage {
  const cost = call.cost ?? 0;
  const charged = call.initiator === "user" && call.isByok !== true;
  return {
    modelCalls: sum.modelCalls + 1,
    inputTokens: sum.inputTokens + (call.inputTokens ?? 0),
    outputTokens: sum.outputTokens + (call.outputTokens ?? 0),
    cacheReadTokens: sum.cacheReadTokens + (call.cacheReadTokens ?? 0),
    cacheWriteTokens: sum.cacheWriteTokens + (call.cacheWriteTokens ?? 0),
    reasoningTokens: sum.reasoningTokens + (call.reasoningTokens ?? 0),
    cost: sum.cost + cost,
    premiumRequests: sum.premiumRequests + (charged ? cost : 0),
    durationMs: sum.durationMs + (call.duration ?? 0),
  };
}

/** The total usage of several requests. */
export function sumUsage(a: TurnUsage, b: TurnUsage): TurnUsage {
  return {
    modelCalls: a.modelCalls + b.modelCalls,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
    cost: a.cost + b.cost,
    premiumRequests: a.premiumRequests + b.premiumRequests,
    durationMs: a.durationMs + b.durationMs,
  };
}
