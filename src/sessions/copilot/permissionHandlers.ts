import type { PermissionHandler, SessionConfig } from "@github/copilot-sdk";
import type { Action } from "../../permissions/action.js";
import type { Decision, Question } from "../../permissions/approvals.js";
import { actionOf } from "./permissionAction.js";

type UserInputHandler = NonNullable<SessionConfig["onUserInputRequest"]>;

export function permissionHandler(decide: (action: Action) => Promise<Decision>): PermissionHandler {
  return async request => {
    const { allowed, reason } = await decide(actionOf(request));
    if (allowed) return { kind: "approve-once" };
    return { kind: "reject", ...(reason !== undefined && { feedback: reason }) };
  };
}

export function questionHandler(ask: (question: Question) => Promise<string>): UserInputHandler {
  return async ({ question, choices, allowFreeform = true }) => {
    // A question without choices can only be answered with free text.
    const free = allowFreeform || !choices?.length;
    const answer = await ask({ question, allowFreeform: free, ...(choices?.length && { choices }) });
    return { answer, wasFreeform: !choices?.includes(answer) };
  };
}
