import type { AgentSession, SessionCallbacks } from "../../copilotSession.js";
import { silentCallbacks } from "./silentCallbacks.js";

/** What an agent's session has said so far. */
export interface Heard {
  /** Of the last message. */
  readonly text: string;
  /** As the Copilot runtime names it. */
  readonly model: string | undefined;
  readonly authFailed: boolean;
  /** Those of the caller, overheard. */
  readonly callbacks: SessionCallbacks;
  /** For what no callback tells. */
  listen(session: Pick<AgentSession, "rawSection">): void;
}

export function heardFrom(callbacks: SessionCallbacks = silentCallbacks): Heard {
  let text = "";
  let model: string | undefined;
  let authFailed = false;
  return {
    get text() {
      return text;
    },
    get model() {
      return model;
    },
    get authFailed() {
      return authFailed;
    },
    callbacks: {
      ...callbacks,
      onEndMessage(id, completeContent, interrupted) {
        text = completeContent;
        callbacks.onEndMessage(id, completeContent, interrupted);
      },
    },
    listen({ rawSection }) {
      rawSection?.on(event => {
        if (event.agentId) return;
        if (event.type === "assistant.message") {
          // A last message without text is no answer, whatever was said before.
          if (event.data.content === "") text = "";
          model = event.data.model ?? model;
        } else if (event.type === "session.error") {
          authFailed = event.data.errorType === "authentication";
        }
      });
    },
  };
}
