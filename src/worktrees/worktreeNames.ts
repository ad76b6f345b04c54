const maxNameLength = 40;

/** A part of a path and of a branch: what a file system or git reads in another way becomes a dash. */
function plain(name: string, instead: string): string {
  const dashed = name.replaceAll(/[^A-Za-z0-9_-]+/g, "-").replace(/^-+/, "");
  return dashed.slice(0, maxNameLength).replace(/-{1,40}$/, "") || instead;
}

export function worktreeFolder(repositoryName: string, id: string): string {
  return `${plain(repositoryName, "repository")}-${id}`;
}

export function worktreeBranch(name: string, id: string): string {
  return `portal/${plain(name, "work")}-${id}`;
}
