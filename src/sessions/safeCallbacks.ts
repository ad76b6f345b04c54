import type { Log } from "../base/log.js";
import type { SessionCallbacks } from "../copilotSession.js";

/** Wraps callbacks: an error thrown by one is logged and does not disturb the stream. */
export function safeCallbacks(callbacks: SessionCallbacks, log: Log | undefined): SessionCallbacks {
  return new Proxy(callbacks, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => {
        try {
          return Reflect.apply(member, target, args);
        } catch (error) {
          log?.error({ err: error, callback: String(name) }, "A session callback failed");
          return undefined;
        }
      };
    },
  });
}
