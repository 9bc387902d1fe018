import type { Ask } from "./host.ts";

type Pair = [name: string, value: string];

/** What `URL` needs of the class below, and no transform sees. */
export interface SearchParams {
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
export function createUrlSearchParams(ask: Ask): SearchParamsKit {
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
