/** Something that runs, or waits for its user. Types only: the pages read this file too. */
export interface ActiveItem {
  kind: "session" | "job";
  id: string;
  title: string;
  workingDirectory: string;
  state: "running" | "waiting" | "paused";
  /** In a few words; empty when there is nothing to say. */
  doing: string;
  /** Since when it does this. */
  since: string;
  /** The portal that has it, where there are several. */
  node?: string;
  /** It works on the disk of that portal. */
  pinned?: true;
  /** That portal, when only it could go on and it is not running. */
  waitingFor?: string;
}
