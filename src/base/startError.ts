/** Why the portal cannot start, for the person who started it: each line is a complete message, without a stack trace. */
export class StartError extends Error {
  override readonly name = "StartError";
}
