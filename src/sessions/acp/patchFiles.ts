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
/** Headers that name none. A mode that is not plain makes a link or a program of a file. */
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
/** Programs that patch take a header further right for one, too. */
const hiddenHeader = /^\s+(?:---|\+\+\+|\*\*\*|@@|diff |index:|rename |copy )/i;

const doubt = (line: string) => `Its difference has a line that may name other files: ${line.slice(0, 100)}`;

/** Reads every line; one that is not known may be the header of a form that names files in another way. */
export function patchFiles(patch: string): PatchFiles {
  const paths: string[] = [];
  let problem: string | undefined;
  for (const line of patch.split(/\r?\n/)) {
    const named = naming.map(form => form.exec(line)?.[1]).find(found => found !== undefined);
    const both = named === undefined ? gitHeader.exec(line) : null;
    const found = both ? both.slice(1) : named === undefined ? [] : [named];
    for (const name of found) paths.push(...(both ? [name] : readings(name)));
    // How many names a program takes away from the beginning is its own affair.
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

/** Programs that patch may take away the first name of a path, whatever it is called. */
function readings(name: string): string[] {
  if (/^[ab]\/./.test(name)) return [name.slice(2)];
  const slash = name.indexOf("/");
  return slash > 0 ? [name, name.slice(slash + 1)] : [name];
}

/** A header that could not be read as one is no text either. */
function isText(line: string): boolean {
  return body.test(line) && !/^(?:---|\+\+\+) /.test(line) && !hiddenHeader.test(line);
}
