import { defineGlobal } from "./harden.ts";
import type { CallHost } from "./host.ts";

const SETTABLE = ["protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"];

type Pair = [name: string, value: string];

/** Adds `URL` and `URLSearchParams`, based on the parsers of the child's Node. */
export function installUrl(callHost: CallHost): void {
  const parseQuery = (search: string): Pair[] => JSON.parse(callHost("parseQuery", search));
  /** Access for `URL` to the private state of its `searchParams`. */
  let connect!: (params: URLSearchParams, onChange: (search: string) => void) => void;
  let refresh!: (params: URLSearchParams, search: string) => void;

  class URLSearchParams {
    #pairs: Pair[];
    #onChange: ((search: string) => void) | undefined;

    static {
      connect = (params, onChange) => void (params.#onChange = onChange);
      refresh = (params, search) => void (params.#pairs = parseQuery(search));
    }

    constructor(init: unknown = "") {
      this.#pairs = typeof init === "object" && init !== null ? toPairs(init) : parseQuery(String(init));
    }
    get size(): number {
      return this.#pairs.length;
    }
    append(name: unknown, value: unknown): void {
      this.#change([...this.#pairs, [String(name), String(value)]]);
    }
    delete(name: unknown, value?: unknown): void {
      this.#change(this.#pairs.filter((pair) => !matches(pair, name, value)));
    }
    get(name: unknown): string | null {
      return this.getAll(name)[0] ?? null;
    }
    getAll(name: unknown): string[] {
      return this.#pairs.filter((pair) => matches(pair, name)).map((pair) => pair[1]);
    }
    has(name: unknown, value?: unknown): boolean {
      return this.#pairs.some((pair) => matches(pair, name, value));
    }
    set(name: unknown, value: unknown): void {
      const place = this.#pairs.findIndex((pair) => matches(pair, name));
      const rest = this.#pairs.filter((pair) => !matches(pair, name));
      this.#change(rest.toSpliced(place === -1 ? rest.length : place, 0, [String(name), String(value)]));
    }
    sort(): void {
      this.#change(this.#pairs.toSorted(([a], [b]) => (a < b ? -1 : Number(a > b))));
    }
    forEach(callback: (value: string, name: string, params: URLSearchParams) => void): void {
      for (const [name, value] of this.entries()) callback(value, name, this);
    }
    *entries(): Generator<Pair> {
      for (const [name, value] of this.#pairs) yield [name, value];
    }
    *keys(): Generator<string> {
      for (const [name] of this.entries()) yield name;
    }
    *values(): Generator<string> {
      for (const [, value] of this.entries()) yield value;
    }
    [Symbol.iterator](): Generator<Pair> {
      return this.entries();
    }
    toString(): string {
      return callHost("writeQuery", JSON.stringify(this.#pairs));
    }
    #change(pairs: Pair[]): void {
      this.#pairs = pairs;
      this.#onChange?.(this.toString());
    }
  }

  class URL {
    /** By the names of its properties. */
    #parts: Record<string, string>;
    #searchParams: URLSearchParams;

    static {
      for (const part of SETTABLE) {
        Object.defineProperty(URL.prototype, part, {
          get(this: URL) {
            return this.#parts[part];
          },
          set(this: URL, value: unknown) {
            this.#replace("setUrlPart", this.href, part, String(value));
          },
          configurable: true,
        });
      }
    }

    constructor(url: string | URL, base?: string | URL) {
      this.#parts = JSON.parse(callHost("parseUrl", ...(base === undefined ? [url] : [url, base]).map(String)));
      this.#searchParams = new URLSearchParams(this.#parts["search"]);
      connect(this.#searchParams, (search) => this.#replace("setUrlPart", this.href, "search", search));
    }
    get href(): string {
      return this.#parts["href"]!;
    }
    set href(url: unknown) {
      this.#replace("parseUrl", String(url));
    }
    get origin(): string {
      return this.#parts["origin"]!;
    }
    get searchParams(): URLSearchParams {
      return this.#searchParams;
    }
    toString(): string {
      return this.href;
    }
    toJSON(): string {
      return this.href;
    }
    static canParse(url: string | URL, base?: string | URL): boolean {
      return URL.parse(url, base) !== null;
    }
    static parse(url: string | URL, base?: string | URL): URL | null {
      try {
        return new URL(url, base);
      } catch {
        return null;
      }
    }
    #replace(operation: string, ...args: string[]): void {
      this.#parts = JSON.parse(callHost(operation, ...args));
      refresh(this.#searchParams, this.#parts["search"]!);
    }
  }

  defineGlobal("URL", URL);
  defineGlobal("URLSearchParams", URLSearchParams);
}

/** The pairs of an object, or of a list of pairs, as texts. */
export function toPairs(init: object): Pair[] {
  const entries: unknown[][] = isIterable(init) ? [...init] : Object.entries(init);
  return entries.map(([name, value]) => [String(name), String(value)]);
}

function isIterable(value: object): value is Iterable<unknown[]> {
  return Symbol.iterator in value;
}

function matches(pair: Pair, name: unknown, value?: unknown): boolean {
  return pair[0] === toText(name) && (value === undefined || pair[1] === toText(value));
}

function toText(value: unknown): string {
  return String(value);
}
