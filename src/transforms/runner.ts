import type { ConfigProblem } from "../errors.ts";
import type { LogLine } from "../types.ts";
import type { TransformInput } from "./author.ts";

/** `request`: one realm, frozen, a fresh module closure a call · `strict`: a fresh context a call. */
export type Isolation = "request" | "strict";

/** A transform as a mapping names it, paths absolute. */
export interface TransformSpec {
  /** The module file. */
  file: string;
  /** Imports and the file itself must stay inside, after symlinks. */
  root: string;
  /** Named export to call; absent: `default`, else `transform`. */
  export?: string;
  timeoutMs: number;
  memoryMb: number;
  isolation: Isolation;
  secrets: Record<string, string>;
}

/** A compiled transform: everything a sandbox needs, and nothing else. */
export interface TransformBundle {
  spec: TransformSpec;
  /** SHA-256 of code and export: names the module version. */
  id: string;
  code: string;
  /** JSON text of the source map; stays with the supervisor. */
  sourceMap: string;
  /** Every file that went in, absolute: what to watch. */
  inputs: string[];
}

export type CompileResult =
  | { bundle: TransformBundle; problems: [] }
  | { bundle?: undefined; problems: ConfigProblem[]; inputs: string[] };

/** A transform's input as it is handed over: the body as bytes, and without the secrets, which the spec holds. */
export interface TransformCall extends Omit<TransformInput, "rawBody" | "base" | "secrets" | "item"> {
  rawBody: Buffer;
  /** `payload` is `JSON.parse(rawBody)`, so only the bytes have to be sent. */
  payloadIsBody: boolean;
  base: object;
  /** Set under `forEach`. */
  item?: unknown;
}

export interface TransformOutcome {
  /** What the function returned, as JSON carries it; undefined keeps the base. */
  value: unknown;
  log: LogLine[];
}

export interface SandboxStatus {
  ready: boolean;
  children: number;
  inFlight: number;
  calls: number;
  failures: number;
  /** Children ended because of a timeout, a crash, memory or age. */
  recycled: number;
}

/** Runs transforms outside the gateway process. */
export interface TransformRunner {
  /** Evaluates the module once; resolves with what is wrong with it, empty when it can serve. */
  check(bundle: TransformBundle): Promise<ConfigProblem[]>;
  /** Rejects with a `TransformError`, never with anything else. */
  run(bundle: TransformBundle, call: TransformCall): Promise<TransformOutcome>;
  status(): SandboxStatus;
  close(): Promise<void>;
}
