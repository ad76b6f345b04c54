import type { SessionCallbacks } from "../../copilotSession.js";

const nothing = () => {};

/** For a session that nobody watches. */
export const silentCallbacks: SessionCallbacks = {
  onStartReasoning: nothing,
  onReasoning: nothing,
  onEndReasoning: nothing,
  onStartMessage: nothing,
  onMessage: nothing,
  onEndMessage: nothing,
  onStartToolExecution: nothing,
  onToolExecution: nothing,
  onEndToolExecution: nothing,
  onAgentStart: nothing,
  onAgentEnd: nothing,
  onIdle: nothing,
};
