import { RequestError } from "@agentclientprotocol/sdk";
import { messageOf } from "../base/messageOf.js";

/** For errors that scripts expect, the portal gives only a name. */
const sentences: Readonly<Record<string, string>> = {
  WorkingDirectoryNotAbsolutePath: "cwd must be an absolute path",
  WorkingDirectoryNotExists: "cwd must be a folder that exists",
  ModelIdNotFound: "This model no longer exists",
  TaskNotFound: "There is no such task.",
  JobNotFound: "There is no such job.",
  UserInputRequired: "It needs an input.",
};

/** The portal refused the call. */
export class PortalRefusal extends Error {
  readonly code: string;
  /** The portal is starting or stopping. */
  readonly isTemporary: boolean;

  constructor(code: string, message: string | undefined, status = 200) {
    super(message ?? sentences[code] ?? code);
    this.code = code;
    this.isTemporary = status >= 500;
  }
}

/** No one answers, or not as a portal would. */
export class PortalGone extends Error {}

/** A failed turn, with the agent's reason. */
export class TurnFailed extends Error {}

/** What the editor offers when the user is not signed in: it runs this program with `--login` in a terminal. */
export const loginMethod = {
  type: "terminal" as const,
  id: "copilot-login",
  name: "Sign in to GitHub Copilot",
  description: "Runs `copilot login` in a terminal. `gh auth login` or GH_TOKEN work as well.",
  args: ["--login"],
};

const internalError = -32603;
const invalidParams = -32602;
const authRequired = -32000;

/** Portal errors caused by the editor's input. */
const badArguments = new Set([
  "ModelIdNotFound",
  "WorkingDirectoryNotAbsolutePath",
  "WorkingDirectoryNotExists",
  "WorkingDirectoryNotReadable",
  "BodyTooLarge",
  "BodyInvalid",
  "InvalidValue",
  "NotSupported",
  "ArgumentInvalid",
]);
const signIn =
  /not signed in|refused your sign-in|authentication required|not authenticated|authentication info|copilot login/i;

export function isSignInProblem(code: string, message: string): boolean {
  return code === "AgentAuthenticationRequired" || signIn.test(message);
}

/** An error of the caller, as one sentence. */
export function invalid(message: string): RequestError {
  return new RequestError(invalidParams, message);
}

/** The JSON-RPC error for any error. */
export function rpcError(error: unknown, sessionId?: string): RequestError {
  if (error instanceof RequestError) return error;
  const message = messageOf(error);
  const code = error instanceof PortalRefusal ? error.code : "";
  if (code === "SessionNotFound" && sessionId !== undefined) return RequestError.sessionNotFound(sessionId);
  const isKnown = error instanceof PortalRefusal || error instanceof TurnFailed;
  if (isKnown && isSignInProblem(code, message))
    return new RequestError(authRequired, message, { authMethods: [loginMethod] });
  return new RequestError(badArguments.has(code) ? invalidParams : internalError, message);
}
