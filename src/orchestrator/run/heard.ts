import type { AgentSession, SessionCallbacks } from "../../copilotSession.js";
import { silentCallbacks } from "./silentCallbacks.js";

/** What an agent's session has said so far. */
export interface Heard {
  /** The text of the last message. */
  readonly text: string;
  /** The Copilot runtime's name of the model. */
  readonly model: string | undefined;
  readonly authFailed: boolean;
  /** The caller's callbacks, recorded on the way. */
  readonly callbacks: SessionCallbacks;
  /** For events without a callback. */
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
          // A last message without text is not an answer, whatever came before.
          if (event.data.content === "") text = "";
          model = event.data.model ?? model;
        } else if (event.type === "session.error") {
          authFailed = event.data.errorType === "authentication";
        }
      });
    },
  };
}
