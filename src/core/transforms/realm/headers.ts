import { defineGlobal, nameObjects } from "./harden.ts";
import { toPairs } from "./url.ts";

const TOKEN_CHARACTERS = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz";

/** Adds `Headers`: names in any case, values of one name joined with commas, sorted. */
export function installHeaders(): void {
  class Headers {
    readonly #values = new Map<string, string[]>();

    constructor(init: unknown = {}) {
      if (typeof init !== "object" || init === null) throw new TypeError("Headers are made of an object, or of pairs.");
      for (const [name, value] of toPairs(init)) this.append(name, value);
    }

    append(name: unknown, value: unknown): void {
      const key = toName(name);
      this.#values.set(key, [...(this.#values.get(key) ?? []), toValue(value)]);
    }
    set(name: unknown, value: unknown): void {
      this.#values.set(toName(name), [toValue(value)]);
    }
    get(name: unknown): string | null {
      return this.#values.get(toName(name))?.join(", ") ?? null;
    }
    has(name: unknown): boolean {
      return this.#values.has(toName(name));
    }
    delete(name: unknown): void {
      this.#values.delete(toName(name));
    }
    getSetCookie(): string[] {
      return [...(this.#values.get("set-cookie") ?? [])];
    }
    forEach(callback: (value: string, name: string, headers: Headers) => void, self?: unknown): void {
      for (const [name, value] of this.entries()) Reflect.apply(callback, self, [value, name, this]);
    }
    *entries(): Generator<[name: string, value: string]> {
      for (const [name, values] of [...this.#values].toSorted(([one], [other]) => (one < other ? -1 : 1))) {
        if (name === "set-cookie") for (const value of values) yield [name, value];
        else yield [name, values.join(", ")];
      }
    }
    *keys(): Generator<string> {
      for (const [name] of this.entries()) yield name;
    }
    *values(): Generator<string> {
      for (const [, value] of this.entries()) yield value;
    }
    [Symbol.iterator](): Generator<[name: string, value: string]> {
      return this.entries();
    }
  }
  nameObjects("Headers", Headers);
  defineGlobal("Headers", Headers);
}

/** No regular expression: its last match would be seen by the transform. */
function toName(name: unknown): string {
  const key = String(name).toLowerCase();
  for (const character of key) if (!TOKEN_CHARACTERS.includes(character)) throw refuseName(key);
  if (key === "") throw refuseName(key);
  return key;
}

function refuseName(name: string): TypeError {
  return new TypeError(`"${name}" is no name of a header.`);
}

function toValue(value: unknown): string {
  const text = String(value).trim();
  for (const character of ["\0", "\r", "\n"]) {
    if (text.includes(character)) throw new TypeError("The value of a header cannot have a line break.");
  }
  return text;
}
