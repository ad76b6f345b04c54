import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";

/** Every byte that a process writes, and its end. */
export function watchProcess(child: ChildProcessWithoutNullStreams) {
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", text => {
      output[name] += text;
    });
  const exited = once(child, "close").then(([code]) => code as number | null);
  return { output, exited };
}
