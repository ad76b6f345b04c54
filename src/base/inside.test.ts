import assert from "node:assert/strict";
import { mkdir, mkdtemp, realpath, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { firstOutside, isInside, targetInside } from "./inside.js";

/** A folder beside a secret, with every kind of link that a repository can contain. */
let top: string;
let folder: string;

before(async () => {
  top = await realpath(await mkdtemp(join(tmpdir(), "inside-")));
  folder = join(top, "work");
  await mkdir(join(folder, "sub", "deep"), { recursive: true });
  await mkdir(join(top, "work-beside"));
  await mkdir(join(top, "elsewhere", "pkg"), { recursive: true });
  await writeFile(join(top, "secret"), "");
  await writeFile(join(folder, "file"), "");
  const link = (target: string, name: string) => symlink(target, join(folder, name));
  await link("sub", "in");
  await link(join(folder, "sub"), "in-absolute");
  await link("../elsewhere/pkg", "out");
  await link("../secret", "out-file");
  await link("../not-yet", "dangling-out");
  await link("sub/not-yet", "dangling-in");
  await link("sub/../../secret", "out-by-dots");
  await link("sub/deep/../..", "to-itself");
  await link("loop-b", "loop-a");
  await link("loop-a", "loop-b");
  await link("/proc/self/cwd", "own-folder");
  await link("in", "twice");
  await symlink(folder, join(top, "named"));
});

const inside: [path: string, leadsTo: string, why: string][] = [
  ["file", "file", "a plain file"],
  ["./sub//deep/", "sub/deep", "empty names and dots change nothing"],
  ["sub/deep/../deep", "sub/deep", "`..` after real folders means what it says"],
  ["new/a/b", "new/a/b", "a new file would be created there"],
  ["in/deep", "sub/deep", "a link may lead elsewhere in the folder"],
  ["in-absolute/x", "sub/x", "a link may be absolute and lead elsewhere in the folder"],
  ["twice/deep", "sub/deep", "a link may lead through another link"],
  ["dangling-in", "sub/not-yet", "writing through the link creates a file inside"],
  ["to-itself/file", "file", "the kernel resolves `..` inside a link"],
  ["", "", "the folder itself"],
  ["a\nb", "a\nb", "a name may contain any character"],
  ["...", "...", "three dots are a name"],
];

const outside: [path: string, why: string][] = [
  ["..", "the folder above"],
  ["../work-beside", "a name that begins like the folder's"],
  ["../secret", "a file beside the folder"],
  ["sub/../../secret", "a file beside the folder, by a detour"],
  ["/etc/passwd", "an absolute path"],
  ["out", "a link that leads out"],
  ["out/x/y", "a new path behind a link that leads out"],
  ["out-file", "a link to a file outside"],
  ["dangling-out", "writing through the link would create a file outside"],
  ["dangling-out/x", "a folder would be created outside"],
  ["out-by-dots", "a link that leads out through its own `..`"],
  ["in/../file", "`..` after a link is ambiguous, though both readings stay inside here"],
  ["out/../../work/file", "`..` after a link that leads out and in again"],
  ["in/../../secret", "one reading leads out"],
  ["new/../file", "`new` may be a link by the time it is read"],
  ["loop-a", "a link that leads to itself"],
  ["file/x", "a file is not a folder"],
  ["own-folder/file", "what /proc shows depends on the process that asks"],
  ["/proc/self/root/etc/passwd", "a path in /proc by its name"],
  ["/dev/fd/3", "open files depend on the process that asks"],
  ["~/x", "a shell would insert the home folder"],
  ["~root/x", "a shell would insert another user's home folder"],
  ["file:///etc/passwd", "an address, not a path"],
  ["FILE:sub/x", "an address in another letter case"],
  ["https://example.com/x", "another kind of address"],
  ["file\0", "a name that ends earlier than it looks"],
  [`${"a/".repeat(50_000)}x`, "50,000 names"],
  ["x".repeat(300), "a name that is too long for the file system"],
];

describe("Whether a path is inside a folder", () => {
  for (const [path, leadsTo, why] of inside)
    it(`${JSON.stringify(path)} counts as inside: ${why}`, async () => {
      assert.equal(await targetInside(folder, path), join(folder, leadsTo).replace(/\/$/, ""));
    });

  for (const [path, why] of outside)
    it(`${JSON.stringify(path.slice(0, 60))} does not count as inside: ${why}`, async () => {
      assert.equal(await isInside(folder, path), false);
    });

  it("an absolute path may use either name of a folder that is itself a link", async () => {
    const named = join(top, "named");
    assert.equal(await targetInside(named, join(named, "sub", "..", "file")), join(folder, "file"));
    assert.equal(await targetInside(named, join(folder, "file")), join(folder, "file"));
    assert.equal(await isInside(named, join(top, "secret")), false);
  });

  it("nothing counts as inside a folder that no longer exists", async () => {
    assert.equal(await isInside(join(top, "gone"), "x"), false);
  });

  it("the first path that leads out is named", async () => {
    assert.equal(await firstOutside(folder, ["file", "out/x", "../secret"]), "out/x");
    assert.equal(await firstOutside(folder, ["file", "in/deep"]), undefined);
  });
});
