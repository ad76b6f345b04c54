import type {
  PermissionOption,
  PermissionOptionKind,
  RequestPermissionRequest,
  RequestPermissionResponse,
} from "@agentclientprotocol/sdk";
import type { Log } from "../base/log.js";
import type { Editor } from "./editor.js";
import type { AnyResponse } from "./feed.js";
import type { Portal } from "./portal.js";
import { toolKind } from "./toolLook.js";
import { textContent } from "./translator.js";

const optionKinds = ["allow_once", "allow_always", "reject_once", "reject_always"] as const;

/** A kind that the protocol does not know must not look like a yes. */
function kindOf(kind: unknown): PermissionOptionKind {
  return optionKinds.find(known => known === kind) ?? "reject_once";
}

function optionsOf(response: AnyResponse): PermissionOption[] {
  const options = Array.isArray(response.options) ? (response.options as AnyResponse[]) : [];
  return options.map(({ optionId, name, kind }) => ({
    optionId: String(optionId),
    name: String(name),
    kind: kindOf(kind),
  }));
}

function requestOf(sessionId: string, response: AnyResponse): RequestPermissionRequest {
  const { requestId, toolCallId, title, kind, detail } = response;
  const diff = typeof detail === "object" && detail !== null ? Reflect.get(detail, "diff") : undefined;
  return {
    sessionId,
    toolCall: {
      toolCallId: String(toolCallId ?? requestId),
      title: String(title),
      kind: toolKind("", kind),
      status: "pending",
      rawInput: detail,
      ...(typeof diff === "string" && { content: [textContent(`\`\`\`diff\n${diff}\n\`\`\``)] }),
    },
    options: optionsOf(response),
  };
}

/** A question with choices, in the only form in which every editor can ask one. */
function questionOf(sessionId: string, response: AnyResponse): RequestPermissionRequest {
  const choices = Array.isArray(response.choices) ? response.choices.map(String) : [];
  return {
    sessionId,
    toolCall: { toolCallId: String(response.requestId), title: String(response.question), kind: "think" },
    options: choices.map(choice => ({ optionId: choice, name: choice, kind: "allow_once" })),
  };
}

/** Asks the editor what the portal asks its user. On the website it can be answered too: who is first, decides. */
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

  /** Of the session itself, or of one that a job has started. */
  receive(responses: readonly AnyResponse[]): void {
    for (const response of responses) {
      const requestId = String(response.requestId);
      switch (response.callback) {
        case "onPermissionRequest":
        case "onQuestion": {
          const isSettled = responses.some(
            other => String(other.callback).endsWith("Resolved") && other.requestId === requestId,
          );
          if (!isSettled && !this.#asked.has(requestId)) void this.#ask(requestId, response);
          break;
        }
        case "onPermissionResolved":
        case "onQuestionResolved":
          this.#withdraw(requestId);
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

  async #ask(requestId: string, response: AnyResponse): Promise<void> {
    const isQuestion = response.callback === "onQuestion";
    const request = (isQuestion ? questionOf : requestOf)(this.#sessionId, response);
    // A question without choices is shown as text; it is answered on the website.
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

  /** "gone": nobody is asked any more. */
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
