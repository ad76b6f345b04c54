import { chmodSync, lstatSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { NodeFS } from "@electric-sql/pglite/nodefs";

/** What everybody but the owner may do. */
const others = 0o077;

type Init = NodeFS["init"];

/** What the engine's file system does with a real folder; making a file, and giving it its mode afterwards. */
interface FolderOperations {
  mknod(parent: unknown, name: string, mode: number, device: number): unknown;
  setattr(node: unknown, attributes: { mode?: number }): unknown;
}

/**
 * A folder of files in which each new one belongs to its owner alone. The umask of the process would do the same, but
 * agents inherit it, and what they write into a repository is nobody's secret.
 */
export class OwnersFiles extends NodeFS {
  override async init(...args: Parameters<Init>): ReturnType<Init> {
    const { emscriptenOpts } = await super.init(...args);
    const restrict = (module: unknown) => {
      const operations = (module as { NODEFS: { node_ops: FolderOperations } }).NODEFS.node_ops;
      const { mknod, setattr } = operations;
      operations.mknod = (parent, name, mode, device) => mknod(parent, name, mode & ~others, device);
      operations.setattr = (node, { mode, ...rest }) =>
        setattr(node, mode === undefined ? rest : { ...rest, mode: mode & ~others });
    };
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [...(emscriptenOpts.preRun ?? []), restrict] } };
  }
}

/** Takes away what others may do with a folder and all in it: an older portal, or an archive, left it open. */
export function takeFromOthers(path: string): void {
  const stat = lstatSync(path);
  if (stat.isSymbolicLink()) return;
  if ((stat.mode & others) !== 0) chmodSync(path, stat.mode & 0o777 & ~others);
  if (stat.isDirectory()) for (const name of readdirSync(path)) takeFromOthers(join(path, name));
}

/** A folder for the owner alone, whoever writes into it and with whatever mode. */
export function ownersFolder(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  takeFromOthers(path);
  return path;
}
