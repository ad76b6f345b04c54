/**
 * Git's paths are bytes. Inside the room they are texts with one character for each byte (Latin-1), so that none is
 * lost; outside they are readable texts.
 */
export type GitPath = string;

/** As JSON and pages show it: the text itself, or git's quoted form for bytes that are no text. */
export function shownPath(path: GitPath): string {
  const bytes = Buffer.from(path, "latin1");
  const text = bytes.toString("utf8");
  if (!text.startsWith('"') && Buffer.from(text, "utf8").equals(bytes)) return text;
  const quoted = path.replace(
    /[^\x20\x21\x23-\x5b\x5d-\x7e]/g,
    byte => `\\${byte.charCodeAt(0).toString(8).padStart(3, "0")}`,
  );
  return `"${quoted}"`;
}

/** The reverse of `shownPath`. */
export function gitPath(shown: string): GitPath {
  const quoted = /^"((?:[^"\\]|\\[0-7]{3})*)"$/.exec(shown)?.[1];
  if (quoted === undefined) return Buffer.from(shown, "utf8").toString("latin1");
  return quoted.replace(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
}

/** A file of the disk, by the bytes of its name. */
export function diskPath(root: string, path: GitPath): Buffer {
  return Buffer.concat([Buffer.from(`${root}/`, "utf8"), Buffer.from(path, "latin1")]);
}

/** Whether git can take it as an argument: those of a process are texts. */
export function isArgument(path: GitPath): boolean {
  const bytes = Buffer.from(path, "latin1");
  return Buffer.from(bytes.toString("utf8"), "utf8").equals(bytes);
}

/** The items of git's output with `-z`. */
export function nulSeparated(output: Buffer): GitPath[] {
  return output.toString("latin1").split("\0").slice(0, -1);
}
