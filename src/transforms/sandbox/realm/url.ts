import { defineGlobal } from "./define-global.ts";
import type { Ask } from "./host.ts";
import { createUrlSearchParams, type SearchParams } from "./url-search-params.ts";

const SETTABLE = [
  "protocol",
  "username",
  "password",
  "host",
  "hostname",
  "port",
  "pathname",
  "search",
  "hash",
];

/** A URL's state: its parts by the names of its properties, as the parser of the child's Node gives them. */
interface UrlState {
  parts: Record<string, string>;
  searchParams: SearchParams;
}

/** Adds `URL` and `URLSearchParams`, over the parser of the child's Node. */
export function installUrl(ask: Ask): void {
  const { URLSearchParams, link, refresh } = createUrlSearchParams(ask);
  const states = new WeakMap<object, UrlState>();
  const askParts = (operation: string, ...args: string[]): UrlState["parts"] =>
    JSON.parse(ask(operation, ...args));

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
