import { resolve } from "node:path";
import type { Store } from "../store/store.js";
import type { PermissionPolicy } from "./approvals.js";

export interface FolderChoice {
  permissions: PermissionPolicy | null;
  sandbox: boolean | null;
}

/** What the user chose last for a folder, and what the user was told about it. */
export class FolderChoices {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async find(folder: string): Promise<FolderChoice> {
    const [row] = await this.#store.query<FolderChoice>(
      "SELECT permissions, sandbox FROM folder_choices WHERE folder = $1",
      [resolve(folder)],
    );
    return row ?? { permissions: null, sandbox: null };
  }

  /** Fields that are absent keep their value. */
  async remember(folder: string, { permissions, sandbox }: Partial<FolderChoice>): Promise<void> {
    await this.#store.query(
      `INSERT INTO folder_choices (folder, permissions, sandbox) VALUES ($1, $2, $3)
       ON CONFLICT (folder) DO UPDATE SET permissions = coalesce($2, folder_choices.permissions),
         sandbox = coalesce($3, folder_choices.sandbox), changed_at = now()`,
      [resolve(folder), permissions ?? null, sandbox ?? null],
    );
  }

  async wasTold(folder: string, content: string): Promise<boolean> {
    const rows = await this.#store.query(
      "SELECT 1 AS told FROM startup_told WHERE folder = $1 AND content = $2",
      [resolve(folder), content],
    );
    return rows.length > 0;
  }

  /** False when the user was told before. */
  async tell(folder: string, content: string): Promise<boolean> {
    const told = await this.#store.query(
      "INSERT INTO startup_told (folder, content) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING folder",
      [resolve(folder), content],
    );
    return told.length > 0;
  }
}
