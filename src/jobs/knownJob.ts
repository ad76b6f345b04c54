import { PortalError } from "../base/portalError.js";
import { currentPortal } from "../currentPortal.js";
import type { JobRecord } from "./jobRecords.js";

/** A job by its id, for users' requests. */
export async function knownJob(jobId: string): Promise<JobRecord> {
  const { engine } = currentPortal();
  await engine.ready;
  const job = await engine.jobs.find(jobId);
  if (!job) throw jobNotFound(jobId);
  return job;
}

export function jobNotFound(id: string): PortalError {
  return PortalError.domain("JobNotFound", `There is no job ${JSON.stringify(id)}.`);
}
