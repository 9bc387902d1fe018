import { defineGlobal } from "./harden.ts";
import { type Ask, fromBinary, toBinary } from "./host.ts";

/** Adds `TextEncoder`, `TextDecoder` (without streaming), `atob` and `btoa`. */
export function installEncoding(ask: Ask): void {
  class TextEncoder {
    readonly encoding = "utf-8";

    encode(text: unknown = ""): Uint8Array {
      return fromBinary(ask("encode", String(text)));
    }
  }

  class TextDecoder {
    readonly encoding: string;
    readonly fatal: boolean;
    readonly ignoreBOM: boolean;

    constructor(label: unknown = "utf-8", options: { fatal?: boolean; ignoreBOM?: boolean } = {}) {
      this.fatal = Boolean(options.fatal);
      this.ignoreBOM = Boolean(options.ignoreBOM);
      this.encoding = ask("encodingName", String(label));
    }

    decode(bytes: unknown = new Uint8Array()): string {
      return ask("decode", this.encoding, this.fatal, this.ignoreBOM, toBinary(bytes));
    }
  }

  defineGlobal("TextEncoder", TextEncoder);
  defineGlobal("TextDecoder", TextDecoder);
  defineGlobal("atob", (text: unknown) => ask("atob", String(text)));
  defineGlobal("btoa", (text: unknown) => ask("btoa", String(text)));
}
