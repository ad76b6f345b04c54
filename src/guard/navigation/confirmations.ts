import { createHmac, randomBytes } from "node:crypto";
import { isSameSecret } from "../token/secret.js";

export interface ConfirmationsOptions {
  now?(): number;
  secret?: Buffer;
}

/** Long enough to read a sentence and decide. */
const validMs = 10 * 60_000;

/** Values that only the portal's own page has: each is valid for one address, for a while, until the portal stops. */
export class Confirmations {
  readonly #secret: Buffer;
  readonly #now: () => number;

  constructor({ now = Date.now, secret = randomBytes(32) }: ConfirmationsOptions = {}) {
    this.#now = now;
    this.#secret = secret;
  }

  of(address: string): string {
    return this.#sign(address, String(this.#now() + validMs));
  }

  isValid(address: string, value: string): boolean {
    const [untilMs = ""] = value.split(".", 1);
    return (
      /^\d{1,15}$/.test(untilMs) &&
      isSameSecret(value, this.#sign(address, untilMs)) &&
      Number(untilMs) > this.#now()
    );
  }

  #sign(address: string, untilMs: string): string {
    const mac = createHmac("sha256", this.#secret).update(`POST ${untilMs} ${address}`).digest("base64url");
    return `${untilMs}.${mac}`;
  }
}
