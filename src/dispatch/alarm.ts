/** The longest that a timer can wait. */
const MOST_MS = 2 ** 31 - 1;

export interface Alarm {
  /** Rings at this moment (milliseconds since the epoch), or earlier if it was set to an earlier one. */
  set(at: number): void;
  /** Never rings again. */
  stop(): void;
}

/** One timer for many moments: it rings at the earliest, once; a moment far off may ring early. */
export function createAlarm(ring: () => void): Alarm {
  let timer: NodeJS.Timeout | undefined;
  let setTo = Infinity;
  let stopped = false;

  return {
    set(at) {
      if (stopped || at >= setTo) return;
      clearTimeout(timer);
      setTo = at;
      timer = setTimeout(go, Math.min(Math.max(at - Date.now(), 0), MOST_MS));
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };

  function go(): void {
    setTo = Infinity;
    ring();
  }
}
