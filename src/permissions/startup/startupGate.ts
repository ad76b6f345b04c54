import { PortalError } from "../../base/portalError.js";
import type { PermissionPolicy } from "../approvals.js";
import type { FolderChoices } from "../folderChoices.js";
import type { RuleStore } from "../ruleStore.js";
import {
  contentOf,
  type DecidedFile,
  decideStartup,
  linesOf,
  readBy,
  ruleFor,
  type StartupSwitches,
  switchesOf,
} from "./startup.js";
import { type StartupPlace, type StartupReader, startupPlaces } from "./startupPlaces.js";
import { scanStartup, startupFolders } from "./startupScan.js";

/** A session whose agent is about to start. */
export interface StartingSession {
  folder: string;
  policy: PermissionPolicy;
  /** The task that it belongs to: no user reads this session's notices. */
  owner: string | null;
  notice(title: string, text: string): void;
}

/** Valid for a session until its folder, its rules or its policy change. */
export interface StartupPermit extends StartupSwitches {
  /** Where its agent looked when it started. */
  folders: readonly string[];
  /** Equal for two permits under which the same things run. */
  key: string;
}

/** Decides what may run from a repository when an agent starts there, and tells the user once. */
export class StartupGate {
  readonly #rules: Pick<RuleStore, "rulesOf">;
  readonly #choices: FolderChoices;

  constructor(rules: Pick<RuleStore, "rulesOf">, choices: FolderChoices) {
    this.#rules = rules;
    this.#choices = choices;
  }

  async files(folder: string): Promise<DecidedFile[]> {
    return this.#decide(folder, await startupFolders(folder));
  }

  async #decide(folder: string, folders: readonly string[], places?: readonly StartupPlace[]) {
    const [files, rules] = await Promise.all([scanStartup(folders, places), this.#rules.rulesOf(folder)]);
    return decideStartup(files, rules);
  }

  /** For the Copilot runtime, which runs only what it is told to. */
  async openCopilot(session: StartingSession): Promise<StartupPermit> {
    const folders = await startupFolders(session.folder);
    const files = await this.#decide(session.folder, folders, copilotPlaces);
    await this.#tell(session, files, "They do not run.");
    return permitOf(files, session.policy, folders);
  }

  /** The permit as it would be now. Every request asks, so this looks only where the agent has looked. */
  async renewed(
    { folders }: StartupPermit,
    { folder, policy }: Pick<StartingSession, "folder" | "policy">,
  ): Promise<StartupPermit> {
    return permitOf(await this.#decide(folder, folders, copilotPlaces), policy, folders);
  }

  /** ACP agents read their own settings, whatever the portal says, so without permission they do not start here. */
  async openAcp(session: StartingSession, reader: StartupReader | undefined): Promise<void> {
    const open = readBy(await this.files(session.folder), reader).filter(
      ({ decision }) => decision !== "allow",
    );
    if (open.length === 0) return;
    if (session.policy === "allow-all") {
      await this.#tell(session, open, "This agent reads them by itself, and everything is allowed.");
      return;
    }
    const rules = open.filter(({ sha256 }) => sha256 !== "").map(file => ruleFor(file, "allow"));
    throw PortalError.explained(
      "StartupNotAllowed",
      [
        "Files in this folder run something as soon as this agent starts, and no rule allows them:",
        ...linesOf(open),
        `Allow them at ${pageOf(session.folder)} or with these rules, remove them, or start with permissions=allow-all:`,
        ...rules.slice(0, maxRules),
      ].join("\n"),
    );
  }

  async #tell({ folder, owner, notice }: StartingSession, files: readonly DecidedFile[], outcome: string) {
    const open = files.filter(({ decision }) => decision === "ask");
    if (open.length === 0) return;
    const content = contentOf(open);
    // A task's session logs the notice too, but that does not mean the user has seen it.
    const isNew =
      owner === null
        ? await this.#choices.tell(folder, content)
        : !(await this.#choices.wasTold(folder, content));
    if (!isNew) return;
    const lines = [...linesOf(open), `Decide at ${pageOf(folder)}`];
    notice(`Files in this folder want to run something. ${outcome}`, lines.join("\n"));
  }
}

const maxRules = 20;
const copilotPlaces = startupPlaces.filter(({ readers }) => readers.includes("copilot"));

const pageOf = (folder: string) => `permissions.html?${new URLSearchParams({ folder })}`;

function permitOf(
  files: readonly DecidedFile[],
  policy: PermissionPolicy,
  folders: readonly string[],
): StartupPermit {
  const switches = switchesOf(files, policy);
  const isOn = switches.hooks || switches.languageServers;
  const content = isOn ? contentOf(readBy(files, "copilot")) : "";
  return { ...switches, folders, key: JSON.stringify([switches, content]) };
}
