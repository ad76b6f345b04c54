import { chmodSync, fsyncSync, lstatSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { NodeFS } from "@electric-sql/pglite/nodefs";
import { syncFolder } from "./diskSync.js";

/** The permissions of everybody but the owner. */
const others = 0o077;

type Init = NodeFS["init"];

/** The operations of the engine's file system that create a file or set its mode. */
interface FolderOperations {
  mknod(parent: unknown, name: string, mode: number, device: number): unknown;
  setattr(node: unknown, attributes: { mode?: number }): unknown;
}

/** An open file of the engine; folders have no descriptor. */
interface EngineStream {
  nfd?: number;
  node: unknown;
}

interface FolderFileSystem {
  node_ops: FolderOperations;
  stream_ops: { fsync?(stream: EngineStream): number };
  realPath(node: unknown): string;
  convertNodeCode(error: unknown): number;
}

/**
 * A folder in which only the owner can read new files. The umask of the process would do the same, but agents inherit
 * it, and the files that they write to a repository are not secret.
 * A sync by the engine really reaches the disk: PGlite's own file system ignores it, and a power cut would then lose
 * what was acknowledged.
 */
export class OwnersFiles extends NodeFS {
  override async init(...args: Parameters<Init>): ReturnType<Init> {
    const { emscriptenOpts } = await super.init(...args);
    const restrict = (module: unknown) => {
      const files = (module as { NODEFS: FolderFileSystem }).NODEFS;
      files.stream_ops.fsync = stream => synced(files, stream);
      const operations = files.node_ops;
      const { mknod, setattr } = operations;
      operations.mknod = (parent, name, mode, device) => mknod(parent, name, mode & ~others, device);
      operations.setattr = (node, { mode, ...rest }) =>
        setattr(node, mode === undefined ? rest : { ...rest, mode: mode & ~others });
    };
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [...(emscriptenOpts.preRun ?? []), restrict] } };
  }
}

/** Returns the engine's error number, 0 for none. */
function synced(files: FolderFileSystem, { nfd, node }: EngineStream): number {
  try {
    if (nfd !== undefined) fsyncSync(nfd);
    else syncFolder(files.realPath(node));
    return 0;
  } catch (error) {
    return files.convertNodeCode(error);
  }
}

/** Removes the permissions of others from a folder and all in it, which an older portal or an archive left open. */
export function takeFromOthers(path: string): void {
  const stat = lstatSync(path);
  if (stat.isSymbolicLink()) return;
  if ((stat.mode & others) !== 0) chmodSync(path, stat.mode & 0o777 & ~others);
  if (stat.isDirectory()) for (const name of readdirSync(path)) takeFromOthers(join(path, name));
}

/** A folder for the owner alone, whatever modes its files have. */
export function ownersFolder(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  takeFromOthers(path);
  return path;
}
