/** The globals of a transform besides the language itself. There is no network, file system, timer or process. */
declare const console: {
  /** Captured: shown with the event, by `webhooks try` and by `webhooks test`. */
  log(...values: unknown[]): void;
  debug(...values: unknown[]): void;
  info(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
};

declare class URLSearchParams {
  constructor(init?: string | Iterable<[string, string]> | Record<string, string>);
  readonly size: number;
  append(name: string, value: string): void;
  delete(name: string, value?: string): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: string): boolean;
  set(name: string, value: string): void;
  sort(): void;
  forEach(callback: (value: string, name: string, params: URLSearchParams) => void): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
  toString(): string;
}

declare class URL {
  constructor(url: string | URL, base?: string | URL);
  static canParse(url: string | URL, base?: string | URL): boolean;
  static parse(url: string | URL, base?: string | URL): URL | null;
  href: string;
  protocol: string;
  username: string;
  password: string;
  host: string;
  hostname: string;
  port: string;
  pathname: string;
  search: string;
  hash: string;
  readonly origin: string;
  readonly searchParams: URLSearchParams;
  toString(): string;
  toJSON(): string;
}

declare class TextEncoder {
  readonly encoding: "utf-8";
  encode(text?: string): Uint8Array;
}

declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  readonly encoding: string;
  decode(bytes?: ArrayBuffer | ArrayBufferView): string;
}

declare function atob(text: string): string;
declare function btoa(text: string): string;
declare function structuredClone<Value>(value: Value): Value;

declare class CryptoKey {
  private constructor();
  readonly type: "secret";
}

declare const crypto: {
  randomUUID(): string;
  getRandomValues<Values extends ArrayBufferView>(values: Values): Values;
  /** Digests, and HMAC with raw keys. */
  subtle: {
    digest(algorithm: string, data: ArrayBuffer | ArrayBufferView): Promise<ArrayBuffer>;
    importKey(
      format: "raw",
      key: ArrayBuffer | ArrayBufferView,
      algorithm: { name: "HMAC"; hash: string },
      extractable: boolean,
      usages: ("sign" | "verify")[],
    ): Promise<CryptoKey>;
    sign(algorithm: "HMAC", key: CryptoKey, data: ArrayBuffer | ArrayBufferView): Promise<ArrayBuffer>;
    verify(
      algorithm: "HMAC",
      key: CryptoKey,
      signature: ArrayBuffer | ArrayBufferView,
      data: ArrayBuffer | ArrayBufferView,
    ): Promise<boolean>;
  };
};
