import type { Log } from "../base/log.js";
import type { SessionCallbacks } from "../copilotSession.js";

type Callback = (...args: unknown[]) => unknown;

/** Wraps callbacks: an error thrown by one is logged and does not disturb the stream. */
export function safeCallbacks(callbacks: SessionCallbacks, log: Log | undefined): SessionCallbacks {
  /** Each callback is wrapped once, because every delta calls one. */
  const wrapped = new Map<unknown, Callback>();
  return new Proxy(callbacks, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      const known = wrapped.get(member);
      if (known) return known;
      const safe: Callback = (...args) => {
        try {
          return Reflect.apply(member, target, args);
        } catch (error) {
          log?.error({ err: error, callback: String(name) }, "A session callback failed");
          return undefined;
        }
      };
      wrapped.set(member, safe);
      return safe;
    },
  });
}
