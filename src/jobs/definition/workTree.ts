import type { ParWork, SeqWork, TaskWorkInput, Work, WorkInput, WorkOf } from "../../jobsDef.js";

/**
 * A node of a work tree with its place: its JavaScript path, and its depth when every Seq directly in a Seq and every
 * Par directly in a Par is dissolved.
 */
export interface PlacedWork<Ref> {
  work: WorkOf<Ref>;
  path: string;
  depth: number;
}

type AnyRef = { kind: "Ref" };
type Group<Ref> = SeqWork<Ref> | ParWork<Ref>;

/** The parts of a work in the order in which they may run. */
export function partsOf<Ref extends AnyRef>(
  work: WorkOf<Ref>,
  path = "",
): { work: WorkOf<Ref>; path: string }[] {
  switch (work.kind) {
    case "Ref":
      return [];
    case "Seq":
    case "Par":
      return work.works.map((part, index) => ({ work: part, path: `${path}.works[${index}]` }));
    case "Loop":
      return [
        ...(work.preCondition ? [{ work: work.preCondition[1], path: `${path}.preCondition[1]` }] : []),
        { work: work.body, path: `${path}.body` },
        ...(work.postCondition ? [{ work: work.postCondition[1], path: `${path}.postCondition[1]` }] : []),
      ];
    case "Alt":
      return [
        { work: work.condition, path: `${path}.condition` },
        ...(work.trueWork ? [{ work: work.trueWork, path: `${path}.trueWork` }] : []),
        ...(work.falseWork ? [{ work: work.falseWork, path: `${path}.falseWork` }] : []),
      ];
  }
}

/** Every node, parents first, in the order in which they may run. A node is not read before it is yielded. */
export function* walkWork<Ref extends AnyRef>(root: WorkOf<Ref>, rootPath = ""): Generator<PlacedWork<Ref>> {
  const waiting: PlacedWork<Ref>[] = [{ work: root, path: rootPath, depth: 1 }];
  for (let placed = waiting.pop(); placed; placed = waiting.pop()) {
    yield placed;
    const parts = partsOf(placed.work, placed.path);
    for (const part of parts.reverse()) {
      const isDissolved = "works" in part.work && part.work.kind === placed.work.kind && !part.work.isolate;
      waiting.push({ ...part, depth: placed.depth + (isDissolved ? 0 : 1) });
    }
  }
}

/** A copy of the tree: `change` makes its Refs, `listParts` returns the parts of a Seq or Par. */
function rebuild<From extends AnyRef, To>(
  root: WorkOf<From>,
  change: (ref: From) => To,
  listParts: (group: Group<From>) => WorkOf<From>[],
): WorkOf<To> {
  function copy(work: WorkOf<From>): WorkOf<To> {
    const copied = copyParts(work);
    return "isolate" in work && work.isolate ? { ...copied, isolate: true } : copied;
  }
  function copyParts(work: WorkOf<From>): WorkOf<To> {
    switch (work.kind) {
      case "Ref":
        return change(work);
      case "Seq":
      case "Par":
        return { kind: work.kind, works: listParts(work).map(copy) };
      case "Loop": {
        const pre = work.preCondition && ([work.preCondition[0], copy(work.preCondition[1])] as const);
        const body = copy(work.body);
        const post = work.postCondition && ([work.postCondition[0], copy(work.postCondition[1])] as const);
        return {
          kind: "Loop",
          ...(pre && { preCondition: [...pre] }),
          body,
          ...(post && { postCondition: [...post] }),
        };
      }
      case "Alt": {
        const condition = copy(work.condition);
        const trueWork = work.trueWork && copy(work.trueWork);
        const falseWork = work.falseWork && copy(work.falseWork);
        return { kind: "Alt", condition, ...(trueWork && { trueWork }), ...(falseWork && { falseWork }) };
      }
    }
  }
  return copy(root);
}

/** A worktree of its own means something, so such a Par stays one. */
const isIsolated = (work: { isolate?: boolean }) => work.isolate === true;

/** The parts of a Seq (or Par) when the Seqs (or Pars) directly inside it are dissolved. */
function flattened<Ref extends AnyRef>(group: Group<Ref>): WorkOf<Ref>[] {
  const parts: WorkOf<Ref>[] = [];
  const waiting: WorkOf<Ref>[] = [group];
  for (let work = waiting.pop(); work; work = waiting.pop()) {
    if (work === group || (work.kind === group.kind && !isIsolated(work)))
      for (const part of work.works.toReversed()) waiting.push(part);
    else parts.push(work);
  }
  return parts;
}

/** A Ref without the fields of other programs. */
function knownRef({ kind, taskId, modelOverride, workIdInJob, isolate }: TaskWorkInput): TaskWorkInput {
  return {
    kind,
    taskId,
    ...(modelOverride && { modelOverride }),
    ...(workIdInJob !== undefined && { workIdInJob }),
    ...(isolate && { isolate }),
  };
}

/** A Seq directly in a Seq and a Par directly in a Par mean nothing; the result has neither. */
export function simplifyWork(work: WorkInput): WorkInput {
  return rebuild<TaskWorkInput, TaskWorkInput>(work, knownRef, flattened);
}

/** The same tree with other Refs. */
export function mapRefs<From extends AnyRef, To>(work: WorkOf<From>, change: (ref: From) => To): WorkOf<To> {
  return rebuild(work, change, group => group.works);
}

/** Numbers the Refs 0, 1, 2… in the order in which they may run. */
export function assignWorkId(work: WorkInput): Work<number> {
  let next = 0;
  return mapRefs(work, ref => ({ ...ref, workIdInJob: next++ }));
}
