const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes text for a page or a quoted attribute; characters beyond plain ASCII become numbers. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll(/[^\x20-\x7e]/gu, character => `\\u{${character.codePointAt(0)?.toString(16)}}`)
    .replaceAll(/[&<>"']/g, character => entities[character] ?? "");
}
