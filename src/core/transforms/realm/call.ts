import type { TransformInput } from "../transform-types.ts";
import { type Answer, describeThrown, type FailedAnswer, MAX_RESULT_LENGTH } from "../sandbox/child-answer.ts";
import type { TransformCall } from "../runner.ts";
import type { CallClock } from "./call-clock.ts";
import type { CallLog } from "./call-console.ts";
import type { CallTimers } from "./call-timers.ts";
import { type CallState, createCallState } from "./call-state.ts";

type Transform = (input: unknown) => unknown;
type Exports = Record<string, unknown>;

/** A bundle's code, wrapped so that each evaluation has its own variables and its own `globalThis`. */
export type Factory = (
  ...scope: [
    module: { exports: unknown },
    exports: Exports,
    global: object,
    require: (name: unknown) => never,
    packages: unknown,
  ]
) => void;

/** The same for the code of its packages. */
export type PackagesFactory = (global: object, require: (name: unknown) => never) => unknown;

/** The input of a call, without the body. */
interface CallInput extends Pick<TransformCall, "payloadIsBody" | "state"> {
  input: Partial<TransformInput> & Pick<TransformInput, "now">;
}

/**
 * The only function of a sealed realm, called with the inputs of one or several calls as a JSON array and their bodies. It gives the
 * answers as a JSON array. For `call`, an empty string means that a promise is pending; then `settle` gives the answer
 * after the microtasks have run, or fires a timer and gives an empty string. For `batch`, it means that each call has to be made alone. `log` gives the lines
 * captured so far, as JSON. `collect` runs the garbage collector.
 */
export type Invoke = (operation: RealmOperation, inputs: string, ...bodies: string[]) => string;
type RealmOperation = "call" | "batch" | "check" | "settle" | "log" | "collect";

export interface InvokeOptions extends CallGlobals {
  factory: Factory;
  packagesFactory: PackagesFactory | undefined;
  exportName: string | undefined;
  collectGarbage: () => void;
}

/** Evaluates a module once. It gives the answer as a JSON array. */
export type Check = (
  factory: Factory,
  packagesFactory: PackagesFactory | undefined,
  exportName: string | undefined,
) => string;

export interface CallGlobals {
  clock: CallClock;
  log: CallLog;
  forgetSymbols: () => void;
  timers: CallTimers;
}

export function createCheck(options: CallGlobals): Check {
  return (factory, packagesFactory, exportName) => `[${check({ ...options, factory, packagesFactory, exportName })}]`;
}

type ModuleOptions = Omit<InvokeOptions, "collectGarbage">;

/** Each call has its own, so that a promise that settles late reaches no other call. */
interface Pending {
  answer: string;
}

const UNSETTLED =
  "The transform returned a promise that nothing can settle: no timer is left, and the sandbox has no network.";

export function createInvoke(options: InvokeOptions): Invoke {
  let pending: Pending = { answer: "" };
  let givesPromises = false;
  const operations: Record<RealmOperation, (inputs: string, bodies: string[]) => string> = {
    call(inputs, [body = ""]) {
      pending = { answer: "" };
      const [input]: CallInput[] = JSON.parse(inputs);
      const answer = call(options, pending, input!, body);
      givesPromises ||= answer === "";
      if (answer !== "") end(options);
      return answer && `[${answer}]`;
    },
    batch(inputs, bodies) {
      if (givesPromises) return "";
      const answers = callBatch(options, inputs, bodies);
      end(options);
      return answers;
    },
    check: () => `[${check(options)}]`,
    settle() {
      if (pending.answer === "" && options.timers.fire()) return "";
      const answer = pending.answer || writeFailure({ kind: "unsettled", message: UNSETTLED }, options);
      end(options);
      return `[${answer}]`;
    },
    log: () => JSON.stringify(options.log.read()),
    collect() {
      options.collectGarbage();
      return "";
    },
  };
  return (operation, inputs, ...bodies) => operations[operation](inputs, bodies);
}

/** Only calls that answer at once: microtasks run later, and those of one call must not run in the time of another. */
function callBatch(options: InvokeOptions, inputs: string, bodies: string[]): string {
  const left: CallInput[] = JSON.parse(inputs).toReversed();
  let answers = "";
  for (const body of bodies) {
    // Nothing refers to the payloads of earlier calls, so that the garbage collector does not copy them.
    const answer = call(options, { answer: "" }, left.pop()!, body);
    if (answer === "") return "";
    answers += answers === "" ? answer : `,${answer}`;
    if (answers.length > MAX_RESULT_LENGTH) return "";
  }
  return `[${answers}]`;
}

function call(options: InvokeOptions, pending: Pending, callInput: CallInput, body: string): string {
  const { payloadIsBody, input } = callInput;
  const state = callInput.state && createCallState(callInput.state);
  begin(options, Date.parse(input.now), (thrown) => {
    pending.answer ||= withState(writeFailure({ kind: "threw", ...describeThrown(thrown) }, options), state, options);
  });
  if (state) input.state = state.own;
  input.rawBody = body;
  try {
    if (payloadIsBody) input.payload = JSON.parse(body);
  } catch {
    return writeFailure({ kind: "bad_payload", message: "The body is not JSON." }, options);
  }
  try {
    const result = loadTransform(options)(input);
    if (!isThenable(result)) return withState(writeResult(result, options), state, options);
    void settle(result, pending, options, state);
    return "";
  } catch (thrown) {
    return withState(writeFailure({ kind: "threw", ...describeThrown(thrown) }, options), state, options);
  }
}

async function settle(
  result: unknown,
  pending: Pending,
  options: InvokeOptions,
  state: CallState | undefined,
): Promise<void> {
  try {
    const value = await result;
    pending.answer ||= withState(writeResult(value, options), state, options);
  } catch (thrown) {
    pending.answer ||= withState(writeFailure({ kind: "threw", ...describeThrown(thrown) }, options), state, options);
  }
}

/** Adds what the call did with its state. A transform can catch the end of a call, so its answer does not decide. */
function withState(answer: string, state: CallState | undefined, options: CallGlobals): string {
  const unread = state?.unread();
  if (unread !== undefined) return JSON.stringify({ kind: "value", log: [], unread } satisfies Answer);
  const sets = state?.sets() ?? [];
  if (sets.length === 0) return answer;
  const json = JSON.stringify(sets);
  if (answer.length + json.length <= MAX_RESULT_LENGTH) return `${answer.slice(0, -1)},"sets":${json}}`;
  const message = `The transform sets too much state: as JSON, it may have ${MAX_RESULT_LENGTH} characters with the result.`;
  return writeFailure({ kind: "bad_result", message, stack: "" }, options);
}

function check(options: ModuleOptions): string {
  begin(options, 0);
  try {
    loadTransform(options);
    return writeResult(undefined, options);
  } catch (thrown) {
    return writeFailure({ kind: "threw", ...describeThrown(thrown) }, options);
  } finally {
    end(options);
  }
}

/** Nothing is left of the call before. `fail` ends this call. */
function begin(
  { log, clock, forgetSymbols, timers }: CallGlobals,
  now: number,
  fail: (thrown: unknown) => void = () => {},
): void {
  log.clear();
  clock.start(now);
  forgetSymbols();
  timers.start(fail);
  forgetMatch();
}

/** Drops what would take memory from the other modules of the isolate. */
function end({ timers }: CallGlobals): void {
  timers.end();
  forgetMatch();
}

/**
 * Empties `RegExp.$1`, `RegExp.input` and the like, which hold the last matched text. No other code of the realm uses a
 * regular expression while a call runs.
 */
function forgetMatch(): void {
  /(?:)/.test("");
}

/** All calls share it, so nothing can be left on it. */
const refuseRequire = Object.freeze((name: unknown): never => {
  throw new Error(`require(${JSON.stringify(String(name))}) finds nothing while a transform runs. Use import.`);
});

/** Bundles have it in place of `Error.stackTraceLimit`, which is frozen. */
const STACK_TRACE_LIMIT = "stackTraceLimit";

function loadTransform({ factory, packagesFactory, exportName }: ModuleOptions): Transform {
  const exports: Exports = {};
  const module: { exports: unknown } = { exports };
  // A write to the realm's own global would be visible to the next call, or throw where it is frozen.
  const scope: object = Object.create(globalThis, { [STACK_TRACE_LIMIT]: { value: 10, writable: true } });
  factory(module, exports, scope, refuseRequire, packagesFactory?.(scope, refuseRequire));
  const exported = toExports(module.exports);
  const names = exportName === undefined ? ["default", "transform"] : [exportName];
  const found = names.map((name) => exported[name]).find(isTransform);
  if (found) return found;
  const wanted = names.map((name) => `"${name}"`).join(" or ");
  const existing = Object.entries(exported).map(([name, value]) => `"${name}" (${typeof value})`);
  throw new TypeError(
    `The module must export a function as ${wanted}. It exports ${existing.join(", ") || "nothing"}.`,
  );
}

/** Node's rule: a CommonJS module that exports a function has it as its default. */
function toExports(exported: unknown): Exports {
  return isTransform(exported) ? { default: exported, ...Object(exported) } : Object(exported);
}

function isTransform(value: unknown): value is Transform {
  return typeof value === "function";
}

function isThenable(value: unknown): boolean {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  return typeof Reflect.get(value, "then") === "function";
}

function writeFailure(failure: Omit<FailedAnswer, "log">, { log }: CallGlobals): string {
  return JSON.stringify({ ...failure, log: log.read() } satisfies Answer);
}

/** Getters and `toJSON` of the value run in here and may throw. */
function writeResult(value: unknown, options: CallGlobals): string {
  if (value === undefined) return JSON.stringify({ kind: "value", log: options.log.read() } satisfies Answer);
  let json: string | undefined;
  try {
    const lost = explainLoss(value);
    if (lost !== undefined) return refuseResult(lost, options);
    json = JSON.stringify(value) as string | undefined;
  } catch (thrown) {
    const { message, stack } = describeThrown(thrown);
    return refuseResult(message, options, stack);
  }
  if (json === undefined) return refuseResult(`JSON cannot represent a ${typeof value}.`, options);
  if (json.length > MAX_RESULT_LENGTH) {
    const message = `The transform's result is too large: its JSON has ${json.length} characters; the limit is ${MAX_RESULT_LENGTH}.`;
    return writeFailure({ kind: "bad_result", message, stack: "" }, options);
  }
  return `{"kind":"value","log":${JSON.stringify(options.log.read())},"value":${json}}`;
}

/** An object of these kinds would be `{}` as JSON, which changes nothing. */
function explainLoss(value: unknown): string | undefined {
  for (const item of Array.isArray(value) ? value : [value]) {
    const kind: unknown = Reflect.get(Object(item), Symbol.toStringTag);
    if (kind === "Generator" || kind === "AsyncGenerator")
      return "It is a generator. Write the function without * and yield, and return the action, or a list of actions.";
    if (kind === "Map" || kind === "Set") return `JSON has nothing of a ${kind}. Return an object or a list.`;
  }
  return undefined;
}

function refuseResult(reason: string, options: CallGlobals, stack = ""): string {
  return writeFailure({ kind: "bad_result", message: `The transform's result is not JSON. ${reason}`, stack }, options);
}
