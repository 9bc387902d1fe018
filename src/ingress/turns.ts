/** How many requests to hooks begin in one step of the event loop: more than that only come in a burst. */
const MAX_BEGUN = 64;
/** So many steps in a row with a new connection are a burst. */
const BURST_STEPS = 8;
/** Meanwhile, a few requests begin from time to time. */
const BURST_PORTION = { size: 8, everyMs: 10 };

/**
 * Lets a burst of requests begin in portions, the hooks in turn, so that a request to another hook waits for a portion and
 * not for the burst. In each of its steps, the event loop accepts one connection. If the requests of a burst began as they
 * arrive, the last connection would wait for all of them unread, so the connections come first.
 */
export interface Turns {
  /** undefined: the request can begin at once. `hook`: undefined for those that the configuration does not name. */
  wait(hook: () => string | undefined): Promise<void> | undefined;
  /** A connection was accepted. */
  accept(): void;
}

export function createTurns(): Turns {
  let isStepping = false;
  /** In this step. */
  let begun = 0;
  let accepted = 0;
  /** Steps in a row in which a connection was accepted, up to the last one. */
  let streak = 0;
  let portionAt = 0;
  /** By hook. A hook that has had its turn goes to the end. */
  const waiting = new Map<string | undefined, (() => void)[]>();

  return {
    wait(hook) {
      step();
      if (waiting.size === 0 && streak < BURST_STEPS && begun < MAX_BEGUN) {
        begun++;
        return undefined;
      }
      const name = hook();
      const queue = waiting.get(name) ?? [];
      waiting.set(name, queue);
      return new Promise((resolve) => queue.push(resolve));
    },
    accept() {
      step();
      accepted++;
    },
  };

  function step(): void {
    if (!isStepping) setImmediate(endStep);
    isStepping = true;
  }

  function endStep(): void {
    isStepping = false;
    streak = accepted > 0 ? streak + 1 : 0;
    accepted = 0;
    begun = 0;
    if (streak < BURST_STEPS) {
      beginPortion(MAX_BEGUN);
    } else if (performance.now() - portionAt > BURST_PORTION.everyMs) {
      portionAt = performance.now();
      beginPortion(BURST_PORTION.size);
    }
    if (waiting.size > 0 || begun > 0 || streak > 0) step();
  }

  function beginPortion(size: number): void {
    for (const [hook, queue] of waiting) {
      if (begun === size) return;
      begun++;
      queue.shift()!();
      // The loop comes to it again after the others.
      waiting.delete(hook);
      if (queue.length > 0) waiting.set(hook, queue);
    }
  }
}
