import type { ChildHandle } from "./child-handle.ts";
import type { Job, Trust } from "./job.ts";

/** Jobs a child is given ahead, so that it never waits for the pipe. */
const MAX_BACKLOG = 16;
/** Below this nobody gains from being sent elsewhere, and jobs that go together cost less. */
const SHORT_WAIT_MS = 2;

/**
 * The child that takes a job, if one can now. What is not proven has the quarantine to itself, one job at a time; while
 * such a job is among those that wait, others keep off it. The rest go to the first child where they need not wait,
 * else where the wait is the shortest: the second child stays empty, a spare, for as long as one is enough.
 */
export function pickChild(
  ready: ChildHandle[],
  job: Job,
  waits: ReadonlySet<Trust>,
): ChildHandle | undefined {
  if (job.trust === "suspect" && waits.has("untried")) return undefined;
  if (job.trust !== "proven") return ready.find((child) => child.isQuarantine && child.backlog() === 0);
  const isWanted = waits.has("untried") || waits.has("suspect");
  const open = ready.filter(
    (child) =>
      !child.isHeld() &&
      child.backlog() < MAX_BACKLOG &&
      !(isWanted && child.isQuarantine && ready.length > 1),
  );
  return open.find((child) => child.expectedWait() < SHORT_WAIT_MS) ?? findShortestWait(open);
}

function findShortestWait(open: ChildHandle[]): ChildHandle | undefined {
  return open.reduce<ChildHandle | undefined>(
    (best, child) => (best && best.expectedWait() <= child.expectedWait() ? best : child),
    undefined,
  );
}
