import type { CallClock } from "./call-clock.ts";
import { defineGlobal } from "./harden.ts";

/** Fired and waiting together, in one call. */
const MAX_TIMERS = 10_000;
/** A longer delay counts as 1 ms, as in Node. The clock can therefore not leave the range of dates. */
const MAX_DELAY_MS = 2 ** 31 - 1;
const TOO_MANY = `A call can have ${MAX_TIMERS} timers. Clear one that is set again and again.`;

/** The timers of a call. They need no wait: the clock of the call moves to the next one. */
export interface CallTimers {
  /** At the beginning of a call. `fail` ends the call with what a callback threw. */
  start(fail: (thrown: unknown) => void): void;
  /** Drops all of them. Microtasks that are left can set no more. */
  end(): void;
  /** Moves the clock to the next timer and fires it. false: none is left. */
  fire(): boolean;
}

/** Only this file makes timers: their class is reached through any timer. */
const KEY = {};

function ignore(): void {}

/** Adds `setTimeout`, `setInterval`, `setImmediate`, what clears them, and `queueMicrotask`. */
export function installTimers(clock: CallClock): CallTimers {
  /** Sorted: the next one comes last. */
  let waiting: Timer[] = [];
  const byId = new Map<number, Timer>();
  let fired = 0;
  let lastId = 0;
  let isOpen = false;
  let fail: (thrown: unknown) => void = ignore;
  let fireTimer!: (timer: Timer) => void;
  let clearTimer!: (timer: unknown) => void;

  class Timer {
    readonly #id = ++lastId;
    readonly #callback: () => void;
    readonly #delay: number;
    readonly #repeats: boolean;
    #due = 0;

    static {
      fireTimer = (timer) => {
        clock.move(Math.max(clock.now(), timer.#due));
        timer.#callback();
        if (!timer.#repeats) byId.delete(timer.#id);
        else if (byId.has(timer.#id) && !waiting.includes(timer)) timer.#wait();
      };
      clearTimer = (timer) => {
        const found = typeof timer === "object" && timer !== null && #id in timer ? timer : byId.get(Number(timer));
        if (found && byId.delete(found.#id)) found.#leave();
      };
    }

    constructor(key: unknown, callback: () => void, delay: number, repeats: boolean) {
      if (key !== KEY) throw new TypeError("Illegal constructor");
      this.#callback = callback;
      this.#delay = delay;
      this.#repeats = repeats;
      if (!isOpen) return;
      byId.set(this.#id, this);
      this.#wait();
    }

    ref(): this {
      return this;
    }
    unref(): this {
      return this;
    }
    hasRef(): boolean {
      return true;
    }
    refresh(): this {
      if (!byId.has(this.#id)) return this;
      this.#leave();
      this.#wait();
      return this;
    }
    close(): this {
      clearTimer(this);
      return this;
    }
    [Symbol.toPrimitive](): number {
      return this.#id;
    }
    [Symbol.dispose](): void {
      clearTimer(this);
    }

    /** Timers with the same time stay in the order in which they were set. */
    #wait(): void {
      if (fired + waiting.length >= MAX_TIMERS) throw new RangeError(TOO_MANY);
      this.#due = clock.now() + this.#delay;
      let low = 0;
      let high = waiting.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (waiting[middle]!.#due > this.#due) low = middle + 1;
        else high = middle;
      }
      waiting.splice(low, 0, this);
    }

    #leave(): void {
      const index = waiting.indexOf(this);
      if (index !== -1) waiting.splice(index, 1);
    }
  }

  /** `least` is also what a delay that is no valid number counts as. */
  function defineTimer(name: string, { repeats, least }: { repeats: boolean; least?: number }): void {
    const { [name]: set } = {
      [name](callback: unknown, ...args: unknown[]): Timer {
        if (typeof callback !== "function") throw new TypeError('The "callback" argument must be of type function.');
        const wanted = least === undefined ? 0 : Number(args.shift());
        const isValid = wanted >= 1 && wanted <= MAX_DELAY_MS;
        const delay = isValid ? Math.trunc(wanted) : (least ?? 0);
        const timer: Timer = new Timer(KEY, () => Reflect.apply(callback, timer, args), delay, repeats);
        return timer;
      },
    };
    defineGlobal(name, set);
  }
  defineTimer("setTimeout", { repeats: false, least: 1 });
  defineTimer("setInterval", { repeats: true, least: 1 });
  defineTimer("setImmediate", { repeats: false });
  for (const name of ["clearTimeout", "clearInterval", "clearImmediate"]) {
    defineGlobal(name, { [name]: (timer?: unknown) => clearTimer(timer) }[name]);
  }

  defineGlobal("queueMicrotask", function queueMicrotask(callback: unknown): void {
    if (typeof callback !== "function") throw new TypeError('The "callback" argument must be of type function.');
    // A rejection that nobody awaits ends the call.
    void runLater(callback);
  });

  async function runLater(callback: Function): Promise<void> {
    await Promise.resolve();
    callback();
  }

  function drop(): void {
    fail = ignore;
    if (waiting.length > 0) waiting = [];
    if (byId.size > 0) byId.clear();
  }

  return {
    start(onThrown) {
      drop();
      fail = onThrown;
      fired = 0;
      lastId = 0;
      isOpen = true;
    },
    end() {
      drop();
      isOpen = false;
    },
    fire() {
      const next = waiting.pop();
      if (!next) return false;
      fired++;
      try {
        fireTimer(next);
      } catch (thrown) {
        fail(thrown);
      }
      return true;
    },
  };
}
