import { defineGlobal } from "./harden.ts";

/** The clock of a call: it stands still, until the timers of the call move it. In milliseconds since the epoch. */
export interface CallClock {
  now(): number;
  /** At the beginning of a call. */
  start(now: number): void;
  move(now: number): void;
}

/** Replaces `Date` by one with the clock of the call, and adds `performance`, which counts from the call's beginning. */
export function installClock(): CallClock {
  const NativeDate = Date;
  let now = 0;
  let startedAt = 0;

  function FixedDate(...args: unknown[]): unknown {
    if (new.target === undefined) return new NativeDate(now).toString();
    return Reflect.construct(NativeDate, args.length === 0 ? [now] : args, new.target);
  }
  Object.defineProperties(FixedDate, {
    ...Object.getOwnPropertyDescriptors(NativeDate),
    now: { value: () => now, writable: true, configurable: true },
  });
  Object.defineProperty(NativeDate.prototype, "constructor", { value: FixedDate });
  defineGlobal("Date", FixedDate);
  fixFormat(() => now);

  // Marks and listeners would live longer than a call.
  defineGlobal("performance", {
    now: () => now - startedAt,
    get timeOrigin(): number {
      return startedAt;
    },
    toJSON: () => ({ timeOrigin: startedAt }),
  });

  return {
    now: () => now,
    start(time) {
      now = time;
      startedAt = time;
    },
    move(time) {
      now = time;
    },
  };
}

/** Without a date, a `DateTimeFormat` would use the system clock. */
function fixFormat(now: () => number): void {
  const { prototype } = Intl.DateTimeFormat;
  const { get } = Object.getOwnPropertyDescriptor(prototype, "format")!;
  const { formatToParts } = prototype;
  Object.defineProperties(prototype, {
    format: {
      get(this: Intl.DateTimeFormat) {
        const format: Intl.DateTimeFormat["format"] = Reflect.apply(get!, this, []);
        return (date: Date | number = now()) => format(date);
      },
      configurable: true,
    },
    formatToParts: {
      value(this: Intl.DateTimeFormat, date: Date | number = now()) {
        return Reflect.apply(formatToParts, this, [date]);
      },
      writable: true,
      configurable: true,
    },
  });
}
