/** The differences between the effects of a sender's hooks and each effect once, in order. */
export interface Audit {
  /** Hooks without an effect. */
  lost: number;
  /** Repeated effects, except those in `again`. */
  duplicated: number;
  /** Effects that arrived after a later one. */
  outOfOrder: number;
  /** Turns or messages repeated because a kill happened before the first one was recorded. */
  again: number;
}

/** One effect: the number of its hook and, for an external effect, the number of the service's process. */
export interface Effect {
  number: number;
  /** All that arrived together: of a coalesced run. */
  numbers?: string;
  processNumber?: number;
  /** Its process was stopped, so it has recorded all that it did. */
  isStopped?: boolean;
  /** Several processes: it arrived during this fault of one of them. */
  fault?: string;
}

/**
 * Compares the effects with 1 … `hooks`. Only the last effect of one process may be repeated, as the first of a later
 * process: the turns of one session run one by one, and so do the messages to one recipient. A process that was paused can
 * repeat what it had begun before, although others have gone on.
 */
export function audit(effects: Effect[], hooks: number): Audit {
  const result = { lost: 0, duplicated: 0, outOfOrder: 0, again: 0 };
  const seen = new Map<number, Effect>();
  let before: Effect = { number: 0 };
  for (const effect of effects) {
    if (isAgain(effect, before, seen.get(effect.number))) result.again += 1;
    else if (seen.has(effect.number)) result.duplicated += 1;
    else if (effect.number < before.number) result.outOfOrder += 1;
    seen.set(effect.number, effect);
    before = effect;
  }
  for (let number = 1; number <= hooks; number += 1) if (!seen.has(number)) result.lost += 1;
  return result;
}

export function sumAudits(audits: Audit[]): Audit {
  const sum = (part: keyof Audit): number => audits.reduce((total, each) => total + each[part], 0);
  return {
    lost: sum("lost"),
    duplicated: sum("duplicated"),
    outOfOrder: sum("outOfOrder"),
    again: sum("again"),
  };
}

function isAgain(effect: Effect, before: Effect, earlier: Effect | undefined): boolean {
  if (!earlier || earlier.isStopped) return false;
  if (effect.fault === "pause" || earlier.fault === "pause") return true;
  // Requests that arrived together are repeated together.
  const isNext = effect.numbers === undefined ? effect.number === before.number : effect.numbers === before.numbers;
  return isNext && (effect.processNumber !== earlier.processNumber || effect.fault !== undefined);
}
