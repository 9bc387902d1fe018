import { defineGlobal, nameObjects } from "./harden.ts";

/** Adds `Blob`, without streams. */
export function installBlob(): void {
  class Blob {
    #bytes = new Uint8Array();
    #type = "";

    static #of(bytes: Uint8Array<ArrayBuffer>, type: string): Blob {
      const blob = new Blob();
      blob.#bytes = bytes;
      blob.#type = type;
      return blob;
    }

    constructor(parts: Iterable<unknown> = [], { type = "" }: { type?: unknown } = {}) {
      const chunks = Array.from(parts, (part) => {
        if (typeof part === "object" && part !== null && #bytes in part) return part.#bytes;
        if (part instanceof ArrayBuffer) return new Uint8Array(part);
        if (ArrayBuffer.isView(part)) return new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
        return new TextEncoder().encode(String(part));
      });
      const bytes = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
      let position = 0;
      for (const chunk of chunks) {
        bytes.set(chunk, position);
        position += chunk.length;
      }
      this.#bytes = bytes;
      this.#type = String(type).toLowerCase();
    }

    get size(): number {
      return this.#bytes.length;
    }
    get type(): string {
      return this.#type;
    }
    slice(start?: number, end?: number, type: unknown = ""): Blob {
      return Blob.#of(this.#bytes.slice(start, end), String(type).toLowerCase());
    }
    async arrayBuffer(): Promise<ArrayBuffer> {
      return this.#bytes.slice().buffer;
    }
    async bytes(): Promise<Uint8Array> {
      return this.#bytes.slice();
    }
    async text(): Promise<string> {
      return new TextDecoder().decode(this.#bytes);
    }
  }
  nameObjects("Blob", Blob);
  defineGlobal("Blob", Blob);
}
