import type { LogLine } from "../../types.ts";
import { type Answer, type FailedAnswer, MAX_RESULT_LENGTH } from "../sandbox/answer.ts";

type Transform = (input: unknown) => unknown;
type Exports = Record<string, unknown>;

/** The code of a bundle, wrapped so that each evaluation has variables and a `globalThis` of its own. */
export type Factory = (module: { exports: unknown }, exports: Exports, global: object) => void;

/** The text that comes with a call. */
interface CallText {
  /** True: `payload` is to be parsed from the body. */
  payloadIsBody: boolean;
  input: { now: string; [field: string]: unknown };
}

/**
 * The way into a sealed realm. `call` and `check` give the answer as JSON, or an empty string while a promise is
 * pending; then `settle`, once the microtasks have run, gives it. `log` gives the lines captured so far, as JSON.
 */
export type Enter = (operation: EnterOperation, text: string, body: string) => string;
type EnterOperation = "call" | "check" | "settle" | "log";

export interface EnterOptions {
  factory: Factory;
  exportName: string | undefined;
  /** Sets the clock, in milliseconds since the epoch. */
  setNow: (milliseconds: number) => void;
  takeLog: () => LogLine[];
}

/** The answer of one call; each has its own, so that a late promise reaches no other. */
interface Pass {
  answer: string;
}

const UNSETTLED =
  "The transform returned a promise that nothing can settle: there are no timers and no network in here.";

export function createEnter(options: EnterOptions): Enter {
  let pass: Pass = { answer: "" };
  const operations: Record<EnterOperation, (text: string, body: string) => string> = {
    call(text, body) {
      pass = { answer: "" };
      return call(options, pass, text, body);
    },
    check: () => check(options),
    settle: () => pass.answer || writeFailure({ kind: "unsettled", message: UNSETTLED, log: options.takeLog() }),
    log: () => JSON.stringify(options.takeLog()),
  };
  return (operation, text, body) => operations[operation](text, body);
}

function call(options: EnterOptions, pass: Pass, text: string, body: string): string {
  options.takeLog();
  try {
    const result = loadTransform(options)(readInput(options, text, body));
    if (!isThenable(result)) return writeResult(result, options.takeLog);
    void settle(result, pass, options);
    return "";
  } catch (thrown) {
    return writeThrown(thrown, options);
  }
}

async function settle(result: unknown, pass: Pass, options: EnterOptions): Promise<void> {
  try {
    pass.answer = writeResult(await result, options.takeLog);
  } catch (thrown) {
    pass.answer = writeThrown(thrown, options);
  }
}

function check(options: EnterOptions): string {
  options.takeLog();
  options.setNow(0);
  try {
    loadTransform(options);
    return writeResult(undefined, options.takeLog);
  } catch (thrown) {
    return writeThrown(thrown, options);
  }
}

function readInput(options: EnterOptions, text: string, body: string): unknown {
  const { payloadIsBody, input }: CallText = JSON.parse(text);
  options.setNow(Date.parse(input.now));
  input["rawBody"] = body;
  if (payloadIsBody) input["payload"] = JSON.parse(body);
  return input;
}

function loadTransform({ factory, exportName }: EnterOptions): Transform {
  const exports: Exports = {};
  const module: { exports: unknown } = { exports };
  // What is written to the realm's own global would be there for the next call, or throw where it is frozen.
  factory(module, exports, Object.create(globalThis));
  const exported = toExports(module.exports);
  const names = exportName === undefined ? ["default", "transform"] : [exportName];
  const found = names.map((name) => exported[name]).find(isTransform);
  if (!found) throw new TypeError(explainMissing(names, exported));
  return found;
}

/** A function in the place of a CommonJS module's exports is its default, as Node has it. */
function toExports(exported: unknown): Exports {
  return isTransform(exported) ? { default: exported, ...Object(exported) } : Object(exported);
}

function explainMissing(names: string[], exports: Exports): string {
  const there = Object.keys(exports).join(", ") || "nothing";
  return `The module must export a function as ${names.map((name) => `"${name}"`).join(" or ")}. It exports ${there}.`;
}

function isTransform(value: unknown): value is Transform {
  return typeof value === "function";
}

function isThenable(value: unknown): boolean {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  return typeof Reflect.get(value, "then") === "function";
}

function writeThrown(thrown: unknown, { takeLog }: EnterOptions): string {
  return writeFailure({ kind: "threw", ...describeThrown(thrown), log: takeLog() });
}

function writeFailure(answer: FailedAnswer): string {
  return JSON.stringify(answer);
}

/** Makes the answer of what a transform returned. Getters and `toJSON` of the value run in here, and may throw. */
function writeResult(value: unknown, takeLog: () => LogLine[]): string {
  if (value === undefined) return JSON.stringify({ kind: "unchanged", log: takeLog() } satisfies Answer);
  let json: string | undefined;
  try {
    json = JSON.stringify(value) as string | undefined;
  } catch (thrown) {
    return refuse(describeThrown(thrown), takeLog);
  }
  if (json === undefined) return refuse(sentence(`JSON cannot carry a ${typeof value}.`), takeLog);
  if (json.length > MAX_RESULT_LENGTH) {
    return refuse(
      sentence(`It has ${json.length} characters as JSON, over the limit of ${MAX_RESULT_LENGTH}.`),
      takeLog,
    );
  }
  return `{"kind":"value","log":${JSON.stringify(takeLog())},"value":${json}}`;
}

function sentence(message: string): { message: string; stack: string } {
  return { message, stack: "" };
}

function refuse({ message, stack }: { message: string; stack: string }, takeLog: () => LogLine[]): string {
  const answer: Answer = {
    kind: "bad_result",
    message: `The transform returned what is no JSON value. ${message}`,
    stack,
    log: takeLog(),
  };
  return JSON.stringify(answer);
}

const MAX_MESSAGE_LENGTH = 2000;
const MAX_STACK_LENGTH = 10_000;

/** What a thrown value says of itself. Never throws, whatever traps the value holds. */
export function describeThrown(thrown: unknown): { message: string; stack: string } {
  if (thrown === null || typeof thrown !== "object") {
    return { message: `Threw ${describeOther(thrown)}.`, stack: "" };
  }
  const name = readText(thrown, "name") || "Error";
  const message = readText(thrown, "message");
  return {
    message: (message ? `${name}: ${message}` : name).slice(0, MAX_MESSAGE_LENGTH),
    stack: readText(thrown, "stack").slice(0, MAX_STACK_LENGTH),
  };
}

function describeOther(thrown: unknown): string {
  if (typeof thrown === "string") return `the string ${JSON.stringify(thrown.slice(0, MAX_MESSAGE_LENGTH))}`;
  if (typeof thrown === "function") return "a function";
  return `the ${typeof thrown} ${String(thrown)}`.slice(0, MAX_MESSAGE_LENGTH);
}

/** The property where it is a string that can be read; a getter or a proxy may throw instead. */
function readText(value: object, key: string): string {
  try {
    const text: unknown = Reflect.get(value, key);
    return typeof text === "string" ? text : "";
  } catch {
    return "";
  }
}
