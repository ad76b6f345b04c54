import { PortalError } from "../base/portalError.js";
import type { Store } from "../store/store.js";

/** What a user wrote on a line of a diff and has not sent yet. */
export interface Comment {
  id: number;
  path: string;
  line: number;
  /** Which of the two texts the line belongs to. */
  side: "before" | "after";
  /** The line itself. */
  quoted: string;
  comment: string;
}

const maxComments = 500;

/** The comments of a session or a job, until they are sent. */
export class Comments {
  readonly #store: Pick<Store, "query">;

  constructor(store: Pick<Store, "query">) {
    this.#store = store;
  }

  of(owner: string): Promise<Comment[]> {
    return this.#store.query<Comment>(
      "select id, path, line, side, quoted, comment from change_comments where owner = $1 order by id",
      [owner],
    );
  }

  async add(owner: string, { path, line, side, quoted, comment }: Omit<Comment, "id">): Promise<number> {
    if ((await this.of(owner)).length >= maxComments)
      throw PortalError.explained("TooManyComments", `There are ${maxComments} comments: send them first.`);
    const [row] = await this.#store.query<{ id: number }>(
      `insert into change_comments (owner, path, line, side, quoted, comment) values ($1, $2, $3, $4, $5, $6)
       returning id`,
      [owner, path, line, side, quoted, comment],
    );
    return row?.id ?? 0;
  }

  async delete(owner: string, ids: readonly number[]): Promise<number> {
    const rows = await this.#store.query(
      "delete from change_comments where owner = $1 and id = any($2) returning id",
      [owner, ids],
    );
    return rows.length;
  }
}

/** One request of all comments. */
export function commentsPrompt(comments: readonly Comment[]): string {
  const parts = comments.map(({ path, line, side, quoted, comment }) => {
    const place = `${JSON.stringify(path)}, line ${line}${side === "before" ? " before the change" : ""}:`;
    // The empty line ends the quote.
    const quote = quoted === "" ? [] : [...quoted.split("\n").map(text => `> ${text}`), ""];
    return [place, ...quote, comment].join("\n");
  });
  return `I have reviewed the changes. Please work through these comments:\n\n${parts.join("\n\n")}`;
}
