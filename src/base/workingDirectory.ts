import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { PortalError } from "./portalError.js";

/** The folder in which an agent works must have an unambiguous name, exist and be readable. */
export async function checkWorkingDirectory(path: string): Promise<void> {
  if (!isAbsolute(path) || path.includes("\0"))
    throw PortalError.domain(
      "WorkingDirectoryNotAbsolutePath",
      `${JSON.stringify(path)} is not an absolute path.`,
    );
  const found = await stat(path).catch(() => undefined);
  if (!found?.isDirectory())
    throw PortalError.domain(
      "WorkingDirectoryNotExists",
      found ? `${path} is a file, not a folder.` : `The folder ${path} does not exist.`,
    );
  await access(path, constants.R_OK | constants.X_OK).catch(() => {
    throw PortalError.malformed("WorkingDirectoryNotReadable", `The portal may not read the folder ${path}.`);
  });
}
