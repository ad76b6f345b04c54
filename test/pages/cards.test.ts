import assert from "node:assert/strict";
import { after, before, describe, it, type TestContext } from "node:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { assertAccessible, assertFits } from "../support/pages/axe.js";
import { openFreshPage, openRenderer, sharedBrowser } from "../support/pages/browser.js";
import {
  cardRequest,
  command,
  copyOf,
  feed,
  inSight,
  isInOrder,
  onlyCard,
  option,
  seenIn,
} from "../support/pages/cards.js";

const browserOf = sharedBrowser();
let browser: Browser;
/** For tables whose rows leave the page unchanged. */
let shared: Page;
const closing: (() => unknown)[] = [];
before(async () => {
  browser = await browserOf();
  shared = (await openRenderer({ after: close => closing.push(close) }, browser)).page;
});
after(async () => {
  for (const close of closing.reverse()) await close();
});

async function open(t: TestContext, options?: BrowserContextOptions): Promise<Page> {
  const { page, problems } = await openRenderer(t, browser, options);
  t.after(() => assert.deepEqual(problems, []));
  return page;
}

const settled = (requestId = "r") => ({
  callback: "onPermissionResolved",
  requestId,
  decision: "rejected",
  by: "user",
});

/** The text, what the card must show, and what the text would otherwise hide. */
const hidden: readonly [text: string, seen: string, why: string][] = [
  ["rm \u202etxt.exe", "rm \\u{202E}txt.exe", "an override reverses the text after it"],
  [
    "a\u202ab\u202bc\u202cd\u202de",
    "a\\u{202A}b\\u{202B}c\\u{202C}d\\u{202D}e",
    "the other embeddings do the same",
  ],
  ["a\u2066b\u2067c\u2068d\u2069e", "a\\u{2066}b\\u{2067}c\\u{2068}d\\u{2069}e", "the isolates do the same"],
  ["a\u061cb\u200ec\u200fd", "a\\u{61C}b\\u{200E}c\\u{200F}d", "direction marks are invisible"],
  [
    "rm\u200b -rf\u200c x\u200d",
    "rm\\u{200B} -rf\\u{200C} x\\u{200D}",
    "zero-width characters are invisible",
  ],
  [
    "a\u2060b\u2063c\ufeffd",
    "a\\u{2060}b\\u{2063}c\\u{FEFF}d",
    "joiners and a byte order mark are invisible",
  ],
  [
    "a\u00adb\u034fc\u180ed",
    "a\\u{AD}b\\u{34F}c\\u{180E}d",
    "soft hyphens and grapheme joiners are invisible",
  ],
  [
    "a\u115fb\u1160c\u3164d\uffa0e",
    "a\\u{115F}b\\u{1160}c\\u{3164}d\\u{FFA0}e",
    "Hangul fillers are invisible letters",
  ],
  [
    "a\u17b4b\u180bc\u{e0041}d",
    "a\\u{17B4}b\\u{180B}c\\u{E0041}d",
    "old vowels, selectors and tags are invisible",
  ],
  ["a\ufe0fb\ufe00c\u{e0100}d", "a\\u{FE0F}b\\u{FE00}c\\u{E0100}d", "a selector makes a different file name"],
  [
    "a\u00a0b\u2003c\u202fd\u3000e",
    "a\\u{A0}b\\u{2003}c\\u{202F}d\\u{3000}e",
    "only a plain space looks like a space",
  ],
  [
    "a\u2800b\u1680c\u205fd",
    "a\\u{2800}b\\u{1680}c\\u{205F}d",
    "rarer spaces and an empty Braille cell look like a space too",
  ],
  ["ls\rrm x", "ls\\u{D}rm x", "a terminal would overwrite the line"],
  [
    "ls\u0008\u0008rm\u007f\u0000",
    "ls\\u{8}\\u{8}rm\\u{7F}\\u{0}",
    "a terminal would step back, or drop the character",
  ],
  ["a\u001b[8mb\u009bc", "a\\u{1B}[8mb\\u{9B}c", "escape sequences of both forms hide text"],
  [
    "a\u0085b\u2028c\u2029d\u000be",
    "a\\u{85}b\\u{2028}c\\u{2029}d\\u{B}e",
    "no shell treats these as line feeds",
  ],
  ["a\ud800b\udc00c", "a\\u{D800}b\\u{DC00}c", "half a surrogate pair is not a character"],
  ["a\ufff9b\ufffbc\u{1d173}d", "a\\u{FFF9}b\\u{FFFB}c\\u{1D173}d", "annotations and beams are not drawn"],
  ["a\ue000b\u{f0000}c\uffffd", "a\\u{E000}b\\u{F0000}c\\u{FFFF}d", "these characters have no defined look"],
  [`a${"\u0301".repeat(40)}b`, `a${"\\u{301}".repeat(16)}[and 24 more]b`, "piled marks cover other lines"],
  [`ls${"\u200b".repeat(300)};rm`, `ls${"\\u{200B}".repeat(16)}[and 284 more];rm`, "many are counted"],
  [`ls${" ".repeat(200)}; rm x`, "ls [200 blanks] ; rm x", "blanks push the rest to the right"],
  [`ls${"\t".repeat(60)}; rm x`, "ls [60 blanks] ; rm x", "and so do tabs"],
  [`ls${"\n".repeat(100)}rm x`, "ls\n[99 empty lines]\nrm x", "line feeds push the rest below the fold"],
  [`ls${"\n \t".repeat(100)}\nrm x`, "ls\n[100 empty lines]\nrm x", "and so do lines of blanks"],
  ["echo '<b>x</b>' && \\u{202E}", "echo '<b>x</b>' && \\u{202E}", "visible text stays unchanged"],
  ["for f in *; do\n\techo $f\ndone", "for f in *; do\n\techo $f\ndone", "lines and tabs stay unchanged"],
  [
    "echo naïve Ελλάδα 日本語 שלום",
    "echo naïve Ελλάδα 日本語 שלום",
    "letters of any language stay unchanged",
  ],
];

describe("a card shows what will run", () => {
  for (const [text, seen, why] of hidden)
    it(`for ${JSON.stringify(text.slice(0, 30))}: ${why}`, async () => {
      const page = shared;
      await feed(page, command(text));
      assert.equal(await seenIn(onlyCard(page).locator(".command-part")), seen);
      const marks = await onlyCard(page).locator(".unseen[title]").count();
      assert.equal(marks > 0, text !== seen, "every escape is marked");
      const copied = await copyOf(onlyCard(page).locator(".command-part .seen-code"));
      // A clipboard cannot hold half a surrogate pair or a null.
      const clean = (written: string) => written.replace(/\0|\p{Cs}|\ufffd/gu, "");
      assert.equal(clean(copied), clean(text), "a copy has the original text");
      await feed(page, settled());
    });

  it("in the order in which it is written, whatever the direction of its script", async t => {
    const page = await open(t);
    for (const [id, text] of ["mv א ב", "cp שלום 1 2 עולם", "rm ا ب 'c'"].entries())
      await feed(page, command(text, { requestId: `r${id}` }));
    for (const place of await page.locator(".seen-code").all()) assert.equal(await isInOrder(place), true);
    assert.equal(await page.locator(".seen-code").count(), 3);
  });

  it("in every field that an agent fills, even after the request is settled", async t => {
    const page = await open(t);
    const evil = "x\u202ey\u200bz";
    const seen = /x\\u\{202E\}y\\u\{200B\}z/;
    const details = [
      { command: evil, intention: evil },
      { url: evil },
      { paths: ["/a", evil] },
      { tool: evil, arguments: { [evil]: evil } },
      { command: "ls", cwd: evil },
      { paths: ["/a"], diff: `--- a\n+++ a\n@@ -1 +1 @@\n-a\n+${evil}\n` },
      {},
    ];
    for (const [id, detail] of details.entries()) {
      await feed(page, cardRequest({ requestId: `r${id}`, title: evil, detail }));
      const card = page.locator(`[data-request=r${id}]`);
      assert.match(await seenIn(card), seen, JSON.stringify(detail));
      await feed(page, {
        callback: "onPermissionResolved",
        requestId: `r${id}`,
        decision: "rejected",
        by: "user",
        reason: evil,
        rules: [evil],
      });
      assert.match(await seenIn(card.locator(".permission-outcome")), seen);
    }
    await feed(page, {
      callback: "onQuestion",
      requestId: "q",
      question: evil,
      choices: [evil],
      allowFreeform: true,
    });
    await feed(page, {
      callback: "onPermissionResolved",
      by: "rule",
      decision: "allowed",
      title: evil,
      rules: [evil],
    });
    await feed(page, {
      callback: "onStartToolExecution",
      toolCallId: "t",
      toolName: evil,
      toolArguments: { a: evil },
    });
    await feed(page, { callback: "onNotice", title: evil });
    const text = await seenIn(page.locator("#log"));
    assert.doesNotMatch(text, /[\u202e\u200b]/);
    assert.match(await seenIn(page.locator(".permission-question")), seen);
    assert.match(await seenIn(page.locator(".permission-choices button")), seen);
    assert.match(await seenIn(page.locator(".message-block-title")), seen);
    assert.match(await seenIn(page.locator(".notice").first()), seen);
  });
});

/** The padding stands between BEGIN and END; the expression is what the card says about the hidden part. */
const long: readonly [text: string, says: RegExp, why: string][] = [
  [`BEGIN${"\n".repeat(300)}END`, /301 lines/, "line feeds hide the rest below the fold"],
  [`BEGIN\n${"# all is well\n".repeat(2000)}END`, /2,002 lines/, "so do harmless lines"],
  [`BEGIN\n${"true\n\n\n\n".repeat(300)}END`, /1,202 lines/, "so do lines with empty ones between them"],
  [`BEGIN\n${"\u00a0\n".repeat(300)}END`, /302 lines/, "so do lines that only look empty"],
  [`BEGIN\n${"\r\n".repeat(300)}END`, /302 lines/, "so do Windows line ends"],
  [`BEGIN${" ".repeat(5000)}END`, /\d characters hidden here/, "spaces hide the rest at the right"],
  [`BEGIN${"\t".repeat(5000)}END`, /\d characters hidden here/, "so do tabs"],
  [`BEGIN ${"x".repeat(20_000)} END`, /19,\d\d\d characters hidden here/, "so does an endless word"],
  [`BEGIN ${"界".repeat(20_000)} END`, /characters hidden here/, "so does a word of wide letters"],
  [
    `BEGIN ${"\u200bx".repeat(5000)} END`,
    /characters hidden here/,
    "so does a word that grows when it is escaped",
  ],
  [`BEGIN ${"a\u0301\u0302".repeat(400)} END`, /characters hidden here/, "so do letters with marks"],
  [`BEGIN ${"\u{12031}".repeat(2000)} END`, /characters hidden here/, "so do the widest signs that exist"],
  [`BEGIN ${"ls; ".repeat(100)} END`, /BEGIN/, "so does a line that is only rather long"],
  [`BEGIN\n${"ls\n".repeat(9)}END`, /11 lines/, "so do a few more lines than usual"],
];

const screens: Record<string, BrowserContextOptions> = {
  wide: { viewport: { width: 1440, height: 800 }, colorScheme: "light" },
  dark: { viewport: { width: 1440, height: 800 }, colorScheme: "dark" },
  // The space that a phone leaves for the conversation between the session's header and its request.
  phone: { viewport: { width: 360, height: 430 }, hasTouch: true, isMobile: true },
};

describe("a card with a command of any length", () => {
  for (const [screen, options] of Object.entries(screens))
    it(`keeps its beginning, its end and the answers visible (${screen} screen)`, async t => {
      const page = await open(t, options);
      for (const [id, [text, says, why]] of long.entries()) {
        const requestId = `r${id}`;
        await feed(page, command(text, { requestId }));
        const card = onlyCard(page);
        for (const word of ["BEGIN", "END", "Allow once", "Reject"])
          assert.equal(await inSight(card, word), true, `${word} is visible: ${why}`);
        assert.match(await seenIn(card), says, why);
        await assertFits(page, why);
        await feed(page, settled(requestId));
      }
    });

  it("shows the whole command on request, and keeps the answers visible", async t => {
    const page = await open(t);
    const lines = Array.from({ length: 3000 }, (_, at) => `echo ${at}`);
    await feed(page, command(lines.join("\n")));
    const card = onlyCard(page);
    assert.match(await seenIn(card), /2,9\d\d lines hidden here/);
    await card.getByRole("button", { name: "Show all" }).click();
    await card.getByRole("button", { name: "Show all" }).click();
    await card.getByText("echo 2999").waitFor({ state: "attached" });
    assert.equal(
      await card
        .locator(".command-whole pre")
        .allInnerTexts()
        .then(all => all.join("")),
      lines.join("\n"),
    );
    assert.equal(await inSight(card, "Allow once"), true);
    await assertAccessible(page, "a card with a long command");
  });

  it("keeps the answers visible while the agent keeps talking, and when it asks a hundred things at once", async t => {
    const page = await open(t, screens.phone);
    await feed(page, command("BEGIN END"));
    const talk = Array.from({ length: 200 }, (_, id) => [
      { callback: "onStartMessage", messageId: `m${id}` },
      { callback: "onEndMessage", messageId: `m${id}`, completeContent: "more and more" },
    ]);
    await feed(page, ...talk.flat());
    assert.equal(await inSight(onlyCard(page), "Allow once"), true);
    const top = () => onlyCard(page).first().getByRole("button", { name: "Allow once" }).boundingBox();
    const before = await top();
    await feed(page, ...Array.from({ length: 100 }, (_, id) => command("echo", { requestId: `n${id}` })));
    assert.equal(await inSight(onlyCard(page).first(), "Allow once"), true);
    assert.ok(before);
  });
});

describe("the buttons of a card have the portal's words", () => {
  const lies: readonly [kind: string, name: string, label: string, look: string, why: string][] = [
    ["allow_once", "Reject", "Allow once", "primary", "an agent may name an allowing option Reject"],
    ["reject_once", "Allow once", "Reject", "danger", "an agent may name a rejecting option Allow once"],
    ["allow_always", "Allow once", "Always allow", "", "an agent may name a lasting option Allow once"],
    ["reject_always", "", "Always reject", "danger", "an agent may give an option no name"],
    ["allow_forever", "Reject", "Another answer of the agent", "", "an unknown kind gets a neutral look"],
    [
      "Allow_once",
      "Allow once",
      "Another answer of the agent",
      "",
      "a kind that is nearly a known one is unknown",
    ],
    ["__proto__", "Reject", "Another answer of the agent", "", "a name that every object has is not a kind"],
    ["allow_once", `x\u202e${"\n".repeat(50)}`, "Allow once", "primary", "or one that hides what follows"],
  ];
  for (const [kind, name, label, look, why] of lies)
    it(`even for an option of the kind ${kind} that is named ${JSON.stringify(name.slice(0, 12))}: ${why}`, async () => {
      const page = shared;
      await feed(page, command("ls", { options: [option("o", kind, name)], remember: {} }));
      const made = onlyCard(page).locator(".permission-first button, .permission-always button");
      assert.deepEqual(await made.allInnerTexts(), [label]);
      for (const one of ["primary", "danger"])
        assert.equal(
          await made.evaluate((button, name) => button.classList.contains(name), one),
          one === look,
        );
      const about = await seenIn(onlyCard(page).locator(".permission-about"));
      assert.match(about, /The agent calls this: “/);
      assert.doesNotMatch(about, /\u202e|\n{3}/);
      assert.equal(await made.evaluate(button => button.hasAttribute("aria-describedby")), true);
      await feed(page, settled());
    });

  it("and the portal's order, and quote the agent's name only where it differs", async t => {
    const page = await open(t);
    const options = [
      option("4", "reject_always", "Always reject"),
      option("5", "maybe", "Perhaps"),
      option("2", "allow_always", "always allow"),
      option("3", "reject_once", "Reject"),
      option("1", "allow_once", "Allow Once"),
    ];
    await feed(page, command("ls", { options }));
    const card = onlyCard(page);
    const labels = await card.locator(".permission-first button, .permission-always button").allInnerTexts();
    const ours = ["Allow once", "Reject", "Always allow", "Always reject", "Another answer of the agent"];
    assert.deepEqual(labels, ours);
    assert.deepEqual((await seenIn(card)).match(/The agent calls this: .*/g), [
      "The agent calls this: “Perhaps”",
    ]);
    await assertAccessible(page, "a card with an agent's own options");
  });
});

describe("a card says what Always covers before it is pressed", () => {
  const rules = { allow: ["allow command git status"], reject: ["reject command git status"] };
  const options = [
    option("allow_once", "allow_once", "Allow once"),
    { ...option("allow_always", "allow_always", "Always allow"), rules: rules.allow },
    option("reject_once", "reject_once", "Reject"),
    { ...option("reject_always", "reject_always", "Always reject"), rules: rules.reject },
  ];

  it("in words that the portal supplies", async t => {
    const page = await open(t);
    const covers = {
      allow: ["Every `git status` in this folder, with any harmless option"],
      reject: ["Everything that begins with `git status`"],
    };
    await feed(page, command("git status", { options, remember: rules, covers }));
    const about = page.locator(".permission-always .permission-about");
    assert.deepEqual(await about.allInnerTexts(), [
      "Every git status in this folder, with any harmless option",
      "Everything that begins with git status",
    ]);
    assert.equal(await seenIn(about.first().locator("code")), "git status");
    assert.equal(await inSight(onlyCard(page), "harmless"), true);
  });

  it("with the rule itself when an older portal supplies no words", async t => {
    const page = await open(t);
    await feed(page, command("git status", { options, remember: rules }));
    assert.match(await seenIn(onlyCard(page)), /Remembers allow command git status/);
  });

  it("unless only the agent knows what it remembers, and then says that", async t => {
    const page = await open(t);
    const own = [option("a", "allow_once", "Yes"), option("b", "allow_always", "Yes, and never ask")];
    await feed(page, command("git status", { options: own, remember: rules }));
    assert.match(await seenIn(onlyCard(page)), /The agent remembers this itself/);
  });

  it("or says why there is no Always", async t => {
    const page = await open(t);
    const why = "Rules decide about plain commands only.";
    await feed(page, command("ls *", { remember: { allow: [], reject: [] }, why }));
    assert.match(
      await seenIn(onlyCard(page)),
      /No Always for this: Rules decide about plain commands only\./,
    );
  });
});

it("a settled card is one line: what was asked, what was decided and by whom; it opens", async t => {
  const page = await open(t);
  const text = `npm test\n${"echo more\n".repeat(50)}`;
  await feed(page, command(text), { ...settled(), reason: "Not now" });
  const card = page.locator(".permission-card[data-state=rejected]");
  await card.waitFor();
  const { height = 0 } = (await card.boundingBox()) ?? {};
  assert.ok(height < 40, `it is ${height} px high`);
  assert.match(await seenIn(card.locator("summary")), /^npm test · rejected by you · Not now$/);
  assert.equal(await inSight(card, "echo more"), false);
  await card.locator("summary").click();
  assert.equal(await inSight(card, "echo more"), true);
  await assertAccessible(page, "a settled card that is open");
});

describe("a card that has just appeared", () => {
  /** Opens the page with a clock that only the test moves. */
  async function openPaused(t: TestContext) {
    const { page, problems } = await openRenderer(t, browser, {}, openFreshPage);
    t.after(() => assert.deepEqual(problems, []));
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000);
    await page.evaluate(`window.answers = [];
      addEventListener("permission-answer", event => answers.push(event.detail.requestId));`);
    const answers = () => page.evaluate("answers");
    /** An observer that starts later is called later. */
    const seen = (id: string) =>
      page.evaluate(
        `new Promise(resolve => new IntersectionObserver(resolve).observe(document.querySelector("[data-request=${id}]")))`,
      );
    const click = (id: string) =>
      page.evaluate(`document.querySelector("[data-request=${id}] [data-kind=allow_once]").click()`);
    return { page, answers, seen, click };
  }

  it("ignores clicks for a moment, because the click may be meant for something else", async t => {
    const { page, answers, seen, click } = await openPaused(t);
    await feed(page, command("ls", { requestId: "a" }));
    await click("a");
    await seen("a");
    await page.clock.runFor(299);
    await click("a");
    assert.deepEqual(await answers(), []);
    await page.clock.runFor(1);
    await click("a");
    assert.deepEqual(await answers(), ["a"]);
  });

  it("ignores Enter for a moment, and ignores an Enter that is held down", async t => {
    const { page, answers, seen } = await openPaused(t);
    await feed(page, command("ls", { requestId: "a" }));
    await seen("a");
    await onlyCard(page).focus();
    await page.keyboard.press("Enter");
    await page.keyboard.down("Enter");
    await page.clock.runFor(300);
    await page.keyboard.down("Enter");
    assert.deepEqual(await answers(), []);
    await page.keyboard.up("Enter");
    await page.keyboard.press("Enter");
    assert.deepEqual(await answers(), ["a"]);
  });

  it("in the place of an answered card is not answered by a second click", async t => {
    const { page, answers, seen, click } = await openPaused(t);
    await feed(page, command("ls", { requestId: "a" }), command("rm x", { requestId: "b" }));
    await seen("a");
    await page.clock.runFor(300);
    await click("b");
    await click("a");
    await feed(page, { callback: "onPermissionResolved", requestId: "a", decision: "allowed", by: "user" });
    await click("b");
    await seen("b");
    await page.clock.runFor(299);
    await click("b");
    assert.deepEqual(await answers(), ["a"]);
    await page.clock.runFor(1);
    await click("b");
    assert.deepEqual(await answers(), ["a", "b"]);
  });

  it("ignores clicks when its window has just come to the front", async t => {
    const { page, answers, seen, click } = await openPaused(t);
    await feed(page, command("ls", { requestId: "a" }));
    await seen("a");
    for (const change of [
      "dispatchEvent(new Event('focus'))",
      "document.dispatchEvent(new Event('visibilitychange'))",
    ]) {
      await page.clock.runFor(10_000);
      await page.evaluate(change);
      await click("a");
      await page.clock.runFor(499);
      await click("a");
    }
    assert.deepEqual(await answers(), []);
    await page.clock.runFor(1);
    await click("a");
    assert.deepEqual(await answers(), ["a"]);
  });

  it("ignores clicks when it has just been moved by a change above it", async t => {
    const { page, answers, seen, click } = await openPaused(t);
    await feed(page, command("ls", { requestId: "a" }));
    await seen("a");
    const grow = (px: number) =>
      page.evaluate(`document.querySelector(".permission-card").style.marginTop = "${px}px"`);
    await page.clock.runFor(10_000);
    await grow(40);
    await click("a");
    assert.deepEqual(await answers(), [], "immediately after the card moved down");
    await page.clock.runFor(10_000);
    await grow(0);
    await page.clock.runFor(200);
    await click("a");
    assert.deepEqual(await answers(), [], "shortly after the card moved up");
    await page.clock.runFor(400);
    await click("a");
    assert.deepEqual(await answers(), ["a"]);
  });
});
