import { Slots } from "../../base/slots.js";
import { OrchestratorError } from "../orchestratorError.js";

const maxWaiting = 32;

/** Limits how many agents run at once. */
export function agentSlots(limit: number): Slots {
  const details = `${maxWaiting} agents wait already; try again later.`;
  const refusal = () => OrchestratorError.failed("The server is busy.", details);
  return new Slots(limit, { maxWaiting, refusal });
}
