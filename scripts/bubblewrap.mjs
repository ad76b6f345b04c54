// The tests of the sandbox need a working bwrap: the system's own, installed from its packages when it is missing.
import { spawnSync } from "node:child_process";
import { install, mayInstall } from "./packages.mjs";
import { SetupError } from "./setup.mjs";

const works = () =>
  spawnSync("bwrap", ["--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "true"], {
    encoding: "utf8",
  });

/** Throws a SetupError that says what is missing. */
export function needBubblewrap() {
  let tried = works();
  if (tried.error && mayInstall()) {
    install("bubblewrap", "Installing bubblewrap");
    tried = works();
  }
  if (tried.error)
    throw new SetupError(
      "The tests need Linux with bwrap. Install it (on Debian: apt-get install bubblewrap).",
    );
  if (tried.status !== 0)
    throw new SetupError(
      `The tests need a bwrap that works (${tried.stderr.trim()}). In a container, allow user namespaces: docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined, or --privileged.`,
    );
}
