import { defineGlobal } from "./harden.ts";
import type { Ask } from "./host.ts";

const SETTABLE = ["protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"];

/** A URL's state: its parts by the names of its properties, as the parser of the child's Node gives them. */
interface UrlState {
  parts: Record<string, string>;
  searchParams: SearchParams;
}

/** Adds `URL` and `URLSearchParams`, over the parser of the child's Node. */
export function installUrl(ask: Ask): void {
  const { URLSearchParams, link, refresh } = createUrlSearchParams(ask);
  const states = new WeakMap<object, UrlState>();
  const askParts = (operation: string, ...args: string[]): UrlState["parts"] => JSON.parse(ask(operation, ...args));

  class URL {
    constructor(url: string | URL, base?: string | URL) {
      const parts = askParts("parseUrl", ...(base === undefined ? [url] : [url, base]).map(String));
      const searchParams = new URLSearchParams(parts["search"]);
      states.set(this, { parts, searchParams });
      link(searchParams, (search) => setPart(states.get(this)!, "search", search));
    }
    get href(): string {
      return states.get(this)!.parts["href"]!;
    }
    set href(url: unknown) {
      replaceParts(states.get(this)!, askParts("parseUrl", String(url)));
    }
    get origin(): string {
      return states.get(this)!.parts["origin"]!;
    }
    get searchParams(): SearchParams {
      return states.get(this)!.searchParams;
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
  }

  function setPart(state: UrlState, part: string, value: string): void {
    replaceParts(state, askParts("setUrlPart", state.parts["href"]!, part, value));
  }

  function replaceParts(state: UrlState, parts: UrlState["parts"]): void {
    state.parts = parts;
    refresh(state.searchParams, parts["search"]!);
  }

  for (const part of SETTABLE) {
    Object.defineProperty(URL.prototype, part, {
      get(this: URL) {
        return states.get(this)!.parts[part];
      },
      set(this: URL, value: unknown) {
        setPart(states.get(this)!, part, String(value));
      },
      configurable: true,
    });
  }
  defineGlobal("URL", URL);
  defineGlobal("URLSearchParams", URLSearchParams);
}

type Pair = [name: string, value: string];

/** What `URL` needs of the class below, and no transform sees. */
interface SearchParams {
  toString(): string;
}

interface SearchParamsKit {
  URLSearchParams: new (init?: unknown) => SearchParams;
  /** Calls `onChange` with the new text whenever the parameters change. */
  link: (params: SearchParams, onChange: (search: string) => void) => void;
  /** Reads the parameters anew, telling nobody. */
  refresh: (params: SearchParams, search: string) => void;
}

interface State {
  pairs: Pair[];
  onChange(search: string): void;
}

/** Makes the class `URLSearchParams`, over the form parser of the child's Node. */
function createUrlSearchParams(ask: Ask): SearchParamsKit {
  const states = new WeakMap<object, State>();
  const parse = (search: string): Pair[] => JSON.parse(ask("parseQuery", search));

  function change(params: URLSearchParams, pairs: Pair[]): void {
    const state = states.get(params)!;
    state.pairs = pairs;
    state.onChange(params.toString());
  }

  class URLSearchParams {
    constructor(init: unknown = "") {
      const pairs = typeof init === "object" && init !== null ? toPairs(init) : parse(String(init));
      states.set(this, { pairs, onChange() {} });
    }
    get size(): number {
      return states.get(this)!.pairs.length;
    }
    append(name: unknown, value: unknown): void {
      change(this, [...states.get(this)!.pairs, [String(name), String(value)]]);
    }
    delete(name: unknown, value?: unknown): void {
      change(
        this,
        states.get(this)!.pairs.filter((pair) => !matches(pair, name, value)),
      );
    }
    get(name: unknown): string | null {
      return this.getAll(name)[0] ?? null;
    }
    getAll(name: unknown): string[] {
      return states
        .get(this)!
        .pairs.filter((pair) => matches(pair, name))
        .map((pair) => pair[1]);
    }
    has(name: unknown, value?: unknown): boolean {
      return states.get(this)!.pairs.some((pair) => matches(pair, name, value));
    }
    set(name: unknown, value: unknown): void {
      const { pairs } = states.get(this)!;
      const place = pairs.findIndex((pair) => matches(pair, name));
      const rest = pairs.filter((pair) => !matches(pair, name));
      change(this, rest.toSpliced(place === -1 ? rest.length : place, 0, [String(name), String(value)]));
    }
    sort(): void {
      change(
        this,
        states.get(this)!.pairs.toSorted(([a], [b]) => (a < b ? -1 : Number(a > b))),
      );
    }
    forEach(callback: (value: string, name: string, params: URLSearchParams) => void): void {
      for (const [name, value] of this.entries()) callback(value, name, this);
    }
    *entries(): Generator<Pair> {
      for (const [name, value] of states.get(this)!.pairs) yield [name, value];
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
      return ask("writeQuery", JSON.stringify(states.get(this)!.pairs));
    }
  }

  return {
    URLSearchParams,
    link(params, onChange) {
      states.get(params)!.onChange = onChange;
    },
    refresh(params, search) {
      states.get(params)!.pairs = parse(search);
    },
  };
}

function toPairs(init: object): Pair[] {
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
