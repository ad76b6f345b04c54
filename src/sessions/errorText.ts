const maxChars = 2000;
const url = /\bhttps?:\/\/[^\s"'<>)\]]+/gi;
const keyHint = /\s*Check your [A-Z][A-Z0-9_]+(?:,? (?:or )?[A-Z][A-Z0-9_]+)*\./g;
const keyName = /\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:KEY|TOKEN|SECRET|PASSWORD)(?:_[A-Z0-9]+)*\b/g;
const credential = /\b(?:Bearer\s+\S+|(?:sk|gh[oprsu]|github_pat)[-_][\w-]{8,})/gi;

/**
 * What a backend says about an error, fit to be shown: no credentials (in an address, a header or as `secrets`),
 * no names of environment variables that hold them, no page of HTML.
 */
export function errorText(message: string, secrets: readonly string[] = []): string {
  let text = unwrap(message);
  for (const secret of secrets) if (secret.length > 3) text = text.replaceAll(secret, "[redacted]");
  text = text
    .replace(url, originOf)
    .replace(keyHint, " Check the key of the provider.")
    .replace(keyName, "the key")
    .replace(credential, "[redacted]")
    .trim();
  return text.length > maxChars ? `${text.slice(0, maxChars)}…` : text;
}

/** The runtime hands some messages on as the JSON in which they came. */
function unwrap(message: string): string {
  try {
    const value: unknown = JSON.parse(message);
    if (typeof value === "string") return value;
    if (typeof value === "object" && value !== null && "message" in value) return String(value.message);
  } catch {
    // It is plain text.
  }
  return message;
}

function originOf(address: string): string {
  return URL.canParse(address) ? new URL(address).origin : "[address]";
}
