import { toSystemEvent } from "./actions/wake.ts";
import { splitText } from "./channels/split.ts";
import type { UserConfig } from "./config/generated.ts";
import { type ReadConfig, readConfig } from "./config/read-config.ts";
import { packageVersion } from "./config/package.ts";
import { createDispatcher } from "./dispatch/dispatcher.ts";
import { HookError } from "./errors.ts";
import { requireBodyKind } from "./ingress/body-kind.ts";
import { parseBody } from "./ingress/parse-body.ts";
import { receiptToResponse } from "./ingress/respond.ts";
import { createServer } from "./ingress/server.ts";
import { createBacklogGuard } from "./journal/backlog.ts";
import { fingerprintOf, idempotencyScope, toEvent, toRefusedEvent } from "./journal/event.ts";
import type { AcceptResult, EventRecord } from "./journal/port.ts";
import { createSweeper } from "./journal/sweeper.ts";
import { createSqliteJournal } from "./journal/sqlite.ts";
import { resolveRequest } from "./mapping/resolve.ts";
import { registerOperator } from "./operator/api.ts";
import { toReplayRequest } from "./operator/replay.ts";
import { toStatus } from "./operator/status.ts";
import { runTrial, type Trial } from "./operator/trial.ts";
import { buildProgram, type Program } from "./program/build.ts";
import { createReloader } from "./program/reload.ts";
import { createLog } from "./telemetry/log.ts";
import { createSandbox } from "./transforms/sandbox/supervisor.ts";
import type { HookAction, HookRequest, HookResponse, Resolution } from "./types.ts";

/** How long a stop waits for turns and sends under way, in milliseconds; what is left runs again after the next start. */
const CLOSE_MS = 30_000;

export interface HooklineOptions {
  /** A configuration file, read again at every reload, or a configuration. */
  config: string | UserConfig;
  /** What `${NAME}` stands for. Default: the process's own environment. */
  env?: NodeJS.ProcessEnv;
  /** Over the configuration's own. */
  host?: string;
  port?: number;
  /** Follow the configuration's files and reload by itself. Default: true. */
  watch?: boolean;
}

export interface Hookline {
  /** Opens the port and starts to carry out what is in the journal; nothing of it where the port cannot be had. */
  listen(): Promise<{ url: string; port: number }>;
  /** The same service without a socket. */
  handle(request: Request): Promise<Response>;
  /** Builds the configuration again and swaps it in whole, or throws a `ConfigError` and keeps the old one. */
  reload(): Promise<void>;
  /** What the running configuration warns of. */
  program(): Program;
  /** Takes nothing new, finishes what is in flight, closes everything. */
  close(): Promise<void>;
}

/** Wires the steps together. Throws a `ConfigError` with everything that keeps the service from starting. */
export async function createHookline(options: HooklineOptions): Promise<Hookline> {
  const startedAt = Date.now();
  const load = createLoad(options);
  const { log: logSettings, store } = (await load()).config;
  const log = createLog(logSettings.level);
  const sandbox = createSandbox({ log });
  const build = (generation: number): Promise<Program> => buildProgram({ generation, load, runner: sandbox });
  const first = await build(1).catch(abandon);
  const journal = await createSqliteJournal({ folder: store.path, log }).catch(abandon);
  const programs = createReloader({ first, build, watch: options.watch ?? true, log });
  const current = programs.current;
  const backlog = createBacklogGuard(journal, () => current().config.hooks.maxPending);
  const dispatcher = createDispatcher({
    journal,
    agent: () => current().agent,
    channels: () => current().channels,
    split: splitText,
    settings: () => current().config.agents,
    limits: () => current().limits,
    log,
  });
  const sweeper = createSweeper({ journal, retention: () => current().config.store.retention, log });
  const server = createServer({
    config: () => current().config,
    log,
    receive,
    refused: record,
    register: (app) =>
      registerOperator(app, {
        token,
        journal,
        status,
        tryHook,
        replay,
        lookForWork: dispatcher.lookForWork,
        requireReady,
      }),
  });

  return {
    async listen() {
      const address = await server.listen();
      dispatcher.start();
      sweeper.start();
      return address;
    },
    handle: server.handle,
    reload: programs.reload,
    program: current,
    async close() {
      await server.close();
      await programs.close();
      await dispatcher.close(CLOSE_MS);
      await sandbox.close();
      await sweeper.stop();
      await journal.close();
    },
  };

  /** A start that fails leaves no process behind, and nothing that keeps this one from ending. */
  async function abandon(error: unknown): Promise<never> {
    await sandbox.close();
    throw error;
  }

  /** The whole way of a request that was let in: a repeat or a mapping, the journal, the answer. */
  async function receive(request: HookRequest): Promise<HookResponse> {
    backlog.requireRoom();
    const program = current();
    const known = await findReplay(request);
    if (known) return toAnswer(known);
    return commit(request, await resolve(request, program), program);
  }

  /** A stored request runs again: through the mappings of now, and under no idempotency key. */
  async function replay(event: EventRecord): Promise<HookResponse> {
    backlog.requireRoom();
    const program = current();
    const request = toReplayRequest(event, (type, body) => parseBody(requireBodyKind(type), body));
    const resolution = await resolve(request, program);
    return commit(request, { ...resolution, idempotency: undefined }, program);
  }

  async function commit(
    request: HookRequest,
    resolution: Resolution,
    { config }: Program,
  ): Promise<HookResponse> {
    const { dedupeWindowMs, redact } = config.hooks;
    const event = toEvent(request, resolution, { toSystemEvent, dedupeWindowMs, redact });
    const result = await journal.accept(event);
    if (result.kind === "committed") carryOut(resolution.actions);
    return toAnswer(result);
  }

  async function resolve(request: HookRequest, { mappings, config }: Program): Promise<Resolution> {
    try {
      return await resolveRequest(request, { mappings, config, run: sandbox.run });
    } catch (error) {
      if (error instanceof HookError) await record(request, error);
      throw error;
    }
  }

  async function findReplay(request: HookRequest): Promise<AcceptResult | undefined> {
    if (request.idempotencyKey === undefined) return undefined;
    return journal.findReplay(idempotencyScope(request), request.idempotencyKey, fingerprintOf(request));
  }

  /** Keeps a refused request for the operator. That it was refused does not depend on it. */
  async function record(request: HookRequest, error: HookError): Promise<void> {
    const event = toRefusedEvent(request, error, current().config.hooks);
    const { status: httpStatus, code } = error;
    const fields = { eventId: event.id, hook: event.hook, mapping: event.mapping, status: httpStatus, code };
    log.warn("request refused", fields);
    // What a transform threw may quote the payload: it stands on the event, and in the log for who asks for it.
    log.debug("request refused because", { eventId: event.id, detail: event.failure?.detail });
    await journal.accept(event).catch((cause: unknown) => {
      log.error("refused request not recorded", { eventId: request.id, error: String(cause) });
    });
  }

  function carryOut(actions: HookAction[]): void {
    const runs = actions.filter(({ kind }) => kind === "agent").length;
    backlog.add(runs);
    if (runs > 0) dispatcher.notify();
    if (actions.some((action) => action.kind === "wake" && action.mode === "now"))
      dispatcher.requestHeartbeat();
  }

  function token(): string | undefined {
    return current().config.gateway.token;
  }

  async function status(): Promise<object> {
    return toStatus({
      version: packageVersion(),
      startedAt,
      program: current(),
      reloadFailure: programs.lastFailure(),
      sandbox: sandbox.status(),
      journal: await journal.stats(),
      running: dispatcher.status(),
    });
  }

  async function tryHook(trial: unknown): Promise<Trial> {
    const { mappings, config } = current();
    const resolveTrial = (request: HookRequest): Promise<Resolution> =>
      resolveRequest(request, { mappings, config, run: sandbox.run });
    return runTrial(trial, config.hooks.path, resolveTrial);
  }

  async function requireReady(): Promise<void> {
    await journal.probe();
    if (!sandbox.status().ready) throw new Error("the sandbox is not ready");
  }
}

/** The journal's word as an answer. */
function toAnswer(result: AcceptResult): HookResponse {
  if (result.kind !== "conflict") return receiptToResponse(result.receipt);
  throw new HookError(422, "idempotency_conflict", "This idempotency key was used with other content.");
}

/** Reads the configuration anew at each call; host and port of the options hold over its own. */
function createLoad({ config, env = process.env, host, port }: HooklineOptions): () => Promise<ReadConfig> {
  return async () => {
    const read = await readConfig(config, env);
    const { gateway } = read.config;
    gateway.host = host ?? gateway.host;
    gateway.port = port ?? gateway.port;
    return read;
  };
}
