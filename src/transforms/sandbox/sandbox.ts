import { type ConfigProblem, TransformError } from "../../errors.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import {
  type SandboxStatus,
  type TransformBundle,
  type TransformCall,
  type TransformOutcome,
  type TransformRunner,
} from "../runner.ts";
import type { Answer, FailedAnswer } from "./answer.ts";
import type { Trust } from "./job.ts";
import { createPool, type Pool } from "./pool.ts";
import { traceStack } from "./trace.ts";

/** Both serve; where one is enough the other is the spare, and the quarantine. A third would cost 50 MB and gain little on two cores. */
const DEFAULT_CHILDREN = 2;
/** A module may take its time to be set up the first time. */
const CHECK_TIMEOUT_MS = 5000;

export interface SandboxOptions {
  telemetry: Telemetry;
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
export function createSandbox({ telemetry, children = DEFAULT_CHILDREN }: SandboxOptions): TransformRunner {
  const { log } = telemetry;
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

async function run(state: State, bundle: TransformBundle, input: TransformCall): Promise<TransformOutcome> {
  const answer = await ask(state, bundle, input);
  state.calls++;
  if (answer.kind === "unchanged") return { value: undefined, log: answer.log };
  if (answer.kind === "value") return { value: answer.value, log: answer.log };
  state.failures++;
  const { kind, message, log, stack = "" } = answer;
  const { text: trace, place } = traceStack(bundle, message, stack);
  const { file = bundle.spec.file, line, column } = place;
  // The message may hold a piece of the payload: the place is for everybody who reads the log, the rest is on the event.
  state.log.warn("transform failed", { reason: kind, file, line, column });
  throw new TransformError(kind, message, { log, trace });
}

async function ask(state: State, bundle: TransformBundle, input: TransformCall): Promise<Answer> {
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
function toText({ spec }: TransformBundle, input: TransformCall): string {
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

/** From this many on, a module is a suspect: its jobs run where nobody waits behind them. */
const SUSPECT_AFTER = 2;
/** At this many, it is fenced off for a while. */
const FENCE_AFTER = 5;
const FENCE_MS = 5000;

/** Remembers, for each module, its hard failures in a row: those that cost others time or a whole child. */
export interface Breaker {
  isSuspect(module: string): boolean;
  /** The answer that stands for a module that is fenced off; the first call after that is a new try. */
  fence(module: string): FailedAnswer | undefined;
  record(module: string, answer: Answer): void;
}

interface Failures {
  count: number;
  /** The kind of the last one. */
  kind: FailedAnswer["kind"];
  fencedUntil: number;
}

export function createBreaker(): Breaker {
  const failures = new Map<string, Failures>();
  return {
    isSuspect: (module) => (failures.get(module)?.count ?? 0) >= SUSPECT_AFTER,
    fence(module) {
      const known = failures.get(module);
      const leftMs = (known?.fencedUntil ?? 0) - performance.now();
      return known && leftMs > 0 ? refuse(known, leftMs) : undefined;
    },
    record(module, { kind }) {
      if (kind === "unavailable") return;
      if (!isHard(kind)) failures.delete(module);
      else failures.set(module, countUp(failures.get(module), kind));
    },
  };
}

function isHard(kind: Answer["kind"]): kind is FailedAnswer["kind"] {
  return kind === "timeout" || kind === "memory" || kind === "crashed";
}

function countUp(known: Failures | undefined, kind: FailedAnswer["kind"]): Failures {
  const count = (known?.count ?? 0) + 1;
  return { count, kind, fencedUntil: count < FENCE_AFTER ? 0 : performance.now() + FENCE_MS };
}

function refuse({ count, kind }: Failures, leftMs: number): FailedAnswer {
  const seconds = Math.ceil(leftMs / 1000);
  const message = `The transform is fenced off for ${seconds} s: it timed out, ran out of memory or crashed ${count} times in a row.`;
  return { kind, message, log: [] };
}
