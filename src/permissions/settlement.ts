import type { Callback, PermissionOption, SettledBy } from "../live/callbacks.js";
import type { Effect } from "./rules.js";

export type PermissionPolicy = "allow-all" | "ask" | "deny";
export const permissionPolicies: readonly PermissionPolicy[] = ["allow-all", "ask", "deny"];

/** Who or what settled a request, and how. */
export interface Settled {
  by: Exclude<SettledBy, "restart">;
  /** Absent: nobody decided, or the user chose an option that neither allows nor rejects. */
  effect?: Effect | undefined;
  /** The option that the user chose. */
  option?: PermissionOption | undefined;
  /** The rules that decided, or that are remembered from now on. */
  rules?: readonly string[] | undefined;
  reason?: string | undefined;
  /** The answer to a question. */
  answer?: string;
}

export interface Decision {
  allowed: boolean;
  by: Settled["by"];
  /** What the agent is told. */
  reason?: string;
  /** One of the options that the agent offered; absent: the request is cancelled. */
  optionId?: string;
}

/** The options on a card when the agent sends none of its own. */
export function ownOptions(
  allowRules: readonly string[],
  rejectRules: readonly string[],
): PermissionOption[] {
  const always = (kind: string, name: string, rules: readonly string[]) =>
    rules.length > 0 ? [{ optionId: kind, kind, name, rules }] : [];
  return [
    { optionId: "allow_once", kind: "allow_once", name: "Allow once" },
    ...always("allow_always", "Always allow", allowRules),
    { optionId: "reject_once", kind: "reject_once", name: "Reject" },
    ...always("reject_always", "Always reject", rejectRules),
  ];
}

const kindsOf: Readonly<Record<Effect, readonly string[]>> = {
  allow: ["allow_once", "allow_always"],
  reject: ["reject_once", "reject_always"],
};

export function effectOf({ kind }: PermissionOption): Effect | undefined {
  return (["allow", "reject"] as const).find(effect => kindsOf[effect].includes(kind));
}

/** Chooses by kind, never by id, name or position; a lasting option only when there is no other. */
export function optionFor(
  options: readonly PermissionOption[],
  effect: Effect,
): PermissionOption | undefined {
  return kindsOf[effect].map(kind => options.find(option => option.kind === kind)).find(option => option);
}

/** `offered` are the agent's own options: when none fits, nothing is decided. */
export function decisionOf(
  { by, effect, option, reason }: Settled,
  offered: readonly PermissionOption[] | undefined,
): Decision {
  const chosen = option ?? (effect && offered && optionFor(offered, effect));
  return {
    allowed: effect === "allow" && (offered === undefined || chosen !== undefined),
    by,
    ...(reason !== undefined && { reason }),
    ...(offered && chosen && { optionId: chosen.optionId }),
  };
}

/** The live log's record of how a permission request was settled. */
export function permissionResolved(
  requestId: string,
  { by, effect, option, rules, reason }: Settled,
): Callback<"onPermissionResolved"> {
  const undecided = option ? "answered" : "cancelled";
  const decision = effect === "allow" ? "allowed" : effect === "reject" ? "rejected" : undecided;
  const optionId = option?.optionId;
  return { callback: "onPermissionResolved", requestId, decision, by, optionId, rules, reason };
}

/** The same for any request. */
export function resolutionOf(
  { callback, requestId }: Callback<"onPermissionRequest" | "onQuestion">,
  settled: Settled,
): Callback<"onPermissionResolved" | "onQuestionResolved"> {
  if (callback === "onPermissionRequest") return permissionResolved(requestId, settled);
  const { by, answer } = settled;
  return { callback: "onQuestionResolved", requestId, by, answer };
}
