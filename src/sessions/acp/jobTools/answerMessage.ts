import {
  ErrorCode,
  LATEST_PROTOCOL_VERSION,
  SUPPORTED_PROTOCOL_VERSIONS,
} from "@modelcontextprotocol/sdk/types.js";
import { parseMessage } from "../../../base/messageBounds.js";
import { packageVersion } from "../../../base/paths.js";
import { badArgument, type JobToolName, jobToolArgument, jobToolNames, jobTools } from "../../jobTools.js";
import { type Fields, fieldsOf } from "../fields.js";

export const serverName = "portal-jobs";

export interface JobToolCall {
  readonly name: JobToolName;
  readonly argument: string;
}

/** Hears what an agent does with the tools. */
export interface JobToolObserver {
  listed(): void;
  called(call: JobToolCall): void;
}

/** The HTTP answer; it may have no body. */
export interface MessageAnswer {
  readonly status: 200 | 202 | 400;
  readonly body?: object;
}

type Outcome = { result: object } | { error: { code: number; message: string } };

/** A report is a reason or the path of a document. */
const maxArgumentChars = 200_000;
const maxIdChars = 200;

const accepted: MessageAnswer = { status: 202 };

/** Read-only, so that an agent needs no permission to report. */
const tools = jobTools().map(({ name, description, parameters }) => ({
  name,
  description,
  inputSchema: parameters,
  annotations: { readOnlyHint: true },
}));

function failure(code: number, message: string): Outcome {
  return { error: { code, message } };
}

function refuse(code: number, message: string): MessageAnswer {
  return { status: 400, body: { jsonrpc: "2.0", id: null, ...failure(code, message) } };
}

function parsed(text: string): { message: unknown } | undefined {
  try {
    return { message: parseMessage(text) };
  } catch {
    return undefined;
  }
}

function initialize({ protocolVersion: wanted }: Fields): Outcome {
  const known = typeof wanted === "string" && SUPPORTED_PROTOCOL_VERSIONS.includes(wanted);
  return {
    result: {
      protocolVersion: known ? wanted : LATEST_PROTOCOL_VERSION,
      capabilities: { tools: {} },
      serverInfo: { name: serverName, version: packageVersion },
    },
  };
}

function callTool({ name, arguments: given }: Fields, observer: JobToolObserver): Outcome {
  const tool = jobToolNames.find(known => known === name);
  if (tool === undefined) {
    const shown = typeof name === "string" ? name.slice(0, 100) : `a ${typeof name}`;
    return failure(ErrorCode.InvalidParams, `Unknown tool: ${shown}`);
  }
  const argument = jobToolArgument(given);
  if (argument === undefined || argument.length > maxArgumentChars)
    return { result: { content: [{ type: "text", text: badArgument }], isError: true } };
  observer.called({ name: tool, argument });
  return { result: { content: [{ type: "text", text: argument }] } };
}

function outcomeOf(method: string, params: Fields, observer: JobToolObserver): Outcome {
  switch (method) {
    case "initialize":
      return initialize(params);
    case "ping":
      return { result: {} };
    case "tools/list":
      observer.listed();
      return { result: { tools } };
    case "tools/call":
      return callTool(params, observer);
    default:
      return failure(ErrorCode.MethodNotFound, `Unknown method: ${method.slice(0, 100)}`);
  }
}

/** Answers one JSON-RPC message of an MCP client, without a session or a stream that could hang. */
export function answerMessage(text: string, observer: JobToolObserver): MessageAnswer {
  const read = parsed(text);
  if (!read) return refuse(ErrorCode.ParseError, "Parse error: the body is not JSON");
  const { jsonrpc, id, method, params, ...rest } = fieldsOf(read.message);
  if (jsonrpc !== "2.0") return refuse(ErrorCode.InvalidRequest, "The body must be one JSON-RPC 2.0 message");
  if (method === undefined && ("result" in rest || "error" in rest)) return accepted;
  if (typeof method !== "string") return refuse(ErrorCode.InvalidRequest, "The message has no method");
  if (id === undefined) return accepted;
  if (typeof id !== "number" && (typeof id !== "string" || id.length > maxIdChars))
    return refuse(ErrorCode.InvalidRequest, "An id is a short string or a number");
  return { status: 200, body: { jsonrpc, id, ...outcomeOf(method, fieldsOf(params), observer) } };
}
