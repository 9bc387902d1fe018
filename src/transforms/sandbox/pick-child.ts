import type { ChildHandle } from "./child-handle.ts";
import type { Job } from "./job.ts";

/** Jobs a child is given ahead, so that it never waits for the pipe. */
const MAX_BACKLOG = 8;

/**
 * The child that takes a job, if one can now. Suspects have the last child to themselves, one at a time; while one of
 * them waits, others keep off it. The rest go where the least is waiting, to the first on a tie: the second
 * child stays empty, a spare, for as long as one is enough.
 */
export function pickChild(ready: ChildHandle[], job: Job, suspectWaits: boolean): ChildHandle | undefined {
  const last = ready.at(-1);
  if (job.suspect) return last?.backlog() === 0 ? last : undefined;
  const open = ready.filter(
    (child) =>
      !child.isHeld() &&
      child.backlog() < MAX_BACKLOG &&
      !(suspectWaits && child === last && ready.length > 1),
  );
  return open.reduce<ChildHandle | undefined>(
    (best, child) => (best && best.backlog() <= child.backlog() ? best : child),
    undefined,
  );
}
