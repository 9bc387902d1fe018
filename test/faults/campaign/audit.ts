/** How what happened to a lane's hooks differs from each of them once, in order. */
export interface Audit {
  /** Hooks without an effect. */
  lost: number;
  /** Effects that came again, but for those in `again`. */
  duplicated: number;
  /** Effects that came before an earlier one. */
  outOfOrder: number;
  /** Turns or messages that came again because a kill fell between the first one and its record. */
  again: number;
}

/** One effect: the number of its hook, and which life of the service it came from where it happened outside. */
export interface Effect {
  number: number;
  life?: number;
}

/**
 * Counts against 1 … `hooks`. Only the last of one life may come again, as the first of a later life: the turns of one
 * session are taken one by one, and so are messages to one recipient sent.
 */
export function audit(effects: Effect[], hooks: number): Audit {
  const result = { lost: 0, duplicated: 0, outOfOrder: 0, again: 0 };
  const seen = new Set<number>();
  let before: Effect = { number: 0 };
  for (const effect of effects) {
    if (isAgain(effect, before)) result.again += 1;
    else if (seen.has(effect.number)) result.duplicated += 1;
    else if (effect.number < before.number) result.outOfOrder += 1;
    seen.add(effect.number);
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

function isAgain(effect: Effect, before: Effect): boolean {
  return effect.number === before.number && effect.life !== before.life;
}
