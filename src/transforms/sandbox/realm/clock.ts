import { defineGlobal } from "./define-global.ts";

/** Replaces `Date` by one whose clock stands still, and gives the function that sets it. */
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

  return function setNow(milliseconds) {
    now = milliseconds;
  };
}
