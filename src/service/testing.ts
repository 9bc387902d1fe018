import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { ConfigError, HookError, TransformError } from "../core/errors.ts";
import { createState, type HeldState } from "../core/mapping/state.ts";
import { readResult, runWithState } from "../core/mapping/transform.ts";
import { DEFAULT_TIME } from "../core/shared/system/samples.ts";
import { createTelemetry } from "../core/telemetry/telemetry.ts";
import { compileTransform } from "../core/transforms/compile-transform.ts";
import type { TransformBundle, TransformRunner } from "../core/transforms/runner.ts";
import { createSandbox } from "../core/transforms/sandbox/sandbox.ts";
import type { TransformAction, TransformInput, TransformState } from "../core/transforms/transform-types.ts";

// `hookline/testing`: tests of transforms, by any test runner. None of its types needs those of Node.

/** The fields that a transform gets. Those that are left out are empty. */
export interface InputOptions extends Partial<
  Omit<TransformInput, "payload" | "rawBody" | "event" | "base" | "state" | "item">
> {
  /** The parsed body. Default: an object without fields. */
  payload?: unknown;
  /** The body as text. Default: the payload as JSON. */
  rawBody?: string;
  /** The sender's name of the event. */
  event?: string;
  /** The action that the mapping's templates would give. */
  base?: TransformAction;
  /** The item of this call, as of a mapping with `forEach`. */
  item?: unknown;
  /** Values by key. Without it the mapping keeps no state. */
  state?: Record<string, unknown>;
}

/** The arguments of one call of a module. */
export interface RunOptions extends InputOptions {
  /** The named export to call. Default: `default`, else `transform`. */
  export?: string;
}

/** The end of a call. */
export interface TransformRun {
  /** The function's result: null skips the request, undefined keeps the base. */
  result: TransformAction | (TransformAction | null)[] | null | undefined;
  /** Its lines of `console`. */
  log: { level: "debug" | "log" | "info" | "warn" | "error"; text: string }[];
  /** All values after the call. */
  state: Record<string, unknown>;
}

/**
 * Runs a module in the service's own sandbox, without a configuration. A module may import what is in its folder, or in that of
 * the `hookline.d.ts` above it.
 * @param file - its path from the current folder, or its `file:` URL
 * @throws `ConfigError` if it does not compile, `TransformError` if it throws, takes too long or returns no action
 */
export async function runTransform(file: string, options: RunOptions = {}): Promise<TransformRun> {
  const { export: name, state: given, ...rest } = options;
  const { secrets, ...input } = toInput(rest);
  const state = given && openState(given);
  return withSandbox(async (runner) => {
    const bundle = await compile(toFile(file), { name, secrets }, runner);
    const payloadIsBody = rest.rawBody === undefined;
    const call = { ...input, rawBody: Buffer.from(input.rawBody), payloadIsBody };
    const { value, log } = await runWithState({ run: runner.run, bundle, call, state });
    requireActions(value);
    return { result: value, log, state: state ? toValues({ ...given }, state) : {} };
  });
}

/**
 * A transform's whole argument, for a test that calls the function itself. Where its type is known, as in
 * `transform(createInput({ payload }))`, it has that type, though a test's payload has only the fields that it needs.
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- The place of the call infers it.
export function createInput<Input extends object = TransformInput>(options?: InputOptions): Input;
export function createInput({ state, ...options }: InputOptions = {}): object {
  return state ? { ...toInput(options), state: keepValues(state) } : toInput(options);
}

type StatelessInput = Omit<TransformInput, "state">;

function toInput({ payload = {}, ...options }: Omit<InputOptions, "state">): StatelessInput {
  return {
    payload,
    rawBody: JSON.stringify(payload),
    headers: {},
    query: {},
    path: "/hooks/test",
    method: "POST",
    hook: "test",
    mapping: "test",
    event: undefined,
    now: DEFAULT_TIME,
    base: {},
    secrets: {},
    item: undefined,
    ...options,
  };
}

function keepValues(given: Record<string, unknown>): TransformState {
  const values = new Map(Object.entries(structuredClone(given)));
  return {
    get: (key) => structuredClone(values.get(key)),
    set(key, value) {
      if (value === undefined) values.delete(key);
      else values.set(key, structuredClone(value));
    },
  };
}

function openState(given: Record<string, unknown>): HeldState {
  const stored = new Map(Object.entries(given).filter(([, value]) => value !== undefined));
  return createState({
    name: "test",
    readState: async (_name, keys) =>
      keys.flatMap((key) => (stored.has(key) ? { key, version: "1", json: JSON.stringify(stored.get(key)) } : [])),
  });
}

/** The given values, with those that the call has set. */
function toValues(values: Record<string, unknown>, state: HeldState): Record<string, unknown> {
  for (const { key, json } of state.result().sets) {
    if (json === undefined) delete values[key];
    else values[key] = JSON.parse(json);
  }
  return values;
}

/** Throws a `TransformError` for a result that the service refuses. */
function requireActions(value: unknown): asserts value is TransformRun["result"] {
  try {
    readResult(value, []);
  } catch (error) {
    if (!(error instanceof HookError)) throw error;
    throw new TransformError("bad_result", error.detail?.message ?? error.message);
  }
}

function toFile(given: string): string {
  return given.startsWith("file:") ? fileURLToPath(given) : path.resolve(given);
}

async function compile(
  file: string,
  { name, secrets }: { name: string | undefined; secrets: Record<string, string> },
  runner: TransformRunner,
): Promise<TransformBundle> {
  const root = findRoot(path.dirname(file)) ?? path.dirname(file);
  const settings = { timeoutMs: 1000, memoryMb: 64, isolation: "request" } as const;
  const { bundle, problems } = await compileTransform({ file, root, export: name, secrets, ...settings });
  const found = bundle ? await runner.check(bundle) : problems;
  if (!bundle || found.length > 0) throw new ConfigError(found);
  return bundle;
}

/** The folder of transforms around a folder. */
function findRoot(folder: string): string | undefined {
  if (existsSync(path.join(folder, "hookline.d.ts"))) return folder;
  const parent = path.dirname(folder);
  return parent === folder ? undefined : findRoot(parent);
}

/** After this time without a call, nothing keeps the process alive. */
const IDLE_MS = 2000;

let sandbox: TransformRunner | undefined;
let running = 0;
let idle: NodeJS.Timeout | undefined;

async function withSandbox<Result>(use: (runner: TransformRunner) => Promise<Result>): Promise<Result> {
  clearTimeout(idle);
  running++;
  try {
    sandbox ??= createSandbox({ telemetry: createTelemetry("error", { output: process.stderr }), children: 1 });
    return await use(sandbox);
  } finally {
    running--;
    if (running === 0) idle = setTimeout(() => void closeSandbox(), IDLE_MS);
  }
}

/** Ends the processes of the sandbox, which end by themselves two seconds after the last call. The next call starts them again. */
export async function closeSandbox(): Promise<void> {
  clearTimeout(idle);
  const closing = sandbox;
  sandbox = undefined;
  await closing?.close();
}
