import type { Response } from "express";
import { escapeHtml } from "../html.js";

export interface ConfirmPage {
  /** What would happen, in words. */
  summary: string;
  /** Path and query, as they came. */
  address: string;
  value: string;
}

/** The form leads to the portal alone. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/**
 * The form has no action of its own: it posts to the address at which the page stands. Its button waits for the script,
 * which keeps a foreign page from having it pressed by the second half of a double click. It has no id: an address could
 * give it the keyboard.
 */
function pageOf({ summary, address, value }: ConfirmPage): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Do you want this? · Copilot Portal</title>
    <link rel="icon" href="/favicon-idle.svg" />
    <link rel="stylesheet" href="/shell/design.css" />
    <link rel="stylesheet" href="/permissions.css" />
    <script type="module" src="/shell/confirm.js"></script>
  </head>
  <body>
    <main class="rules stack">
      <h1>Do you want this?</h1>
      <section id="question" class="stack card">
        <p><strong>${escapeHtml(summary)}</strong></p>
        <p><code>${escapeHtml(address)}</code></p>
        <p class="muted">Your browser was sent to an address that does something. Nothing has happened yet. If you did not mean to, close this page.</p>
        <form method="post" class="row">
          <input type="hidden" name="confirm" value="${escapeHtml(value)}" />
          <button class="danger" disabled>Do it</button>
          <a class="button" href="/">Back to the portal</a>
        </form>
      </section>
    </main>
  </body>
</html>
`;
}

/** 403, because nothing was done: a program that ends up here must not take it for success. */
export function sendConfirmPage(res: Response, page: ConfirmPage): void {
  res.status(403).set({
    "Content-Security-Policy": policy,
    // Without a referrer a browser would send the form with the origin "null".
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
  });
  res.type("html").send(pageOf(page));
}
