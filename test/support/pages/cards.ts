import type { Locator, Page } from "playwright-core";

type Response = Record<string, unknown>;

/** Gives the renderer of a page these responses. */
export const feed = (page: Page, ...responses: Response[]) =>
  page.evaluate(
    list => (globalThis as unknown as { feed(responses: Response[]): Promise<unknown> }).feed(list),
    responses.map(one => ({ ...one })),
  );

export const option = (optionId: string, kind: string, name: string) => ({ optionId, kind, name });

/** The portal's options for a request that no rule can cover. */
const ownOptions = [
  option("allow_once", "allow_once", "Allow once"),
  option("reject_once", "reject_once", "Reject"),
];

export const cardRequest = (more: Response): Response => ({
  callback: "onPermissionRequest",
  requestId: "r",
  kind: "execute",
  options: ownOptions,
  remember: { allow: [], reject: [] },
  ...more,
});

export const command = (text: string, more: Response = {}): Response =>
  cardRequest({ title: "a command", detail: { command: text }, ...more });

export const onlyCard = (page: Page): Locator => page.locator(".permission-card[data-state=open]");

/** The helpers in fixture/renderer.js. */
interface Helpers {
  inSight(element: unknown, text: string): boolean;
  isInOrder(element: unknown): boolean;
  copyOf(element: unknown): Promise<string>;
}

/** Whether this text is visible without any action. */
export const inSight = (card: Locator, text: string) =>
  card.evaluate((one, wanted) => (globalThis as unknown as Helpers).inSight(one, wanted), text);

/** Whether its letters run from left to right in written order. */
export const isInOrder = (place: Locator) =>
  place.evaluate(one => (globalThis as unknown as Helpers).isInOrder(one));

/** The text on the clipboard after a copy. */
export const copyOf = (place: Locator) =>
  place.evaluate(one => (globalThis as unknown as Helpers).copyOf(one));

/** What a reader sees there, with its line breaks. */
export async function seenIn(place: Locator): Promise<string> {
  return (await place.allInnerTexts()).join("\n");
}
