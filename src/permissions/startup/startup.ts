import { createHash } from "node:crypto";
import type { PermissionPolicy } from "../approvals.js";
import { type Effect, type Rule, ruleText } from "../rules.js";
import type { StartupReader } from "./startupPlaces.js";
import type { StartupFile } from "./startupScan.js";

/** What the Copilot runtime may run from a repository by itself. */
export interface StartupSwitches {
  /** Commands in `.github/hooks` and in the settings beside it, at each session, request and tool call. */
  hooks: boolean;
  /** Programs in `.github/lsp.json`. Their tool never asks, not even before it renames. */
  languageServers: boolean;
}

export type StartupDecision = Effect | "ask";

export interface DecidedFile extends StartupFile {
  decision: StartupDecision;
}

/** What the rules of a folder say about each file; a rule applies to this content only, and rejecting rules win. */
export function decideStartup(files: readonly StartupFile[], rules: readonly Rule[]): DecidedFile[] {
  return files.map(file => {
    const about = rules.filter(
      ({ about, words: [path, sha256] }) =>
        about === "startup" && path === file.file && file.sha256 !== "" && sha256 === file.sha256,
    );
    const rejected = about.some(({ effect }) => effect === "reject");
    return { ...file, decision: rejected ? "reject" : about.length > 0 ? "allow" : "ask" };
  });
}

/** The files that this agent reads; an unknown agent may read all of them. */
export function readBy(files: readonly DecidedFile[], reader: StartupReader | undefined): DecidedFile[] {
  return reader === undefined ? [...files] : files.filter(({ readers }) => readers.includes(reader));
}

/**
 * The runtime has one switch for all files, so all have to be allowed. Its tool for language servers never asks, so it
 * is on only where the user does not want to be asked.
 */
export function switchesOf(files: readonly DecidedFile[], policy: PermissionPolicy): StartupSwitches {
  const read = readBy(files, "copilot");
  const allAllowed = read.every(({ decision }) => decision === "allow");
  return { hooks: allAllowed && read.length > 0, languageServers: allAllowed && policy === "allow-all" };
}

/** Changes when something else would run. */
export function contentOf(files: readonly StartupFile[]): string {
  return createHash("sha256")
    .update(JSON.stringify(files.map(({ file, sha256, runs }) => [file, sha256 || runs])))
    .digest("hex");
}

const maxTold = 10;

/** The files and their commands, one to a line, each bounded. */
export function linesOf(files: readonly StartupFile[]): string[] {
  const lines = files
    .slice(0, maxTold)
    .flatMap(({ file, runs }) =>
      runs.slice(0, maxTold).map(({ when, command }) => `${shownPath(file)} runs ${when}: ${command}`),
    );
  const more = files.length - maxTold;
  return more > 0 ? [...lines, `and ${more} more files`] : lines;
}

const maxPathChars = 200;

function shownPath(file: string): string {
  const shown = JSON.stringify(file.slice(0, maxPathChars)).slice(1, -1);
  return shown.replace(/[\p{Cf}\p{Zl}\p{Zp}]/gu, "�");
}

export function ruleFor({ file, sha256 }: StartupFile, effect: Effect): string {
  return ruleText({ effect, about: "startup", words: [file, sha256] });
}
