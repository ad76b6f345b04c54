import assert from "node:assert/strict";
import { test } from "node:test";
import type { LiveResponse } from "../../live/liveResponse.js";
import type { StoredResponse } from "../../live/storedResponse.js";
import type { DiaryLog } from "../../tasks/taskDiary.js";
import { JobDiary } from "./jobDiary.js";

const notice = (title: string): LiveResponse => ({ callback: "onNotice", severity: "info", title });

/** A log in memory, which stays open after the end of its job for a moment, as the real one does. */
function logWith(written: LiveResponse[]): DiaryLog {
  return {
    closed: false,
    async *responses() {
      yield* written as StoredResponse[];
    },
    append: async (response: LiveResponse) => void written.push(response),
    close: async () => {},
  } as unknown as DiaryLog;
}

test("nothing follows the end of a job in its log, whichever way it ended and whoever opens the log then", async () => {
  for (const callback of ["jobSucceeded", "jobFailed", "jobCanceled"] as const) {
    const written: LiveResponse[] = [];
    const diary = await JobDiary.open(logWith(written));
    await diary.add(notice("before"));
    await diary.write({ callback });
    await diary.add(notice("The store was not available for 1 s; the job goes on."));
    await diary.setPaused(true);
    const later = await JobDiary.open(logWith(written));
    await later.add(notice("Node b goes on with the job."));
    assert.deepEqual(written, [notice("before"), { callback }]);
  }
});
