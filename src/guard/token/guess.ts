import type { Attempts } from "./attempts.js";
import { isSameSecret } from "./secret.js";

export interface Guess {
  given: string;
  token: string;
  /** The address of the caller who guesses. */
  address: string;
  attempts: Attempts;
}

/**
 * Compares first: a right token is accepted, whatever the same address sent before.
 * Only wrong tokens count, and after too many of them an address has to wait.
 */
export function judgeGuess({
  given,
  token,
  address,
  attempts,
}: Guess): "right" | "wrong" | { waitSeconds: number } {
  if (isSameSecret(given, token)) return "right";
  const waitSeconds = Math.ceil(attempts.waitMs(address) / 1000);
  if (waitSeconds > 0) return { waitSeconds };
  attempts.failed(address);
  return "wrong";
}
