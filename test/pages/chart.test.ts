import assert from "node:assert/strict";
import { before, describe, it, type TestContext } from "node:test";
import type { Browser, Page } from "playwright-core";
import { laidOutChart } from "../../src/jobs/chartLayout.js";
import type { Work } from "../../src/jobsDef.js";
import { assertAccessible } from "../support/pages/axe.js";
import { openChart, sharedBrowser } from "../support/pages/browser.js";

/** The page's side is support/pages/fixture/chart.js. */
declare const chart: {
  zoom: number;
  selected: number | undefined;
  show(graph: object): Promise<void>;
  setState(workId: number, state: object): void;
};
declare const document: {
  querySelector(selector: string): { querySelectorAll(selector: string): { length: number } } | null;
};
declare function requestAnimationFrame(callback: (value: unknown) => void): void;
declare const selections: (number | null)[];

const browserOf = sharedBrowser();
let browser: Browser;
before(async () => {
  browser = await browserOf();
});

let works = 0;
const ref = (taskId: string): Work<number> => ({ kind: "Ref", workIdInJob: works++, taskId });

/** Every kind of node. */
function everything(): Work<number> {
  works = 0;
  return {
    kind: "Seq",
    works: [
      ref("plan"),
      { kind: "Loop", body: ref("implement"), postCondition: [false, ref("tests pass")] },
      { kind: "Par", works: [ref("review <b>one</b>"), ref("review two")] },
      { kind: "Alt", condition: { kind: "Seq", works: [ref("look"), ref("decide")] }, trueWork: ref("mend") },
    ],
  };
}

async function open(t: TestContext, work = everything()): Promise<Page> {
  const { page, problems } = await openChart(t, browser);
  t.after(() => assert.deepEqual(problems, []));
  await page.evaluate(graph => chart.show(graph), laidOutChart(work));
  return page;
}

const look = (page: Page, node: string, shape: string) =>
  page
    .locator(`.node.${node} ${shape}`)
    .first()
    .evaluate(one => {
      const style = (
        one.ownerDocument.defaultView as unknown as {
          getComputedStyle(e: unknown): { fill: string; stroke: string };
        }
      ).getComputedStyle(one);
      return { tag: one.tagName, fill: style.fill, stroke: style.stroke };
    });

describe("the flow chart", () => {
  it("draws each kind of node in its shape and colour", async t => {
    const page = await open(t);
    assert.deepEqual(await look(page, "TaskNode", ".label-container"), {
      tag: "rect",
      fill: "rgb(228, 239, 253)",
      stroke: "rgb(10, 92, 199)",
    });
    assert.deepEqual(await look(page, "CondNode", ".label-container"), {
      tag: "polygon",
      fill: "rgb(253, 243, 220)",
      stroke: "rgb(125, 82, 0)",
    });
    assert.equal((await look(page, "ParBegin", "polygon")).fill, "rgb(0, 0, 0)");
    assert.equal((await look(page, "ParEnd", "polygon")).fill, "rgb(0, 0, 0)");
    assert.equal((await look(page, "AltEnd", "polygon")).fill, "rgb(251, 220, 234)");
    assert.equal((await look(page, "CondBegin", "polygon")).fill, "rgb(253, 243, 220)");
    assert.deepEqual((await look(page, "CondEnd", "polygon")).fill, "rgb(253, 243, 220)");
    assert.equal((await look(page, "LoopEnd", "circle")).fill, "rgb(228, 233, 240)");
  });

  it("points loop-back arrows up and all others down", async t => {
    const page = await open(t);
    const graph = laidOutChart(everything());
    const arrows = graph.nodes.flatMap(({ id, arrows = [] }) => arrows.map(arrow => ({ id, ...arrow })));
    const drawn = await page.locator(".flowchart-link").evaluateAll(paths =>
      paths.map(path => {
        const line = path as unknown as {
          getTotalLength(): number;
          getPointAtLength(at: number): { y: number };
        };
        return line.getPointAtLength(line.getTotalLength()).y < line.getPointAtLength(0).y;
      }),
    );
    assert.deepEqual(
      drawn,
      arrows.map(({ loopBack }) => loopBack),
    );
    const labels = (await page.locator(".edgeLabel").allTextContents()).filter(text => text !== "");
    assert.deepEqual(labels.sort(), ["false", "false", "true", "true"]);
  });

  it("shows names unchanged, whatever they contain", async t => {
    const page = await open(t, {
      kind: "Ref",
      workIdInJob: 0,
      taskId: '"]; click n0 "x" <img src=x onerror=alert(1)> `e`',
    });
    assert.equal(
      await page.locator(".node .name").textContent(),
      '"]; click n0 "x" <img src=x onerror=alert(1)> `e`',
    );
    assert.equal(await page.locator("#log img").count(), 0);
  });

  it("marks a node's state at its left border, with attempt and time inside", async t => {
    const page = await open(t);
    for (const status of ["Waiting", "Running", "Succeeded", "Failed"]) {
      await page.evaluate(state => chart.setState(1, state), {
        status,
        detail: "attempt 2 of 4, 12 s",
        said: "2 tests fail: the ones that look at the end of a line",
        tip: "why",
      });
      const node = page.locator(`[data-work-id='1'][data-status=${status}]`);
      await node.waitFor();
      assert.deepEqual(await node.locator("text").allTextContents(), [
        "implement",
        "attempt 2 of 4, 12 s",
        "2 tests fail: the ones that look…",
      ]);
      const mark = await node.locator(".mark").boundingBox();
      const box = await node.locator(".label-container").boundingBox();
      assert.ok(mark && box && mark.x + mark.width <= box.x, `${status} is left of the border`);
    }
  });

  it("selects a node by click and by keyboard, and deselects on a click beside the nodes", async t => {
    const page = await open(t);
    await page.locator("[data-work-id='1']").click();
    assert.equal(await page.locator(".node.selected").getAttribute("data-work-id"), "1");
    await page.locator("[data-work-id='0']").focus();
    await page.keyboard.press("Enter");
    assert.equal(await page.locator(".node.selected").getAttribute("data-work-id"), "0");
    await page.locator(".flow-chart-view").click({ position: { x: 5, y: 5 } });
    assert.equal(await page.locator(".node.selected").count(), 0);
    assert.deepEqual(await page.evaluate(() => selections), [1, 0, null]);
  });

  it("zooms in steps of 0.1 between 0.2 and 3 by Ctrl and wheel, by buttons and keys, and fits", async t => {
    const page = await open(t);
    const zoom = () => page.evaluate(() => chart.zoom);
    const first = await zoom();
    assert.equal(first, 0.8, "a chart that does not fit is scrolled, not shrunk");
    await page.locator(".flow-chart-view").hover();
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -100);
    await page.locator("output", { hasText: `${Math.round(first * 100 + 10)} %` }).waitFor();
    for (let n = 0; n < 40; n++) await page.mouse.wheel(0, -100);
    await page.locator("output", { hasText: "300 %" }).waitFor();
    for (let n = 0; n < 40; n++) await page.mouse.wheel(0, 100);
    await page.locator("output", { hasText: "20 %" }).waitFor();
    await page.keyboard.up("Control");
    await page.getByRole("button", { name: "Zoom in" }).click();
    assert.equal(await zoom(), 0.3);
    await page.getByRole("button", { name: "Fit" }).click();
    assert.equal(await zoom(), 0.7);
    const { height = 0 } = (await page.locator(".flow-chart svg").first().boundingBox()) ?? {};
    const view = await page.locator(".flow-chart-view").boundingBox();
    assert.ok(height <= (view?.height ?? 0), `${height} px in a window of ${view?.height} px`);
  });

  it("is dragged with the mouse and pinched with two fingers", async t => {
    const page = await open(t);
    for (let n = 0; n < 20; n++) await page.getByRole("button", { name: "Zoom in" }).click();
    const view = page.locator(".flow-chart-view");
    const top = () => view.evaluate(div => div.scrollTop);
    const before = await top();
    await page.mouse.move(600, 400);
    await page.mouse.down();
    await page.mouse.move(600, 300, { steps: 4 });
    await page.mouse.up();
    assert.ok(Math.abs((await top()) - before - 100) <= 1, "a drag up scrolls down");
    assert.deepEqual(await page.evaluate(() => selections), [], "a drag selects nothing");

    const zoom = await page.evaluate(() => chart.zoom);
    const fingers = await page.context().newCDPSession(page);
    const touch = (type: "touchStart" | "touchMove", ...xs: number[]) =>
      fingers.send("Input.dispatchTouchEvent", { type, touchPoints: xs.map((x, id) => ({ x, y: 300, id })) });
    await touch("touchStart", 300, 500);
    await touch("touchMove", 300, 420);
    await page.locator("output", { hasText: `${Math.round(zoom * 100 - 10)} %` }).waitFor();
  });

  it("draws a job of three hundred tasks in slices, with the states that are known already", async t => {
    works = 0;
    const branch = (): Work<number> => ({
      kind: "Seq",
      works: Array.from({ length: 30 }, () => ref("step")),
    });
    const page = await open(t);
    const graph = laidOutChart({ kind: "Par", works: Array.from({ length: 10 }, branch) });
    const counts = await page.evaluate(async graph => {
      const view = document.querySelector(".flow-chart-view");
      chart.setState(299, { status: "Failed", detail: "failed" });
      const drawing = chart.show(graph);
      const atOnce = view?.querySelectorAll(".node").length;
      await drawing;
      return [atOnce, view?.querySelectorAll(".node[data-work-id]").length];
    }, graph);
    assert.deepEqual(counts, [0, 300]);
    assert.equal(
      await page.locator("[data-work-id='299'][data-status=Failed] .detail").textContent(),
      "failed",
    );
  });

  it("shows the states of three hundred tasks that change at once in slices", async t => {
    works = 0;
    const page = await open(t, { kind: "Seq", works: Array.from({ length: 300 }, () => ref("step")) });
    const counts = await page.evaluate(async () => {
      const view = document.querySelector(".flow-chart-view");
      for (let n = 0; n < 300; n++) chart.setState(n, { status: "Running", detail: "attempt 1" });
      const each = [0];
      while (each.at(-1) !== 300) {
        await new Promise(requestAnimationFrame);
        each.push(view?.querySelectorAll("[data-status]").length ?? 0);
      }
      return each.map((count, at) => count - (each[at - 1] ?? 0));
    });
    assert.ok(Math.max(...counts) <= 30, `in one frame at most: ${counts}`);
  });

  it("can be read and used in every state, in light and in dark", async t => {
    const page = await open(t);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      const states = ["Succeeded", "Failed", "Running", "Needs you", "Waiting", "Canceled"];
      await page.evaluate(list => {
        for (const [workId, status] of list.entries()) chart.setState(workId, { status, detail: status });
        chart.selected = 1;
      }, states);
      await assertAccessible(page, `a chart in ${colorScheme}`);
    }
    await page.evaluate(() => {
      chart.selected = undefined;
    });
    await page.getByRole("button", { name: "implement" }).focus();
    await page.keyboard.press("Enter");
    assert.equal(await page.getByRole("button", { name: "implement", pressed: true }).count(), 1);
  });
});
