import { defineGlobal, nameObjects } from "./harden.ts";

type Callback = ((event: unknown) => unknown) | { handleEvent(event: unknown): unknown };

interface Listener {
  callback: Callback;
  once: boolean;
  capture: boolean;
  removed: boolean;
}

interface EventOptions {
  bubbles?: unknown;
  cancelable?: unknown;
  composed?: unknown;
}

/** Only this file makes signals. */
const KEY = {};

/**
 * Adds `Event`, `CustomEvent`, `EventTarget`, `AbortController` and `AbortSignal`. Their objects belong to a call. `now` is
 * the time since its beginning, in milliseconds.
 */
export function installEvents(now: () => number): void {
  let point!: (event: Event, target: EventTarget | null) => void;
  let isStopped!: (event: Event) => boolean;

  class Event {
    readonly type: string;
    readonly bubbles: boolean;
    readonly cancelable: boolean;
    readonly composed: boolean;
    readonly isTrusted = false;
    readonly timeStamp = now();
    #target: EventTarget | null = null;
    #current: EventTarget | null = null;
    #prevented = false;
    #stopped = false;

    static {
      point = (event, target) => {
        event.#target ??= target;
        event.#current = target;
      };
      isStopped = (event) => event.#stopped;
    }

    constructor(type: string, options?: EventOptions);
    constructor(...args: [unknown?, EventOptions?]) {
      if (args.length === 0) throw new TypeError('The "type" argument must be specified');
      const [type, { bubbles, cancelable, composed } = {}] = args;
      this.type = String(type);
      this.bubbles = Boolean(bubbles);
      this.cancelable = Boolean(cancelable);
      this.composed = Boolean(composed);
    }

    get target(): EventTarget | null {
      return this.#target;
    }
    get srcElement(): EventTarget | null {
      return this.#target;
    }
    get currentTarget(): EventTarget | null {
      return this.#current;
    }
    /** 2: at the target. */
    get eventPhase(): number {
      return this.#current ? 2 : 0;
    }
    get defaultPrevented(): boolean {
      return this.#prevented;
    }
    preventDefault(): void {
      this.#prevented ||= this.cancelable;
    }
    stopPropagation(): void {}
    stopImmediatePropagation(): void {
      this.#stopped = true;
    }
    composedPath(): EventTarget[] {
      return this.#current ? [this.#current] : [];
    }
  }

  class CustomEvent extends Event {
    readonly detail: unknown;

    constructor(type: string, options: EventOptions & { detail?: unknown } = {}) {
      super(type, options);
      this.detail = options.detail ?? null;
    }
  }

  class EventTarget {
    readonly #listeners = new Map<string, Listener[]>();

    addEventListener(
      type: unknown,
      callback: Callback | null | undefined,
      options: boolean | { once?: unknown; capture?: unknown; signal?: AbortSignal } = {},
    ): void {
      if (callback === null || callback === undefined) return;
      const { once, capture, signal } = typeof options === "object" ? options : { capture: options };
      if (signal?.aborted) return;
      const name = String(type);
      const listeners = this.#listeners.get(name) ?? [];
      if (listeners.some((each) => each.callback === callback && each.capture === Boolean(capture))) return;
      const listener = { callback, once: Boolean(once), capture: Boolean(capture), removed: false };
      this.#listeners.set(name, [...listeners, listener]);
      signal?.addEventListener("abort", () => this.removeEventListener(name, callback, { capture }), { once: true });
    }

    removeEventListener(
      type: unknown,
      callback: Callback | null | undefined,
      options: boolean | { capture?: unknown } = {},
    ): void {
      const capture = Boolean(typeof options === "object" ? options.capture : options);
      const listeners = this.#listeners.get(String(type)) ?? [];
      for (const each of listeners) each.removed ||= each.callback === callback && each.capture === capture;
      const left = listeners.filter(({ removed }) => !removed);
      this.#listeners.set(String(type), left);
    }

    dispatchEvent(event: Event): boolean {
      point(event, this);
      for (const { callback, once, capture, removed } of this.#listeners.get(event.type) ?? []) {
        if (removed || isStopped(event)) continue;
        if (once) this.removeEventListener(event.type, callback, { capture });
        try {
          if (typeof callback === "function") Reflect.apply(callback, this, [event]);
          else callback.handleEvent(event);
        } catch (thrown) {
          // Node ends the process with it; here it ends the call.
          queueMicrotask(() => {
            throw thrown;
          });
        }
      }
      point(event, null);
      return !event.defaultPrevented;
    }
  }

  let abort!: (signal: AbortSignal, reason: unknown) => void;

  class AbortSignal extends EventTarget {
    #aborted = false;
    #reason: unknown;
    onabort: ((event: unknown) => unknown) | null = null;

    static {
      abort = (signal, reason = new DOMException("This operation was aborted", "AbortError")) => {
        if (signal.#aborted) return;
        signal.#aborted = true;
        signal.#reason = reason;
        const { onabort } = signal;
        if (typeof onabort === "function") signal.addEventListener("abort", onabort, { once: true });
        signal.dispatchEvent(new Event("abort"));
      };
    }

    constructor(key?: unknown) {
      super();
      if (key !== KEY) throw new TypeError("Illegal constructor");
    }

    get aborted(): boolean {
      return this.#aborted;
    }
    get reason(): unknown {
      return this.#reason;
    }
    throwIfAborted(): void {
      if (this.#aborted) throw this.#reason;
    }
    static abort(reason?: unknown): AbortSignal {
      const signal = new AbortSignal(KEY);
      abort(signal, reason);
      return signal;
    }
    static timeout(delay: number): AbortSignal {
      const signal = new AbortSignal(KEY);
      const reason = new DOMException("The operation was aborted due to timeout", "TimeoutError");
      setTimeout(() => abort(signal, reason), delay);
      return signal;
    }
    static any(signals: Iterable<AbortSignal>): AbortSignal {
      const all = [...signals];
      const result = new AbortSignal(KEY);
      const first = all.find(({ aborted }) => aborted);
      if (first) abort(result, first.reason);
      else for (const each of all) each.addEventListener("abort", () => abort(result, each.reason), { once: true });
      return result;
    }
  }

  class AbortController {
    readonly #signal = new AbortSignal(KEY);

    get signal(): AbortSignal {
      return this.#signal;
    }
    abort(reason?: unknown): void {
      abort(this.#signal, reason);
    }
  }

  for (const [name, made] of Object.entries({ Event, CustomEvent, EventTarget, AbortSignal, AbortController })) {
    nameObjects(name, made);
    defineGlobal(name, made);
  }
}
