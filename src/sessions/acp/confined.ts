import { isAbsolute } from "node:path";
import { targetInside } from "../../base/inside.js";
import { errorCode, RpcError } from "./rpcPeer.js";

/** The real path of what an agent names, if it is inside the folder after following links. */
export async function confined(folder: string, path: unknown): Promise<string> {
  if (typeof path !== "string" || !isAbsolute(path))
    throw new RpcError(errorCode.invalidParams, "path must be an absolute path");
  const target = await targetInside(folder, path);
  if (target !== undefined) return target;
  throw new RpcError(errorCode.invalidParams, `${path.slice(0, 200)} is outside the working directory`);
}
