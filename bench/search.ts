import type { LiveResponse } from "../src/live/liveResponse.js";
import { search } from "../src/search/search.js";
import type { LiveLog } from "../src/sharedApi.js";
import { randomFrom } from "../test/support/kills/randomLog.js";
import { append, type Live, message, newId, startLive } from "../test/support/live/live.js";
import { absoluteRow, compare, type Row } from "./support/row.js";
import { inScope } from "./support/scope.js";
import { percentile, timed } from "./support/turns.js";

const messages = 100_000;
const logs = 100;
const wordsPerMessage = 60;
const vocabulary = 20_000;
const queries = 300;
const turns = 30;

const letters = "abcdefghijklmnopqrstuvwxyz";
/** A word of its own for each number. */
function wordOf(number: number): string {
  let word = "";
  for (let rest = number + 700; rest > 0; rest = Math.floor(rest / 26)) word += letters[rest % 26];
  return word;
}

/** As in a language, few words are frequent and most are rare. */
const someWord = (random: () => number) => wordOf(Math.floor(vocabulary ** random()) - 1);

const textOf = (random: () => number, words: number) =>
  Array.from({ length: words }, () => someWord(random)).join(" ");

async function fill({ logs: all }: Live): Promise<void> {
  const random = randomFrom(1);
  for (let i = 0; i < logs; i++) {
    const log = await all.create("session", newId());
    for (let n = 0; n < messages / logs; n += 50) {
      const some = Array.from({ length: 50 }, (_, k): LiveResponse[] => {
        const id = `${n + k}`;
        return [message.start(id), message.end(id, textOf(random, wordsPerMessage))];
      });
      await append(log, ...some.flat());
    }
  }
}

/** What people type: a frequent word, a rare one, two, a phrase, the beginning of one, one that nobody said. */
function queryOf(random: () => number, i: number): string {
  const kinds = [
    () => `${wordOf(i % 20)} `,
    () => `${wordOf(vocabulary - 1 - (i % 500))} `,
    () => `${someWord(random)} ${someWord(random)} `,
    () => `"${wordOf(i % 20)} ${wordOf((i + 3) % 20)}"`,
    () => someWord(random).slice(0, 3),
    () => "unspeakable ",
  ];
  return kinds[i % kinds.length]?.() ?? "";
}

/** A turn's answer of this many words, stored: a message can be found, reasoning cannot. */
const answer = (log: LiveLog, isIndexed: boolean, text: string) =>
  timed(async () => {
    for (let turn = 0; turn < turns; turn++) {
      const id = newId();
      await (isIndexed
        ? append(log, message.start(id), message.end(id, text))
        : append(
            log,
            { callback: "onStartReasoning", reasoningId: id },
            { callback: "onEndReasoning", reasoningId: id, completeContent: text },
          ));
    }
  }).then(ms => ms / turns);

export async function searchRows(): Promise<Row[]> {
  return inScope(async scope => {
    const live = await startLive(scope);
    await fill(live);
    // The portal does this itself after a minute without writes.
    await live.store.query("vacuum (analyze) search_texts");
    const random = randomFrom(2);
    const times: number[] = [];
    for (let i = 0; i < queries; i++) {
      const typed = queryOf(random, i);
      times.push(await timed(() => search(live.store.query, typed, 20)));
    }
    const log = await live.logs.create("session", newId());
    const text = textOf(random, 400);
    return [
      absoluteRow("a search over 100,000 messages, p95", percentile(times, 0.95), "ms", { atMost: 100 }),
      ...(await compare({
        rounds: 5,
        warmUp: true,
        unit: "ms",
        reference: {
          name: "an answer of 400 words that is not indexed",
          take: () => answer(log, false, text),
        },
        subjects: {
          "an answer of 400 words, stored and indexed": {
            take: () => answer(log, true, text),
            goal: { atMost: 5, of: "difference" },
          },
        },
      })),
    ];
  });
}
