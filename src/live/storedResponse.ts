import type { CallbackArguments, CallbackName, LiveResponse } from "./callbacks.js";

/** A response of another portal version that this one does not know; it is passed on unchanged. */
export interface ForeignResponse {
  callback?: undefined;
  foreign: Readonly<Record<string, unknown>>;
}

/** A response from the store or from a portal of possibly another version. */
export type StoredResponse = LiveResponse | ForeignResponse;

type KindOf<Value> = Value extends string
  ? "string"
  : Value extends number
    ? "number"
    : Value extends boolean
      ? "boolean"
      : Value extends readonly unknown[]
        ? "array"
        : "object";
type RequiredIn<Arguments> = {
  [Name in keyof Arguments]-?: Record<never, never> extends Pick<Arguments, Name> ? never : Name;
}[keyof Arguments];
type ShapeOf<Arguments> = { readonly [Name in RequiredIn<Arguments>]: KindOf<Arguments[Name]> };

type CallbackShapes = {
  readonly [Name in Exclude<CallbackName, "onUsage">]: ShapeOf<CallbackArguments[Name]>;
} & {
  /** This callback has two forms with nothing in common. */
  readonly onUsage: Record<never, never>;
};

/** The required arguments of each callback, with their types. */
export const callbackShapes: CallbackShapes = {
  onUserRequest: { requestId: "string", prompt: "string" },
  onGeneratedUserPrompt: { prompt: "string" },
  onAgentStart: { turnId: "string" },
  onAgentEnd: { turnId: "string" },
  onStartReasoning: { reasoningId: "string" },
  onReasoning: { reasoningId: "string", delta: "string" },
  onEndReasoning: { reasoningId: "string", completeContent: "string" },
  onStartMessage: { messageId: "string" },
  onMessage: { messageId: "string", delta: "string" },
  onEndMessage: { messageId: "string", completeContent: "string" },
  onStartToolExecution: { toolCallId: "string", toolName: "string", toolArguments: "string" },
  onToolExecution: { toolCallId: "string", delta: "string" },
  onEndToolExecution: { toolCallId: "string" },
  onPermissionRequest: {
    requestId: "string",
    title: "string",
    kind: "string",
    detail: "object",
    options: "array",
  },
  onPermissionResolved: { requestId: "string", decision: "string", by: "string" },
  onQuestion: { requestId: "string", question: "string", allowFreeform: "boolean" },
  onQuestionResolved: { requestId: "string", by: "string" },
  onNotice: { severity: "string", title: "string" },
  onUsage: {},
  onIdle: {},
  onPlan: { entries: "array" },
  onCommands: { commands: "array" },
  onOptions: { options: "array" },
  onMode: { modes: "array" },
  onSessionInfo: {},
  onTurnResult: { turnId: "string", stopReason: "string" },
  onReplay: { active: "boolean" },
  onUserMessage: { text: "string", replay: "boolean" },
  onJobTool: { name: "string", argument: "string" },
  onJobToolsMissing: {},
  taskDecision: { reason: "string" },
  taskSessionStarted: { sessionId: "string", taskId: "string", isDriving: "boolean", modelId: "string" },
  taskSessionStopped: { sessionId: "string", taskId: "string", succeeded: "boolean" },
  taskAttemptStarted: { attempt: "number", modelId: "string" },
  taskAttemptEnded: {
    attempt: "number",
    modelId: "string",
    sessionIds: "array",
    verdict: "string",
    criteria: "array",
    crashes: "number",
  },
  taskSucceeded: {},
  taskFailed: {},
  workWaiting: { workId: "number", taskId: "string" },
  workStarted: { workId: "number", taskId: "string" },
  workStopped: { workId: "number", taskId: "string", succeeded: "boolean" },
  jobPaused: {},
  jobContinued: {},
  jobSucceeded: {},
  jobFailed: {},
  jobCanceled: {},
  runPlanned: { selectedAgents: "array", rationale: "array", refinedPrompt: "string", evaluation: "object" },
  runAgentStarted: { agent: "string", step: "number" },
  runAgentEnded: {
    agent: "string",
    step: "number",
    status: "string",
    cached: "boolean",
    executionTime: "string",
  },
  runSucceeded: { finalOutput: "string", executionTime: "string" },
  runFailed: { code: "string", message: "string", details: "string" },
  runCanceled: {},
};

const shapes: ReadonlyMap<unknown, Readonly<Record<string, string>>> = new Map(
  Object.entries(callbackShapes),
);
const errorNames = ["sessionError", "taskError", "jobError"];

const kindOf = (value: unknown): string =>
  Array.isArray(value) ? "array" : value === null ? "null" : typeof value;

function isKnown(response: Readonly<Record<string, unknown>>): boolean {
  if (response.callback === undefined) return errorNames.some(name => typeof response[name] === "string");
  const shape = shapes.get(response.callback);
  return (
    shape !== undefined && Object.entries(shape).every(([name, kind]) => kindOf(response[name]) === kind)
  );
}

/** Turns a response of an unknown writer into a typed one; only this function does so. What does not fit is foreign. */
export function storedResponse(value: unknown): StoredResponse {
  const response = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
  return isKnown(response) ? (response as LiveResponse) : { foreign: response };
}

/** The response as it was written. */
export const writtenForm = (response: StoredResponse): object =>
  "foreign" in response ? response.foreign : response;
