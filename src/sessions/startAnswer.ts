import { domainError, either, object, text } from "../api/schemas.js";

/** What starting a session answers, by whichever route. */
export const startAnswer = either(
  object({ sessionId: text }),
  domainError(
    "ModelIdNotFound",
    "WorkingDirectoryNotAbsolutePath",
    "WorkingDirectoryNotExists",
    "AgentNotAvailable",
    "AgentStartTimeout",
    "AgentProtocolMismatch",
    "AgentAuthenticationRequired",
    "AgentError",
    "StartupNotAllowed",
    "SandboxNotAvailable",
    "GitNotFound",
    "NoRepository",
    "NoCommit",
    "WorktreeFailed",
  ),
);
