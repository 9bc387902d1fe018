import { defineGlobal } from "./harden.ts";

/** Replaces `Date` by one with a fixed clock, and gives the function that sets the clock. */
export function installClock(): (milliseconds: number) => void {
  const NativeDate = Date;
  let now = 0;

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

  return function setNow(milliseconds) {
    now = milliseconds;
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
