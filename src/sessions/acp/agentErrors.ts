import { PortalError } from "../../base/portalError.js";
import { errorText } from "../copilot/errorText.js";
import type { LinkEnd } from "./agentLink.js";
import type { AgentSettings } from "./agentSettings.js";
import { fieldsOf, listOf, textOf } from "./fields.js";
import { errorCode, NoAnswer, RpcError } from "./rpcPeer.js";

/** What an error message is made from. */
export interface ErrorContext {
  settings: AgentSettings;
  /** As the agent gave them in its handshake. */
  authMethods: readonly unknown[];
  secrets: readonly string[];
}

const maxDetailChars = 4000;
const copilotLogin =
  "Run `copilot login` (or sign in with `gh auth login`, or set a token variable), then try again.";
const installHints: Readonly<Record<string, string>> = {
  copilot: "Install it with `npm install -g @github/copilot`.",
  gemini: "Install it with `npm install -g @google/gemini-cli`.",
  "claude-agent-acp": "Install it with `npm install -g @agentclientprotocol/claude-agent-acp`.",
  "codex-acp": "Install it with `npm install -g @agentclientprotocol/codex-acp`.",
  opencode: "Install it with `npm install -g opencode-ai`.",
};
const programOf = (command = "") => (command.split(/[\\/]/).at(-1) ?? "").replace(/\.\w+$/, "");

/** How the user signs in: as the settings say, else as the agent advertises it. */
function signInInstruction({ settings, authMethods }: ErrorContext): string {
  if (settings.loginHint !== undefined) return settings.loginHint;
  const methods = authMethods.map(fieldsOf);
  const terminal = methods.find(({ type }) => type === "terminal");
  if (terminal && settings.command !== undefined) {
    const command = [settings.command, ...listOf(terminal.args).filter(arg => typeof arg === "string")].join(
      " ",
    );
    return `Run \`${command}\` in a terminal, then try again.`;
  }
  const described = methods.map(({ description }) => textOf(description)).find(text => text);
  if (described) return `${described}, then try again.`;
  return programOf(settings.command) === "copilot"
    ? copilotLogin
    : "Sign in with the agent's own command line program, then try again.";
}

/** A longer message says nothing more about what is missing. */
const maxReadChars = 2000;

/** Agents answer differently for a session that they do not know. */
export function isUnknownSession(error: unknown): boolean {
  if (!(error instanceof RpcError)) return false;
  if (error.code !== errorCode.invalidParams && error.code !== errorCode.notFound) return false;
  const { sessionId, message, details } = fieldsOf(error.data);
  const text = [error.message, message, details, error.data]
    .filter(part => typeof part === "string")
    .join(" ")
    .slice(0, maxReadChars);
  if (
    /session\b.*(not found|unknown|no such|does not exist)|(not found|unknown|no such)\b.*session/i.test(text)
  )
    return true;
  return sessionId !== undefined && !/already/i.test(text);
}

/** The portal's error for a failed call. The code decides; the text only shows whether a session is unknown. */
export function callError(error: unknown, context: ErrorContext): Error {
  const { settings, secrets } = context;
  if (error instanceof NoAnswer)
    return PortalError.explained(
      error.kind === "closed" ? "AgentNotAvailable" : "AgentError",
      `${settings.title} ${error.message}.`,
    );
  if (!(error instanceof RpcError)) return error instanceof Error ? error : new Error(String(error));
  const said = errorText(error.message, secrets);
  if (error.code === errorCode.authRequired)
    return PortalError.explained(
      "AgentAuthenticationRequired",
      `${settings.title} is not signed in. ${errorText(signInInstruction(context), secrets)}`,
    );
  if (isUnknownSession(error))
    return PortalError.explained(
      "AgentSessionNotFound",
      `${settings.title} does not know this session: ${said}`,
    );
  const { message, details } = fieldsOf(error.data);
  const more = (textOf(error.data) ?? textOf(details) ?? textOf(message))?.slice(0, maxDetailChars);
  const detail = more === undefined || said.includes(more) ? "" : `\n${errorText(more, secrets)}`;
  return PortalError.explained("AgentError", `${settings.title}: ${said} (code ${error.code})${detail}`);
}

/** The agent is unavailable: it could not be started, or it left. */
export function goneError(end: LinkEnd, stderr: readonly string[], settings: AgentSettings): PortalError {
  const { title, command } = settings;
  const hint = settings.installHint ?? installHints[programOf(command)];
  const summary = end.notFound
    ? `${title}: the program ${JSON.stringify(command)} ${end.reason}.${hint ? ` ${hint}` : ""}`
    : `${title} ${end.reason}.`;
  return PortalError.explained("AgentNotAvailable", withDetails(summary, stderr));
}

/** A summary, then the agent's last output on stderr. */
function withDetails(summary: string, stderr: readonly string[]): string {
  return [summary, ...stderr.filter(line => line.trim() !== "").slice(-5)].join("\n");
}
