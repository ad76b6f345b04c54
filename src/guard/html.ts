const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Text for a page or an attribute in quotes; what is not plain ASCII is shown as its number. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll(/[^\x20-\x7e]/gu, character => `\\u{${character.codePointAt(0)?.toString(16)}}`)
    .replaceAll(/[&<>"']/g, character => entities[character] ?? "");
}
