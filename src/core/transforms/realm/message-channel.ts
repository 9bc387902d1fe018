import { defineGlobal, nameObjects } from "./harden.ts";

/** Only this file makes ports. */
const KEY = {};

/** Adds `MessageChannel`, `MessagePort` and `MessageEvent`. Both ends of a channel belong to one call; its timers deliver. */
export function installMessageChannel(): void {
  let connect!: (one: MessagePort, other: MessagePort) => void;

  class MessageEvent extends Event {
    readonly data: unknown;

    constructor(type: string, { data = null, ...options }: { data?: unknown; cancelable?: boolean } = {}) {
      super(type, options);
      this.data = data;
    }
  }

  class MessagePort extends EventTarget {
    #peer: MessagePort | undefined;
    /** Messages that came before the port was started. */
    #held: unknown[] | undefined = [];
    #onmessage: ((event: unknown) => unknown) | null = null;

    static {
      connect = (one, other) => {
        one.#peer = other;
        other.#peer = one;
      };
    }

    constructor(key?: unknown) {
      super();
      if (key !== KEY) throw new TypeError("Illegal constructor");
      this.addEventListener("message", (event) => this.#onmessage?.(event));
    }

    get onmessage(): ((event: unknown) => unknown) | null {
      return this.#onmessage;
    }
    set onmessage(callback: unknown) {
      this.#onmessage = typeof callback === "function" ? (event) => Reflect.apply(callback, this, [event]) : null;
      this.start();
    }
    postMessage(message: unknown): void {
      if (this.#peer) this.#peer.#receive(structuredClone(message));
    }
    start(): void {
      const held = this.#held ?? [];
      this.#held = undefined;
      for (const message of held) this.#receive(message);
    }
    close(): void {
      if (this.#peer) this.#peer.#peer = undefined;
      this.#peer = undefined;
    }
    ref(): void {}
    unref(): void {}

    #receive(data: unknown): void {
      if (this.#held) this.#held.push(data);
      else setImmediate(() => this.dispatchEvent(new MessageEvent("message", { data })));
    }
  }

  class MessageChannel {
    readonly port1 = new MessagePort(KEY);
    readonly port2 = new MessagePort(KEY);

    constructor() {
      connect(this.port1, this.port2);
    }
  }

  for (const [name, made] of Object.entries({ MessageChannel, MessageEvent, MessagePort })) {
    nameObjects(name, made);
    defineGlobal(name, made);
  }
}
