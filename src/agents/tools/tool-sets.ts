import { toCommand } from "../../core/shared/text/command.ts";
import {
  compileOwnSchema,
  compileServerSchema,
  explainUnusable,
  type ToolSchema,
} from "../../core/config/schema/tool-schema.ts";
import type { ToolSetBlock } from "../../core/config/resolved-config.ts";
import { DriverError } from "../../core/errors.ts";
import { cutName, hashJson } from "../../core/shared/hash.ts";
import { isObject, toObject } from "../../core/shared/json.ts";
import { cutText, didYouMean, toOneLine, toolSetOf } from "../../core/shared/text/text.ts";
import { withTimeout } from "../../core/shared/time.ts";
import { hashCall } from "./lock.ts";
import { createRedaction, type Redact } from "./redact.ts";
import type {
  CallOptions,
  OpenCall,
  OpenSet,
  ToolAlert,
  ToolListener,
  ToolSets,
} from "../../core/ports/open-tool-sets.ts";
import {
  type CallDescription,
  type CallResult,
  type LeftOutCall,
  type Offer,
  toError,
  type ToolCall,
  type ToolSet,
} from "../../core/ports/tool-set.ts";

function toChanged(fullName: string): ToolAlert {
  const text = `The call ${toOneLine(fullName)} differs from what was accepted, so it is refused. See: ${toCommand("tools accept", toolSetOf(fullName))}`;
  return { kind: "tool-changed", subject: fullName, text };
}

function toUnreachable(fullName: string): ToolAlert {
  const set = toolSetOf(fullName);
  const text = `The tool set ${set} cannot be reached, so its calls fail. See: ${toCommand("tools call", fullName)}`;
  return { kind: "tool-unreachable", subject: set, text };
}

/** A set as its driver has made it, and its block. */
export interface MadeSet {
  set: ToolSet;
  block: ToolSetBlock;
}

/** Calls that are in no block of `agents.tools`. */
interface OwnCalls {
  /** The calls that publish changes, by account. */
  changes?: ReadonlyMap<string, OpenCall>;
  /** The calls of presets, by account. A block of `agents.tools` may have the same name. */
  writes?: ReadonlyMap<string, MadeSet>;
}

export function openToolSets(
  made: ReadonlyMap<string, MadeSet>,
  { changes = new Map(), writes = new Map() }: OwnCalls = {},
): ToolSets {
  const listeners: ToolListener[] = [];
  const tell: ToolListener = {
    alert: (alert) => listeners.forEach((listener) => listener.alert(alert)),
    called: (fullName) => listeners.forEach((listener) => listener.called(fullName)),
  };
  const sets = new Map(Array.from(made, ([name, one]) => [name, openSet(name, one, tell)]));
  const opened = [...sets.values(), ...Array.from(writes, ([name, one]) => openSet(name, one, tell))];
  const calls = new Map(opened.flatMap((set) => set.calls.map((call) => [call.fullName, call])));
  const leftOut = new Map(
    Array.from(sets, ([name, set]) =>
      set.leftOut.map((call): [string, string] => [`${name}.${call.name}`, call.reason]),
    ).flat(),
  );
  return {
    sets,
    leftOut,
    find: (fullName) => calls.get(fullName),
    findChange: (account) => changes.get(account),
    isChange: (fullName) => [...changes.values()].some((change) => change.fullName === fullName),
    list: () => [...calls.values()],
    explainMissing(fullName) {
      const set = toolSetOf(fullName);
      if (leftOut.has(fullName)) {
        return `"${fullName}" is left out, because its schema cannot be used. See \`npx hookline tools list\`.`;
      }
      if (!sets.has(set)) return `There is no tool set "${set}" in agents.tools${didYouMean(set, [...sets.keys()])}`;
      if (sets.get(set)?.discover) {
        const what = fullName.includes("*") ? "matches no call in" : "is not in";
        return `"${fullName}" ${what} tools.lock.json. See what the server offers, and accept it, with \`${toCommand("tools accept", set)}\`.`;
      }
      const own = [...calls.keys()].filter((name) => name.startsWith(`${set}.`));
      return `The tool set "${set}" has no call "${fullName.slice(set.length + 1)}"${didYouMean(fullName, own)}`;
    },
    watch: (listener) => void listeners.push(listener),
    close: () => [...made.values(), ...writes.values()].forEach(({ set }) => set.close?.()),
  };
}

/** Two calls that a model could not distinguish, as a sentence; undefined if there are none. */
export function findEqualNames(calls: readonly OpenCall[]): string | undefined {
  const names = new Map<string, string>();
  for (const { fullName, modelName: name } of calls) {
    const other = names.get(name);
    if (other !== undefined) return `${other} and ${fullName} are both ${name} for a model: rename one of them`;
    names.set(name, fullName);
  }
  return undefined;
}

function openSet(name: string, { set, block }: MadeSet, tell: ToolListener): OpenSet {
  const { redact, margin } = createRedaction([
    ...valuesOf(block.options["headers"]),
    ...valuesOf(block.options["env"]),
  ]);
  const compile = set.discover ? compileServerSchema : compileOwnSchema;
  const { calls, leftOut } = separate(set.calls, (call) =>
    openCall(name, call, { block, schema: compile(call.input), redact, margin, tell }),
  );
  return {
    audience: block.audience ?? "private",
    calls,
    leftOut: [...leftOut, ...(set.leftOut ?? [])],
    ...(set.discover && { discover: (signal: AbortSignal) => set.discover!(signal).then(requireUsable, fail) }),
  };

  function fail(error: unknown): never {
    throw error instanceof DriverError ? withMessage(error, redact(error.message)) : error;
  }
}

/** Leaves out the calls whose schemas cannot be used. */
function requireUsable(offer: Offer): Offer {
  const { calls, leftOut } = separate(offer.calls, (call) => {
    compileServerSchema(call.input);
    return call;
  });
  return { calls, leftOut: [...offer.leftOut, ...leftOut] };
}

/** Makes something of each call, and lists the calls whose schemas make that throw. */
function separate<Call extends CallDescription, Made>(
  all: readonly Call[],
  make: (call: Call) => Made,
): { calls: Made[]; leftOut: LeftOutCall[] } {
  const leftOut: LeftOutCall[] = [];
  const calls = all.flatMap((call) => {
    try {
      return [make(call)];
    } catch (error) {
      leftOut.push({ name: call.name, reason: explainUnusable(error) });
      return [];
    }
  });
  return { calls, leftOut };
}

function valuesOf(values: unknown): string[] {
  return isObject(values) ? Object.values(values).filter((value) => typeof value === "string") : [];
}

interface OpenCallOptions {
  block: ToolSetBlock;
  schema: ToolSchema;
  redact: Redact;
  margin: number;
  tell: ToolListener;
}

function openCall(setName: string, call: ToolCall, { block, schema, redact, margin, tell }: OpenCallOptions): OpenCall {
  const { name, description, address, input, place, texts, maxResultLength = block.maxResultLength } = call;
  const fullName = `${setName}.${name}`;
  const audience = block.audience ?? "private";
  return {
    fullName,
    modelName: toModelName(fullName),
    name,
    description,
    address,
    input,
    place,
    texts,
    audience,
    dryRun: block.dryRun,
    timeoutMs: block.callTimeoutMs,
    digest: digestOf(call, block),
    unchecked: schema.unchecked,
    check,
    checkSome: (args) => schema.checkSome(args).map(({ message }) => message),
    call: execute,
  };

  function check(args: unknown): string[] {
    return schema.check(args).map(({ message }) => message);
  }

  async function execute(args: unknown, options: CallOptions): Promise<CallResult> {
    const [problem] = check(args);
    if (problem !== undefined || !isObject(args)) {
      return toError(`Not sent: ${problem ?? "the arguments must be an object"}.`);
    }
    const limit = options.maxResultLength ?? maxResultLength;
    const { text, isError, reason, isChanged, isUnreached, sent } = await withTimeout(
      // One more shows that there is more, and a secret that the limit cuts in two is read whole.
      (signal) =>
        call.call(args, {
          signal,
          callId: options.callId,
          isRepeatable: options.isRepeatable,
          sign: options.sign,
          maxLength: limit + margin + 1,
        }),
      {
        timeoutMs: block.callTimeoutMs,
        timeoutError: () => new CallTimeout(fullName, block.callTimeoutMs),
        signal: options.signal,
      },
    ).catch((error: unknown) => {
      if (error instanceof DriverError) throw withMessage(error, redact(error.message));
      throw error;
    });
    if (isChanged) tell.alert(toChanged(fullName));
    else if (!isUnreached) tell.called(fullName);
    else if (!options.signal.aborted) tell.alert(toUnreachable(fullName));
    const shown = redact(text);
    // If there is more, the last characters may be the beginning of a secret, which a redaction before them moves forward.
    const known = text.length > limit + margin ? shown.slice(0, Math.max(0, shown.length - margin)) : shown;
    return {
      text: shorten(known, limit, known !== shown),
      isError,
      ...(reason !== undefined && { reason: redact(reason) }),
      ...(isChanged && { isChanged }),
      ...(sent && { sent }),
    };
  }
}

/** Without secrets, which may be replaced. */
function digestOf(call: ToolCall, { options, ...block }: ToolSetBlock): string {
  const { headers, env, ...rest } = options;
  const names = [headers, env].map((values) => Object.keys(toObject(values)));
  return hashJson([hashCall(call), block, rest, names]);
}

function shorten(text: string, limit: number, isCut: boolean): string {
  if (text.length > limit) return `${cutText(text, limit)}\n[The result was cut here, after ${limit} characters.]`;
  return isCut ? `${text}\n[The result was cut here.]` : text;
}

function withMessage(error: DriverError, message: string): DriverError {
  const { retryable, retryAfterMs } = error;
  return message === error.message ? error : new DriverError(message, { retryable, retryAfterMs });
}

/** The call took too long. Whether it had an effect is not known. */
class CallTimeout extends DriverError {
  override name = "CallTimeout";

  constructor(fullName: string, timeoutMs: number) {
    super(`${fullName} gave no answer in ${timeoutMs / 1000} s.`, { retryable: true });
  }
}

/** Models accept these names only. */
const MAX_MODEL_NAME = 64;

/** The name of a call for a model: `tickets.show` → `tickets__show`. */
function toModelName(fullName: string): string {
  return cutName(fullName.replace(".", "__").replaceAll(/[^\w-]/g, "_"), MAX_MODEL_NAME, fullName);
}
