import type { Response } from "express";
import { escapeHtml } from "../html.js";

export interface ConfirmPage {
  /** What would happen, for the user to read. */
  summary: string;
  /** Path and query as received. */
  address: string;
  value: string;
}

/** The form may only post to the portal. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/**
 * The form has no action: it posts to the page's own address. Its button waits for the script, so that a foreign page
 * cannot have it pressed by the second half of a double click. It has no id: a fragment in the address could focus it.
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

/** 403, because nothing was done: a program that ends up here must not mistake it for success. */
export function sendConfirmPage(res: Response, page: ConfirmPage): void {
  res.status(403).set({
    "Content-Security-Policy": policy,
    // Without a referrer a browser would send the form with the origin "null".
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
  });
  res.type("html").send(pageOf(page));
}
