/** Any error as JSON with its name, code, message, stack and causes. */
export function errorToDetailedString(err: unknown): string {
  return JSON.stringify(detailsOf(err, new Set()));
}

function detailsOf(err: unknown, seen: Set<unknown>): unknown {
  if (!(err instanceof Error)) return typeof err === "object" ? safely(err) : String(err);
  if (seen.has(err)) return "[circular]";
  seen.add(err);
  const { name, message, stack, cause } = err;
  const code = "code" in err && typeof err.code === "string" ? { code: err.code } : {};
  return { name, ...code, message, stack, ...(cause === undefined ? {} : { cause: detailsOf(cause, seen) }) };
}

function safely(value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value));
  } catch {
    return String(value);
  }
}
