import type {
  PermissionOptionKind,
  RequestPermissionRequest,
  RequestPermissionResponse,
} from "@agentclientprotocol/sdk";
import type { Log } from "../base/log.js";
import type { Callback } from "../live/callbacks.js";
import type { StoredResponse } from "../live/storedResponse.js";
import type { Editor } from "./editor.js";
import type { Portal } from "./portal.js";
import { toolKind } from "./toolLook.js";
import { textContent } from "./translator.js";

const optionKinds = ["allow_once", "allow_always", "reject_once", "reject_always"] as const;

/** A kind that the protocol does not know must not look like a yes. */
function kindOf(kind: string): PermissionOptionKind {
  return optionKinds.find(known => known === kind) ?? "reject_once";
}

function requestOf(sessionId: string, response: Callback<"onPermissionRequest">): RequestPermissionRequest {
  const { requestId, toolCallId = requestId, title, kind, detail, options } = response;
  const { diff } = detail;
  return {
    sessionId,
    toolCall: {
      toolCallId,
      title,
      kind: toolKind("", kind),
      status: "pending",
      rawInput: detail,
      ...(diff !== undefined && { content: [textContent(`\`\`\`diff\n${diff}\n\`\`\``)] }),
    },
    options: options.map(option => ({
      optionId: option.optionId,
      name: option.name,
      kind: kindOf(option.kind),
    })),
  };
}

/** A question with choices, in the only form that every editor supports. */
function questionOf(sessionId: string, response: Callback<"onQuestion">): RequestPermissionRequest {
  const { requestId, question, choices = [] } = response;
  return {
    sessionId,
    toolCall: { toolCallId: requestId, title: question, kind: "think" },
    options: choices.map(choice => ({ optionId: choice, name: choice, kind: "allow_once" })),
  };
}

function isResolution(
  response: StoredResponse,
): response is Callback<"onPermissionResolved" | "onQuestionResolved"> {
  return response.callback === "onPermissionResolved" || response.callback === "onQuestionResolved";
}

/** Passes the portal's requests to the editor. The website can answer them too: the first answer wins. */
export class Approvals {
  readonly #sessionId: string;
  readonly #portal: Portal;
  readonly #editor: Editor;
  readonly #log: Log;
  readonly #asked = new Map<string, AbortController>();

  constructor(sessionId: string, { portal, editor, log }: { portal: Portal; editor: Editor; log: Log }) {
    this.#sessionId = sessionId;
    this.#portal = portal;
    this.#editor = editor;
    this.#log = log;
  }

  /** A request of the session itself, or of one that a job has started. */
  receive(responses: readonly StoredResponse[]): void {
    const settled = new Set(responses.filter(isResolution).map(({ requestId }) => requestId));
    for (const response of responses) {
      if (isResolution(response)) this.#withdraw(response.requestId);
      else if (response.callback === "onPermissionRequest" || response.callback === "onQuestion") {
        const { requestId } = response;
        if (!settled.has(requestId) && !this.#asked.has(requestId)) void this.#ask(response);
      }
    }
  }

  withdrawAll(): void {
    for (const requestId of [...this.#asked.keys()]) this.#withdraw(requestId);
  }

  #withdraw(requestId: string): void {
    this.#asked.get(requestId)?.abort();
    this.#asked.delete(requestId);
  }

  async #ask(response: Callback<"onPermissionRequest" | "onQuestion">): Promise<void> {
    const { requestId } = response;
    const isQuestion = response.callback === "onQuestion";
    const request = isQuestion ? questionOf(this.#sessionId, response) : requestOf(this.#sessionId, response);
    // A question without choices appears as text and is answered on the website.
    if (isQuestion && request.options.length === 0) return;
    const withdrawn = new AbortController();
    this.#asked.set(requestId, withdrawn);
    try {
      const outcome = await this.#outcome(request, withdrawn.signal);
      if (!this.#asked.delete(requestId) || outcome === "gone") return;
      const body = (isQuestion ? questionAnswer : permissionAnswer)(requestId, outcome);
      if (body) await this.#portal.call("copilot/permission/answer", { body: JSON.stringify(body) });
    } catch (error) {
      this.#log.info({ error: String(error) }, "an answer came too late");
    }
  }

  /** "gone": the request is no longer pending. */
  async #outcome(
    request: RequestPermissionRequest,
    signal: AbortSignal,
  ): Promise<RequestPermissionResponse["outcome"] | "gone"> {
    const { context } = this.#editor;
    try {
      const options = { cancellationSignal: signal, stopWaitingOnCancel: true };
      return (await context.request("session/request_permission", request, options)).outcome;
    } catch (error) {
      if (signal.aborted) return "gone";
      this.#log.warn({ error: String(error) }, "the editor cannot ask its user");
      return { outcome: "cancelled" };
    }
  }
}

type Outcome = RequestPermissionResponse["outcome"];

function permissionAnswer(requestId: string, outcome: Outcome): object | undefined {
  return outcome.outcome === "selected"
    ? { requestId, optionId: outcome.optionId }
    : { requestId, deny: true };
}

/** A question that the editor drops can still be answered on the website. */
function questionAnswer(requestId: string, outcome: Outcome): object | undefined {
  return outcome.outcome === "selected" ? { requestId, answer: outcome.optionId } : undefined;
}
