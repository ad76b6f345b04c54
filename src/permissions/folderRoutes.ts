import { namedNodeErrors, nodeQuery } from "../api/nodeQuery.js";
import { defineRoute, type Route } from "../api/route.js";
import { domainError, either, flag, list, object, oneOfTexts, text } from "../api/schemas.js";
import { checkWorkingDirectory } from "../base/workingDirectory.js";
import { permissionPolicies } from "./approvals.js";
import type { FolderChoices } from "./folderChoices.js";
import type { StartupGate } from "./startup/startupGate.js";

export interface FolderRouteParts {
  gate: StartupGate;
  choices: FolderChoices;
  /** Whether every node of the database sees the folder; absent without a database on a server. */
  isShared?: ((folder: string) => Promise<boolean>) | undefined;
  /** Whether agents can run in a sandbox here, and if not, why; and whether they do when nobody has chosen. */
  sandbox: { available(): Promise<{ available: boolean; why?: string }>; byDefault: boolean };
}

const folderBody = object({
  path: text,
  "permissions?": oneOfTexts(...permissionPolicies),
  "sandbox?": flag,
});
const folderAnswer = either(
  object({
    path: text,
    permissions: oneOfTexts(...permissionPolicies),
    remembered: flag,
    "shared?": flag,
    startup: list(
      object({
        file: text,
        sha256: text,
        runs: list(object({ when: text, command: text })),
        decision: oneOfTexts("allow", "reject", "ask"),
      }),
    ),
    sandbox: object({ available: flag, chosen: flag, "why?": text }),
  }),
  domainError("WorkingDirectoryNotAbsolutePath", "WorkingDirectoryNotExists", ...namedNodeErrors),
);

/** What the start form needs to know about a folder, and the choices that it saves. */
export function folderRoutes({ gate, choices, sandbox, isShared }: FolderRouteParts): Route[] {
  async function folderDocument(path: string) {
    await checkWorkingDirectory(path);
    const [chosen, startup, availability] = await Promise.all([
      choices.find(path),
      gate.files(path),
      sandbox.available(),
    ]);
    return {
      path,
      permissions: chosen.permissions ?? "ask",
      remembered: chosen.permissions !== null,
      ...((await isShared?.(path)) && { shared: true }),
      startup: startup.map(({ file, sha256, runs, decision }) => ({ file, sha256, runs, decision })),
      sandbox: {
        ...availability,
        chosen: availability.available && (chosen.sandbox ?? sandbox.byDefault),
      },
    };
  }

  return [
    defineRoute({
      path: "copilot/folder",
      methods: ["GET"],
      reads: true,
      summary: "What was chosen for a folder, and which of its files want to run something",
      query: { path: { type: "string", description: "The folder, an absolute path." }, ...nodeQuery },
      answers: { json: folderAnswer },
      handler: ({ query }) => folderDocument(query.path ?? ""),
    }),
    defineRoute({
      path: "copilot/folder",
      methods: ["POST"],
      summary: "Remember what was chosen for a folder",
      bodySchema: folderBody,
      query: nodeQuery,
      answers: { json: folderAnswer },
      handler: async ({ json: { path, ...choice } }) => {
        await checkWorkingDirectory(path);
        await choices.remember(path, choice);
        return folderDocument(path);
      },
    }),
  ];
}
