import type { ConfigProblem } from "../../errors.ts";
import type { Log } from "../../telemetry/log.ts";
import {
  type SandboxStatus,
  type TransformBundle,
  TransformError,
  type TransformInput,
  type TransformOutcome,
  type TransformRunner,
} from "../port.ts";
import type { Answer } from "./answer.ts";
import { type Breaker, createBreaker } from "./breaker.ts";
import type { Trust } from "./job.ts";
import { createPool, type Pool } from "./pool.ts";
import { traceStack } from "./trace.ts";

/** Both serve; where one is enough the other is the spare, and the quarantine. A third would cost 50 MB and gain little on two cores. */
const DEFAULT_CHILDREN = 2;
/** A module may take its time to be set up the first time. */
const CHECK_TIMEOUT_MS = 5000;

export interface SandboxOptions {
  log: Log;
  /** How many child processes. Default 2. */
  children?: number;
}

interface State {
  log: Log;
  pool: Pool;
  breaker: Breaker;
  /** Transforms that have answered a call: the rest are tried where nobody waits behind them. */
  proven: WeakSet<TransformBundle>;
  calls: number;
  failures: number;
}

/** Runs transforms in supervised child processes. Nothing is started before the first check or call. */
export function createSandbox({ log, children = DEFAULT_CHILDREN }: SandboxOptions): TransformRunner {
  const state: State = {
    log,
    pool: createPool({ log, children }),
    breaker: createBreaker(),
    proven: new WeakSet(),
    calls: 0,
    failures: 0,
  };
  return {
    check: (bundle) => check(state, bundle),
    run: (bundle, input) => run(state, bundle, input),
    status: () => status(state),
    close: () => state.pool.close(),
  };
}

async function check({ pool }: State, bundle: TransformBundle): Promise<ConfigProblem[]> {
  const answer = await pool.run({
    operation: "check",
    bundle,
    module: nameModule(bundle),
    text: "",
    body: NO_BODY,
    timeoutMs: CHECK_TIMEOUT_MS,
    trust: "untried",
  });
  if (answer.kind === "unchanged" || answer.kind === "value") return [];
  const { place } = traceStack(bundle, answer.message, answer.stack ?? "");
  const logged = answer.log.map(({ level, text }) => `${level}: ${text}`);
  const excerpt = [place.excerpt, ...logged].filter(Boolean).join("\n") || undefined;
  return [{ message: answer.message, file: bundle.spec.file, ...place, excerpt }];
}

async function run(state: State, bundle: TransformBundle, input: TransformInput): Promise<TransformOutcome> {
  const startedAt = performance.now();
  const answer = await ask(state, bundle, input);
  state.calls++;
  if (answer.kind === "unchanged") {
    return { result: { kind: "unchanged" }, log: answer.log, durationMs: performance.now() - startedAt };
  }
  if (answer.kind === "value") {
    const { value, log } = answer;
    return { result: { kind: "value", value }, log, durationMs: performance.now() - startedAt };
  }
  state.failures++;
  const { kind, message, log, stack = "" } = answer;
  const { text: trace, place } = traceStack(bundle, message, stack);
  const { file = bundle.spec.file, line, column } = place;
  // The message may hold a piece of the payload: the place is for everybody who reads the log, the rest is on the event.
  state.log.warn("transform failed", { reason: kind, file, line, column });
  throw new TransformError(kind, message, { log, trace });
}

async function ask(state: State, bundle: TransformBundle, input: TransformInput): Promise<Answer> {
  const { pool, breaker, proven } = state;
  const module = nameModule(bundle);
  const fenced = breaker.fence(module);
  if (fenced) return fenced;
  const answer = await pool.run({
    operation: "call",
    bundle,
    module,
    text: toText(bundle, input),
    body: input.rawBody,
    timeoutMs: bundle.spec.timeoutMs,
    trust: judge(state, bundle, module),
  });
  breaker.record(module, answer);
  if (answer.kind === "unchanged" || answer.kind === "value") proven.add(bundle);
  return answer;
}

function judge({ breaker, proven }: State, bundle: TransformBundle, module: string): Trust {
  if (breaker.isSuspect(module)) return "suspect";
  return proven.has(bundle) ? "proven" : "untried";
}

/** What a transform is called with, as it crosses: without the raw body, and without a payload that is just that. */
function toText({ spec }: TransformBundle, input: TransformInput): string {
  const { rawBody: _, payload, payloadIsBody, ...rest } = input;
  const parts = { ...rest, secrets: spec.secrets };
  return JSON.stringify({ payloadIsBody, input: payloadIsBody ? parts : { ...parts, payload } });
}

/** The version of the code, with what else its isolate is made from. */
function nameModule({ id, spec }: TransformBundle): string {
  return `${id}:${spec.memoryMb}:${spec.isolation}`;
}

function status({ pool, calls, failures }: State): SandboxStatus {
  return { ...pool.figures(), calls, failures };
}

const NO_BODY = Buffer.alloc(0);
