/** The message of whatever was thrown: code can throw anything. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
