import type { RequestHandler } from "express";
import helmet from "helmet";

/** Only the portal's own scripts and styles work in its pages, and no foreign page can frame them. */
export function securityHeaders(): RequestHandler {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'self'"],
        scriptSrc: ["'self'"],
        scriptSrcAttr: ["'none'"],
        styleSrc: ["'self'"],
        imgSrc: ["'self'", "data:"],
        fontSrc: ["'self'", "data:"],
        connectSrc: ["'self'"],
        objectSrc: ["'none'"],
        baseUri: ["'none'"],
        formAction: ["'self'"],
        frameAncestors: ["'none'"],
      },
    },
    // Plain HTTP on localhost: demanding HTTPS would break every other server on this machine.
    strictTransportSecurity: false,
    xFrameOptions: { action: "deny" },
  });
}
