import type { EventStatus } from "../types.ts";

/** What the service counts and times, as it happens. Times are in milliseconds. Names are of mappings, hooks and channels. */
export interface Meter {
  /** A request to a hook was answered. `hook` is undefined unless the configuration names it. */
  answered(answer: { hook: string | undefined; status: number; ms: number }): void;
  /** An event was recorded. `mapping` is that of the configuration, or the service's own hook. */
  recorded(event: { mapping: string | undefined; status: EventStatus; mappingMs?: number; commitMs?: number }): void;
  /** An attempt at a run has ended. */
  turned(turn: { result: "done" | "retried" | "dead" | "held"; ms: number; usage?: TokenUsage }): void;
  delivered(delivery: { channel: string; result: "sent" | "retried" | "failed" | "skipped"; ms: number }): void;
  rejected(reason: string): void;
  reloaded(isGood: boolean): void;
}

interface TokenUsage {
  inputTokens?: number;
  outputTokens?: number;
}

const ignore = (): void => undefined;

export const silentMeter: Meter = {
  answered: ignore,
  recorded: ignore,
  turned: ignore,
  delivered: ignore,
  rejected: ignore,
  reloaded: ignore,
};

/** Tells several meters. */
export function joinMeters(...meters: Meter[]): Meter {
  return {
    answered: (answer) => meters.forEach((meter) => meter.answered(answer)),
    recorded: (event) => meters.forEach((meter) => meter.recorded(event)),
    turned: (turn) => meters.forEach((meter) => meter.turned(turn)),
    delivered: (delivery) => meters.forEach((meter) => meter.delivered(delivery)),
    rejected: (reason) => meters.forEach((meter) => meter.rejected(reason)),
    reloaded: (isGood) => meters.forEach((meter) => meter.reloaded(isGood)),
  };
}

/** What happened before the library is there; at its first use it takes longer to load than many requests take. */
const MAX_WAITING = 10_000;

/** A meter that is loaded when something is measured for the first time, and is then told everything from the start. */
export function createLazyMeter<Loaded extends Meter>(
  load: () => Promise<Loaded>,
): Meter & { loaded(): Promise<Loaded> } {
  let meter: Meter | undefined;
  let loading: Promise<Loaded> | undefined;
  const waiting: ((meter: Meter) => void)[] = [];

  return {
    answered: (answer) => (meter ? meter.answered(answer) : wait((later) => later.answered(answer))),
    recorded: (event) => (meter ? meter.recorded(event) : wait((later) => later.recorded(event))),
    turned: (turn) => (meter ? meter.turned(turn) : wait((later) => later.turned(turn))),
    delivered: (delivery) => (meter ? meter.delivered(delivery) : wait((later) => later.delivered(delivery))),
    rejected: (reason) => (meter ? meter.rejected(reason) : wait((later) => later.rejected(reason))),
    reloaded: (isGood) => (meter ? meter.reloaded(isGood) : wait((later) => later.reloaded(isGood))),
    loaded,
  };

  function wait(report: (meter: Meter) => void): void {
    if (waiting.length < MAX_WAITING) waiting.push(report);
    void loaded();
  }

  function loaded(): Promise<Loaded> {
    loading ??= load().then((ready) => {
      meter = ready;
      for (const report of waiting.splice(0)) report(ready);
      return ready;
    });
    return loading;
  }
}
