const maxPaths = 100;

/** Tells an agent in front of a request which of its changes are gone; empty when none are. */
export function noteOf(paths: readonly string[]): string {
  const names = [...new Set(paths)];
  if (names.length === 0) return "";
  const shown = names.slice(0, maxPaths).map(name => `- ${JSON.stringify(name)}`);
  const more = names.length > maxPaths ? [`- and ${names.length - maxPaths} more`] : [];
  const lines = [
    "The user has put these files back to an earlier state; read them again before you change them:",
  ];
  return `${[...lines, ...shown, ...more].join("\n")}\n\n`;
}
