/**
 * Recursion for trees of any depth: a recursive function is written as a generator that asks for
 * `yield* call(itself(child))`; `runDeep` keeps the open calls on the heap, where a stack cannot overflow.
 */
export type Deep<Result> = Generator<Deep<unknown>, Result, unknown>;

export function* call<Result>(callee: Deep<Result>): Deep<Result> {
  return (yield callee) as Result;
}

export function runDeep<Result>(root: Deep<Result>): Result {
  const open: Deep<unknown>[] = [];
  let current: Deep<unknown> = root;
  let answer: unknown;
  for (;;) {
    const step = current.next(answer);
    if (!step.done) {
      open.push(current);
      current = step.value;
      answer = undefined;
      continue;
    }
    answer = step.value;
    const caller = open.pop();
    if (!caller) return answer as Result;
    current = caller;
  }
}
