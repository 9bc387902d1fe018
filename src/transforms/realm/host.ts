import { defineGlobal } from "./harden.ts";

/** The only way out of an isolate: the name of a child's operation and its arguments as JSON, strings both ways. */
export type HostCall = (operation: string, args: string) => string;

/** The child's reply to an operation; it crosses as JSON. */
export type HostReply = { value: string } | { error: string };

const MAX_ARGUMENT_LENGTH = 4 * 1024 * 1024;

/** Calls an operation of the child; throws a TypeError with the child's message if it fails. */
export type Ask = (operation: string, ...args: (string | boolean)[]) => string;

export function createAsk(call: HostCall): Ask {
  return function ask(operation, ...args) {
    const text = JSON.stringify(args);
    if (text.length > MAX_ARGUMENT_LENGTH) throw new RangeError("The argument is too long for the sandbox.");
    const reply: HostReply = JSON.parse(call(operation, text));
    if ("error" in reply) throw new TypeError(reply.error);
    return reply.value;
  };
}

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

/** Bytes cross as text, one character of U+0000 to U+00FF per byte. */
export function toBinary(source: unknown): string {
  const bytes = toBytes(source);
  let text = "";
  // More arguments per call could exhaust the stack.
  for (let start = 0; start < bytes.length; start += 8192) {
    text += String.fromCharCode(...bytes.subarray(start, start + 8192));
  }
  return text;
}

export function fromBinary(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index++) bytes[index] = text.charCodeAt(index);
  return bytes;
}

function toBytes(source: unknown): Uint8Array {
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  throw new TypeError("Expected an ArrayBuffer, a typed array or a DataView.");
}
