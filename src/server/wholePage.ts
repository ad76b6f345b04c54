import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path/posix";

/** Reads a file of the website by its URL path; undefined when there is none. */
type Read = (path: string) => Promise<string | undefined>;

/** What several pages have is kept once, and stands in the place of a line with its name. */
const partPlace = /^ *<!-- ([\w/]+\.html) -->\n/gm;
const headEnd = /^ *<\/head>/m;
const moduleScript = /<script type="module" src="(\/[^"]+)">/g;
/** What a page loads of the website; the icons are one file. */
const loaded = /\b(src|href)="(?=\/[^"]+\.(?:js|css)"|\/shell\/icons\.svg#)/g;
const staticImport = /^(?:import|export)\b[^"'();]*["']([^"']+)["'];?$/gm;

/** The scripts that these import, and those that those import, without the first ones. */
export async function importedBy(entries: readonly string[], read: Read): Promise<string[]> {
  const found = new Set(entries);
  for (const path of found) {
    const text = (await read(path)) ?? "";
    for (const [, name = ""] of text.matchAll(staticImport))
      if (/^\.{0,2}\//.test(name)) found.add(name.startsWith("/") ? name : join(dirname(path), name));
  }
  return [...found].filter(path => !entries.includes(path));
}

/** The page with its frame and its other parts. */
export async function withParts(html: string, read: Read): Promise<string> {
  const names = [...html.matchAll(partPlace)].map(([, name = ""]) => name);
  const parts = new Map(await Promise.all(names.map(async name => [name, await read(`/${name}`)] as const)));
  // A function, because a dollar sign in a replacement text has a meaning.
  return html.replace(partPlace, (place, name: string) => parts.get(name) ?? place);
}

/**
 * The page with its parts, and with a line for each script that it will ask for: a browser then loads them together,
 * from `base`. What those import has a relative address, and so comes from there too.
 */
export async function wholePage(html: string, read: Read, base = ""): Promise<string> {
  const whole = await withParts(html, read);
  const entries = [...html.matchAll(moduleScript)].map(([, path = ""]) => path);
  const preloads = (await importedBy(entries, read)).map(
    path => `    <link rel="modulepreload" href="${path}" />\n`,
  );
  // Functions, because a dollar sign in a replacement text has a meaning.
  return whole
    .replace(headEnd, end => preloads.join("") + end)
    .replace(loaded, (_found, attribute) => `${attribute}="${base}`);
}

/** Reads the files of a folder, none outside it. */
export const readerOf =
  (folder: string): Read =>
  async path =>
    path.split("/").includes("..") ? undefined : readFile(join(folder, path), "utf8").catch(() => undefined);
