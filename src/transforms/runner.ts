import type { ConfigProblem } from "../errors.ts";
import type { LogLine } from "../types.ts";

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

/** What a transform function is called with, before it crosses. */
export interface TransformInput {
  payload: unknown;
  /** True where `payload` is `JSON.parse(rawBody)`, so that only the bytes need to cross. */
  payloadIsBody: boolean;
  rawBody: Buffer;
  headers: Record<string, string>;
  query: Record<string, string>;
  path: string;
  method: string;
  /** ISO 8601. */
  now: string;
  /** What the mapping's templates give. */
  base: unknown;
  /** Set under `forEach`. */
  item?: unknown;
  index?: number;
}

/** What came back. `unchanged`: the function returned undefined. */
type TransformResult = { kind: "unchanged" } | { kind: "value"; value: unknown };

export interface TransformOutcome {
  result: TransformResult;
  log: LogLine[];
  /** Wall time from hand-over to answer, in milliseconds. */
  durationMs: number;
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
  run(bundle: TransformBundle, input: TransformInput): Promise<TransformOutcome>;
  status(): SandboxStatus;
  close(): Promise<void>;
}
