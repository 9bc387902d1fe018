import type { ConfigProblem } from "../errors.ts";
import type { LogLine } from "../types.ts";
import type { CompiledCode, PackageSize } from "./code-cache.ts";
import type { TransformInput } from "./transform-types.ts";

/** `request`: calls share a frozen realm, with new module variables per call · `strict`: a new realm per call. */
export type Isolation = "request" | "strict";

/** A mapping's transform, with absolute paths. */
export interface TransformSpec {
  /** The module file. */
  file: string;
  /** The file and its imports must be inside, after resolving symlinks. */
  root: string;
  /** Folders whose packages may be linked from a `node_modules`, beside those of the workspace. */
  transformRoots?: string[];
  /** Named export to call; absent: `default`, else `transform`. */
  export?: string;
  timeoutMs: number;
  memoryMb: number;
  isolation: Isolation;
  secrets: Record<string, string>;
}

export interface TransformBundle extends Omit<CompiledCode, "hash"> {
  spec: TransformSpec;
  /** SHA-256 of code and export: identifies the version of the module. */
  id: string;
}

export type CompileResult =
  | { bundle: TransformBundle; problems: [] }
  | { bundle?: undefined; problems: ConfigProblem[]; inputs: string[]; manifests: string[] };

/** A transform's input as it is handed over: the body as bytes, and without the secrets, which the spec holds. */
export interface TransformCall extends Omit<
  TransformInput,
  "rawBody" | "event" | "base" | "secrets" | "item" | "state"
> {
  rawBody: Buffer;
  event?: string;
  /** `payload` is `JSON.parse(rawBody)`, so only the bytes have to be sent. */
  payloadIsBody: boolean;
  base: object;
  /** Set under `forEach`. */
  item?: unknown;
  /** Values of the state that were read for this call. Absent: the mapping keeps none. */
  state?: StateValue[];
  /** Instead of the spec's, if several calls share that. */
  timeoutMs?: number;
}

/** How much each call of a module loads. */
export interface ModuleCost {
  file: string;
  bytes: number;
  loadMs?: number;
  /** The largest packages in it, the largest first. */
  packages: PackageSize[];
}

/** A key of a state and its value as JSON; null: it has none. */
export type StateValue = readonly [key: string, json: string | null];

export interface StateSet {
  key: string;
  /** Absent: the key is removed. */
  json?: string;
  /** How long it is kept, in milliseconds. Absent: until it is removed. */
  ttlMs?: number;
}

export interface TransformOutcome {
  /** The function's result as JSON carries it; undefined keeps the base. */
  value: unknown;
  /** The call ended at this key of the state, which it was not given: it has no result, and runs again with it. */
  unread?: string;
  /** Values that it set. Absent: none. */
  sets?: StateSet[];
  log: LogLine[];
  /** How long it ran, without the wait. */
  runMs: number;
}

export interface SandboxStatus {
  ready: boolean;
  children: number;
  inFlight: number;
  calls: number;
  failures: number;
  /** Child processes that were replaced, because of a timeout, a crash, memory or age. */
  recycled: number;
  /** Transforms whose calls are refused for a while, because nothing but failures came from them. */
  openBreakers: { file: string; retryAfterMs: number }[];
}

/** Runs transforms outside the gateway process. */
export interface TransformRunner {
  /** Starts what the first check or call would start: it takes as long as compiling a module. */
  prepare(): void;
  /** Evaluates the module once; resolves with its problems, empty if it can serve. Rejects only when `signal` aborts, which ends it. */
  check(bundle: TransformBundle, signal?: AbortSignal): Promise<ConfigProblem[]>;
  /** How long the check took to evaluate the module, which each call does; undefined if it was not checked. */
  loadMs(bundle: TransformBundle): number | undefined;
  /** Rejects only with a `TransformError`. */
  run(bundle: TransformBundle, call: TransformCall): Promise<TransformOutcome>;
  /** `used`: whose circuit breakers it lists. Default: none. */
  status(used?: readonly TransformBundle[]): SandboxStatus;
  close(): Promise<void>;
}
