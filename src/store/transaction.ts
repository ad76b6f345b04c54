import type pg from "pg";
import type { Query } from "./store.js";

/** All of the work or nothing of it. A client that cannot even roll back goes no further than this. */
export async function inTransaction<T>(
  client: pg.PoolClient,
  query: Query,
  work: (query: Query) => Promise<T>,
): Promise<T> {
  let failure: Error | undefined;
  try {
    await query("begin");
    const result = await work(query);
    await query("commit");
    return result;
  } catch (error) {
    await query("rollback").catch((problem: Error) => {
      failure = problem;
    });
    throw error;
  } finally {
    client.release(failure);
  }
}
