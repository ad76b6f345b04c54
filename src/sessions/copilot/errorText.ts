const maxChars = 2000;
/** How much is examined: more than is shown, because addresses get shorter. */
const inspectedChars = 4 * maxChars;
/** Longer messages are not parsed as JSON. */
const maxJsonChars = 1024 * 1024;
const url = /\bhttps?:\/\/[^\s"'<>)\]]+/gi;
const keyHint = /\s{0,20}Check your [A-Z][A-Z0-9_]+(?:,? (?:or )?[A-Z][A-Z0-9_]+)*\./g;
const capitals = /\b[A-Z][A-Z0-9_]*\b/g;
const keyName = /_(?:KEY|TOKEN|SECRET|PASSWORD)(?:_|$)/;
const credential = /\b(?:Bearer\s+\S+|(?:sk|gh[oprsu]|github_pat)[-_][\w-]{8,})/gi;

/**
 * A backend's error message, made safe to show: no credentials (in an address, a header or as `secrets`),
 * no names of environment variables that hold them, no HTML page.
 */
export function errorText(message: string, secrets: readonly string[] = []): string {
  const known = secrets.filter(secret => secret.length > 3);
  let text = cut(unwrap(message), known);
  for (const secret of known) text = text.replaceAll(secret, "[redacted]");
  text = text
    .replace(url, originOf)
    .replace(keyHint, " Check the key of the provider.")
    .replace(capitals, word => (keyName.test(word) ? "the key" : word))
    .replace(credential, "[redacted]")
    .trim();
  return text.length > maxChars ? `${text.slice(0, maxChars)}…` : text;
}

/** Cuts before the search, because a provider may send megabytes; a secret cut in two would not be found. */
function cut(message: string, secrets: readonly string[]): string {
  const text = message.slice(0, 10 * inspectedChars).trimStart();
  let end = inspectedChars;
  for (const secret of secrets) {
    const start = Math.max(0, end - secret.length + 1);
    const found = text.slice(start, end + secret.length - 1).indexOf(secret);
    if (found >= 0) end = start + found;
  }
  return text.slice(0, end);
}

/** The runtime passes some messages on as raw JSON. */
function unwrap(message: string): string {
  if (message.length > maxJsonChars) return message;
  try {
    const value: unknown = JSON.parse(message);
    if (typeof value === "string") return value;
    if (typeof value === "object" && value !== null && "message" in value) return String(value.message);
  } catch {
    // It is not JSON but plain text.
  }
  return message;
}

function originOf(address: string): string {
  return URL.canParse(address) ? new URL(address).origin : "[address]";
}
