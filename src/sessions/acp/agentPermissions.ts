import type { SessionPermissions } from "../../permissions/approvals.js";
import { optionFor } from "../../permissions/settlement.js";
import type { AgentSettings } from "./agentSettings.js";
import type { Fields } from "./fields.js";
import { isJobTool, optionsOf, outcomeOf, toolCallOf } from "./permissionRequest.js";
import { requestedAction } from "./requestedAction.js";
import type { UpdateMapper } from "./updates.js";

export interface AgentPermissionsOptions {
  settings: AgentSettings;
  workingDirectory: string;
  permissions: SessionPermissions;
  mapper: UpdateMapper;
  /** Sends a request in the user's name. */
  say(text: string): void;
  warn(text: string): void;
}

/** More cards than anyone reads. */
export const maxWaiting = 50;

/** An agent's permission requests, answered by the job tools, the policy, the rules or the user. */
export class AgentPermissions {
  readonly #options: AgentPermissionsOptions;
  #waiting = 0;
  #hasWarned = false;

  constructor(options: AgentPermissionsOptions) {
    this.#options = options;
  }

  beginTurn(): void {
    this.#hasWarned = false;
  }

  /** `hasTools` says whether the agent has found the job tools. */
  async answer(params: Fields, hasTools: boolean, signal: AbortSignal): Promise<object> {
    if (this.#waiting >= maxWaiting) return this.#tooMany();
    this.#waiting++;
    try {
      return await this.#decide(params, hasTools, signal);
    } finally {
      this.#waiting--;
    }
  }

  async #decide(params: Fields, hasTools: boolean, signal: AbortSignal): Promise<object> {
    const { permissions, settings, mapper, workingDirectory, say } = this.#options;
    const toolCall = toolCallOf(params);
    const options = optionsOf(params.options);
    const announced = mapper.announcements(toolCall.toolCallId);
    const toolCallId = mapper.toolFor(toolCall);
    if (isJobTool(toolCall, announced.calls, hasTools))
      return outcomeOf(optionFor(options, "allow")?.optionId);
    const action = requestedAction(params, toolCall, announced, workingDirectory);
    const decision = await permissions.permission(
      { ...action, ...(toolCallId !== undefined && { toolCallId }) },
      { options, timeoutMs: settings.permissionTimeoutMs, signal },
    );
    // The protocol has no place for a reason, so it becomes the next request.
    if (decision.by === "user" && decision.reason !== undefined) say(decision.reason);
    return outcomeOf(decision.optionId);
  }

  #tooMany(): object {
    if (!this.#hasWarned)
      this.#options.warn(`The agent asks more than ${maxWaiting} times at once; it gets no more answers.`);
    this.#hasWarned = true;
    return outcomeOf(undefined);
  }
}
