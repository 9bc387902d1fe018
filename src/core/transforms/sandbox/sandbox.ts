import { type ConfigProblem, TransformError } from "../../errors.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { TransformBundle, TransformCall, TransformOutcome, TransformRunner } from "../runner.ts";
import { type Answer, withoutSecrets } from "./child-answer.ts";
import { explainFailure } from "./explain-failure.ts";
import type { JobRequest } from "./job.ts";
import { type Checks, createChecks } from "./checks.ts";
import { createPool, type Pool } from "./pool.ts";
import { NO_BODY } from "./protocol.ts";
import type { FindTempDir } from "./spawn.ts";
import { traceStack } from "./stack-trace.ts";

/** One is enough for most loads; the other is its spare and the quarantine. A third would cost 50 MB for little gain. */
const DEFAULT_CHILDREN = 2;
/** Evaluating a module for the first time may take longer than a call. */
const CHECK_TIMEOUT_MS = 5000;

export interface SandboxOptions {
  telemetry: Telemetry;
  /** How many child processes. Default: 2. A command of the terminal needs no spare. */
  children?: number;
  /** Where its folder is if the system has no place for temporary files. */
  findTempDir?: FindTempDir;
  /** Processes that several sandboxes of this process share. `close` leaves them running. */
  pool?: Pool;
}

/** The first check of a process also makes a realm, and another process may take the processor: the shortest time counts. */
const QUICK_MS = 5;
const MAX_ROUNDS = 3;

/** More versions than a service has modules, in many reloads. */
const MAX_PASSED = 1000;

interface State {
  telemetry: Telemetry;
  pool: Pool;
  checks: Checks;
  /** Calls in flight. */
  running: number;
  /** The versions of modules that passed their check, and how long they took: at a reload, most modules are as they were. */
  passed: Map<string, number>;
  calls: number;
  failures: number;
}

/** Runs transforms in supervised child processes, which the first check or call starts. */
export function createSandbox({
  telemetry,
  children = DEFAULT_CHILDREN,
  pool,
  findTempDir,
}: SandboxOptions): TransformRunner {
  const state: State = {
    telemetry,
    pool: pool ?? createPool({ log: telemetry.log, children, findTempDir }),
    checks: createChecks({ log: telemetry.log, findTempDir }),
    running: 0,
    passed: new Map(),
    calls: 0,
    failures: 0,
  };
  return {
    prepare: () => state.pool.start(),
    check: (bundle, signal) => check(state, bundle, signal),
    loadMs: (bundle) => state.passed.get(nameModule(bundle)),
    run: (bundle, call) => run(state, bundle, call),
    status: (used = []) => ({
      ...state.pool.status(new Set(used.map(nameModule))),
      calls: state.calls,
      failures: state.failures,
    }),
    close: async () => {
      await state.checks.close();
      if (!pool) await state.pool.close();
    },
  };
}

async function check(
  { pool, checks, running, passed }: State,
  bundle: TransformBundle,
  signal: AbortSignal | undefined,
): Promise<ConfigProblem[]> {
  signal?.throwIfAborted();
  const module = nameModule(bundle);
  if (passed.has(module)) return [];
  const request: JobRequest = {
    operation: "check",
    bundle,
    module,
    text: "",
    body: NO_BODY,
    timeoutMs: CHECK_TIMEOUT_MS,
    signal,
  };
  const evaluate = async (): Promise<Answer> => {
    // A call that hangs holds the processes of calls, and is not the fault of the module that is checked.
    const isHeld = running > 0 && pool.isHeld();
    const first = isHeld ? undefined : await runJob(pool, request);
    signal?.throwIfAborted();
    const answer = first && first.kind !== "unavailable" ? first : await checks.run((own) => runJob(own, request));
    signal?.throwIfAborted();
    return answer;
  };
  const answer = await evaluate();
  if (answer.kind === "value") {
    if (passed.size >= MAX_PASSED) passed.clear();
    passed.set(module, await measureLoad(answer.runMs ?? 0, evaluate));
    return [];
  }
  const { place } = traceStack(bundle, answer.message, answer.stack ?? "");
  const logged = answer.log.map(({ level, text }) => `${level}: ${text}`);
  const excerpt = [place.excerpt, ...logged].filter(Boolean).join("\n") || undefined;
  return [{ message: answer.message, file: bundle.spec.file, ...place, excerpt }];
}

/** Evaluates the module again if it seems slow. */
async function measureLoad(runMs: number, evaluate: () => Promise<Answer>): Promise<number> {
  let loadMs = runMs;
  for (let round = 1; round < MAX_ROUNDS && loadMs > QUICK_MS; round++) {
    const again = await evaluate();
    if (again.kind === "value") loadMs = Math.min(loadMs, again.runMs ?? 0);
  }
  return loadMs;
}

async function run(state: State, bundle: TransformBundle, call: TransformCall): Promise<TransformOutcome> {
  state.running++;
  const answer = await runJob(state.pool, {
    operation: "call",
    bundle,
    module: nameModule(bundle),
    text: toText(bundle, call),
    body: call.rawBody,
    timeoutMs: call.timeoutMs ?? bundle.spec.timeoutMs,
  });
  state.running--;
  state.calls++;
  if (answer.kind === "value") {
    const { value, unread, sets, log: lines, runMs = 0 } = answer;
    return { value, unread, sets, log: lines, runMs };
  }
  const { kind, message, log, stack = "", retryAfterMs } = answer;
  // The transform was not called.
  if (kind === "bad_payload") throw new TransformError(kind, message);
  state.failures++;
  const { text: trace, place } = traceStack(bundle, message, stack);
  const { file = bundle.spec.file, line, column } = place;
  // The message may contain a piece of the payload, so the log gets only the place; the event keeps the rest.
  state.telemetry.log.warn("transform failed", { step: "mapping", reason: kind, file, line, column });
  throw new TransformError(kind, message, { log, trace, retryAfterMs });
}

/** The answer as it can be shown. */
async function runJob(pool: Pool, request: JobRequest): Promise<Answer> {
  const answer = withoutSecrets(await pool.run(request), request.bundle.spec.secrets);
  return answer.kind === "value" ? answer : { ...answer, message: explainFailure(answer, request) };
}

/** The input as JSON, without the body and without a payload that is just the parsed body. */
function toText({ spec }: TransformBundle, call: TransformCall): string {
  const { rawBody: _, timeoutMs: __, payload, payloadIsBody, state, ...rest } = call;
  const input = { ...rest, secrets: spec.secrets };
  return JSON.stringify({ payloadIsBody, input: payloadIsBody ? input : { ...input, payload }, state });
}

/** The version of the code and everything else that its isolate depends on. */
function nameModule({ id, spec }: TransformBundle): string {
  return `${id}:${spec.memoryMb}:${spec.isolation}`;
}
