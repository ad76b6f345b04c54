/** The files that a difference or a patch names, and why there may be more. */
export interface PatchFiles {
  readonly paths: readonly string[];
  readonly problem?: string;
}

const path = String.raw`([^"\t]+?)(?:\t[^"]*)?`;
/** Headers that name a file. */
const naming = [
  new RegExp(`^(?:---|\\+\\+\\+) ${path}$`),
  /^(?:rename|copy) (?:from|to) ([^"]+)$/,
  /^\*\*\* (?:(?:Add|Update|Delete) File|Move to): ([^"]+)$/,
];
/** Git names both sides; where they differ, other headers name them again. */
const gitHeader = /^diff --git a\/([^"]+) b\/([^"]+)$/;
/** Headers that name no file. A mode other than a plain file's makes a link or a program. */
const silent = [
  /^index [0-9a-f]+\.\.[0-9a-f]+(?: 100(?:644|755))?$/,
  /^(?:new|create) file mode 100644$/,
  /^deleted? file mode 100(?:644|755)$/,
  /^(?:dis)?similarity index \d+%$/,
  /^\*\*\* (?:Begin Patch|End Patch|End of File)$/,
  /^@@/,
  /^={3,}$/,
];
/** Lines of the text itself. */
const body = /^(?:[ +-]|\\ |$)/;
/** Patch programs also accept indented headers. */
const hiddenHeader = /^\s+(?:---|\+\+\+|\*\*\*|@@|diff |index:|rename |copy )/i;

const doubt = (line: string) => `Its difference has a line that may name other files: ${line.slice(0, 100)}`;

/** Reads every line; an unknown line may be the header of a format that names files differently. */
export function patchFiles(patch: string): PatchFiles {
  const paths: string[] = [];
  let problem: string | undefined;
  for (const line of patch.split(/\r?\n/)) {
    const named = naming.map(form => form.exec(line)?.[1]).find(found => found !== undefined);
    const both = named === undefined ? gitHeader.exec(line) : null;
    const found = both ? both.slice(1) : named === undefined ? [] : [named];
    for (const name of found) paths.push(...(both ? [name] : readings(name)));
    // Patch programs differ in how many leading names they strip.
    const isAmbiguous =
      (both !== null && line.split(" b/").length > 2) ||
      found.some(name => /[^/]\/\.\.(?:\/|$)/.test(name.replace(/^[ab]\//, "")));
    const isKnown = found.length > 0 || silent.some(form => form.test(line)) || isText(line);
    if (!isKnown || isAmbiguous) problem ??= doubt(line);
  }
  const kept = paths
    .map(name => name.trim())
    .filter(name => name !== "" && name !== "/dev/null" && name !== "dev/null");
  return { paths: kept, ...(problem !== undefined && { problem }) };
}

/** Patch programs may strip the first name of a path, whatever it is. */
function readings(name: string): string[] {
  if (/^[ab]\/./.test(name)) return [name.slice(2)];
  const slash = name.indexOf("/");
  return slash > 0 ? [name, name.slice(slash + 1)] : [name];
}

/** An unreadable header is not text either. */
function isText(line: string): boolean {
  return body.test(line) && !/^(?:---|\+\+\+) /.test(line) && !hiddenHeader.test(line);
}
