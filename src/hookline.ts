import path from "node:path";
import { type ReadConfig, readConfig } from "./config/load.ts";
import { IS_CHECKOUT, packageVersion } from "./shared/package.ts";
import { createAlerts, describeDown, describeRefusal } from "./dispatch/alerts.ts";
import { createDispatcher } from "./dispatch/dispatcher.ts";
import { readBudget } from "./dispatch/hold.ts";
import type { Hookline, HooklineOptions } from "./embedding.ts";
import { ConfigError, HookError } from "./errors.ts";
import { createParsers } from "./ingress/parse-body.ts";
import { createServer } from "./ingress/server.ts";
import { createSweeper } from "./journal/sweeper.ts";
import { createMailPush } from "./mail/gmail/pubsub.ts";
import { createMailService } from "./mail/watch/service.ts";
import { isDown, type MailStatus } from "./mail/watch/status.ts";
import { listShadowed } from "./mapping/mapping-index.ts";
import { resolveRequest } from "./mapping/resolve.ts";
import { type Diff, runDiff } from "./operator/diff.ts";
import { createOperatorRoutes } from "./operator/http/api.ts";
import { createLiveStream } from "./operator/http/stream.ts";
import { createRejectionLog } from "./operator/rejections.ts";
import { runTrial, type Trial } from "./operator/trial.ts";
import {
  describeNode,
  type EventTimeline,
  type StatusView,
  toEventTimeline,
  toMailView,
  toNodesView,
  toProgramView,
  toView,
} from "./operator/views.ts";
import { buildProgram, type Program } from "./program/build.ts";
import { createDrafts } from "./program/draft.ts";
import { createReloader } from "./program/reload.ts";
import { createReceiver } from "./receive.ts";
import { createRunResults } from "./run-results.ts";
import { createMailStores, openJournal } from "./stores.ts";
import { writeMetrics } from "./telemetry/metrics.ts";
import { createTelemetry, type RequestFollower } from "./telemetry/telemetry.ts";
import { createCodeCache } from "./transforms/compile.ts";
import type { Pool } from "./transforms/sandbox/pool.ts";
import { createSandbox } from "./transforms/sandbox/sandbox.ts";
import type { HttpResponse } from "./types.ts";

/** How long `close` waits for turns and deliveries in flight, in milliseconds; the rest runs again after the next start. */
export const CLOSE_MS = 30_000;

/** The service as the command line uses it, with more than a program that embeds it gets. */
export interface HooklineServiceOptions extends HooklineOptions {
  /** Is called as requests are answered and executed. On a terminal it replaces the log's lines about them. */
  follower?: RequestFollower;
  /** For its sandbox. Default: new processes. */
  pool?: Pool;
}

export interface HooklineService extends Hookline {
  program(): Program;
  /** An event with its results so far; undefined if unknown. */
  event(id: string): Promise<EventTimeline | undefined>;
  /** Runs an event again as a new one, and gives the answer that its sender would get; undefined if it is unknown. */
  replay(id: string): Promise<HttpResponse | undefined>;
}

/** Wires the steps together. Throws a `ConfigError` with all problems that keep the service from starting. */
export async function createHookline(options: HooklineServiceOptions): Promise<HooklineService> {
  const startedAt = new Date().toISOString();
  const load = createLoad(options);
  const readAt = Date.now();
  const read = await load();
  const { log: logSettings, store } = read.config;
  const telemetry = createTelemetry(logSettings.level, { follower: options.follower });
  const { log, activity } = telemetry;
  const sandbox = createSandbox({ telemetry, pool: options.pool });
  // In a checkout, what compiles may change between two starts.
  const keepsCode = !IS_CHECKOUT && !store.postgres;
  const cache = createCodeCache(keepsCode ? path.join(store.path, "compiled-transforms.json") : undefined);
  const parts = { runner: sandbox, log, cache };
  const drafts = createDrafts(sandbox);
  let inUse = await buildProgram({ generation: 1, readAt, load: async () => read, ...parts }).catch(abandon);
  const journal = await openJournal(store, telemetry).catch(abandon);
  const stream = createLiveStream({ journal, log });
  /** A request takes it once and keeps it to its end. */
  const current = (): Program => inUse;
  const programs = createReloader({
    current,
    build: (generation) => buildProgram({ generation, load, ...parts }),
    watch: options.watch ?? true,
    replaced(program) {
      inUse = program;
      cache.save();
      if (listening) useMail(program);
      if (started) useAlerts(program);
      dispatcher.recheck();
      showReload();
    },
    refused({ problems }) {
      showReload();
      alerts.raise({ kind: "reload-failed", text: describeRefusal(problems) });
    },
    telemetry,
  });
  const dispatcher = createDispatcher({
    journal,
    current,
    describeNode: () => describeNode(current().config, startedAt),
    telemetry,
  });
  const alerts = createAlerts({ journal, current, log });
  const sweeper = createSweeper({
    journal,
    retention: () => ({ ...current().config.store.retention, dedupeWindowMs: current().config.hooks.dedupeWindowMs }),
    log,
  });
  const findParser = createParsers({
    async readMail(source) {
      const { readPostedMail } = await import("./mail/message/posted-mail.ts");
      return readPostedMail(source, current().config.hooks.mail[0]);
    },
  });
  const rejections = createRejectionLog(telemetry, (rejection) => {
    stream.publish("rejection", rejection.id, () => toView(rejection));
    activity.rejected(rejection.reason);
  });
  const { readsPayload, receive, replay, record, recordHandshake } = createReceiver({
    current,
    sandbox,
    journal,
    telemetry,
    findParser,
  });
  const results = createRunResults(journal);
  const server = createServer({
    current,
    telemetry,
    findParser,
    readsPayload,
    receive(request) {
      const accepting = receive(request);
      if (request.headers["prefer"] === undefined) return accepting;
      return accepting.then((accepted) => results.waitFor(request, accepted));
    },
    readRun: results.read,
    rejections,
    refused: record,
    onHandshake: recordHandshake,
    routes: {
      ...createOperatorRoutes({
        config: () => current().config,
        serviceUrl: () => serviceUrl,
        journal,
        findParser,
        rejections,
        stream,
        status,
        activity,
        metrics: async () => writeMetrics(activity, await status()),
        shadowed: () => new Set(listShadowed(current().mappings.mappings)),
        tryHook,
        diff,
        replay,
        requireReady,
      }),
      "POST /mail/push": createMailPush({ mailboxes: () => mail.mailboxes() }),
    },
  });
  const mail = createMailService({
    openStore: createMailStores(store, journal),
    send: server.handle,
    telemetry,
    changed: showMailbox,
  });

  let serviceUrl = "";
  let started = false;
  let listening = false;
  let diffing = false;
  return {
    async listen() {
      const address = await server.listen();
      serviceUrl = address.url;
      start();
      listening = true;
      useMail(current());
      setImmediate(cache.save);
      return address;
    },
    async handle(request) {
      start();
      return server.handle(request);
    },
    reload: programs.reload,
    program: current,
    async event(id) {
      const event = await journal.getEvent(id);
      return event && toEventTimeline(event, findParser);
    },
    async replay(id) {
      const event = await journal.getEvent(id);
      return event && replay(event);
    },
    inFlight() {
      const { runningRuns, runningHeartbeat, runningDeliveries } = dispatcher.status();
      return { turns: runningRuns + Number(runningHeartbeat), deliveries: runningDeliveries };
    },
    async close() {
      await mail.close();
      results.close();
      // Nobody else ends them, and the server would wait.
      stream.close();
      await server.drain();
      await programs.close();
      await dispatcher.close(CLOSE_MS);
      await alerts.close();
      // Only now: until the last turn has ended, senders get a 503 and try again.
      await server.close();
      current().agent.close?.();
      await sandbox.close();
      await sweeper.stop();
      await options.follower?.close();
      await journal.close();
    },
  };

  function start(): void {
    if (started) return;
    started = true;
    const executes = current().config.gateway.role !== "ingress";
    dispatcher.start({ executes });
    if (executes) sweeper.start();
    if (executes) journal.watch((work) => work.has("lease") && mail.retryLocked());
    useAlerts(current());
  }

  function useAlerts({ config }: Program): void {
    if (config.gateway.role !== "ingress") alerts.use(config.alerts);
  }

  function useMail(program: Program): void {
    if (program.config.gateway.role !== "ingress") mail.use(program);
  }

  function showReload(): void {
    stream.publish("reload", "", () => toProgramView(current(), programs.lastFailure()));
  }

  function showMailbox(mailbox: MailStatus): void {
    stream.publish("mailbox", mailbox.name, () => toMailView(mailbox));
    if (isDown(mailbox)) alerts.raise({ kind: "mailbox-down", subject: mailbox.name, text: describeDown(mailbox) });
  }

  /** A failed start must not leave a sandbox process behind. */
  async function abandon(error: unknown): Promise<never> {
    await sandbox.close();
    throw error;
  }

  async function status(): Promise<StatusView> {
    return {
      version: packageVersion(),
      startedAt,
      ...toProgramView(current(), programs.lastFailure()),
      sandbox: sandbox.status(),
      queue: { ...(await journal.stats()), ...dispatcher.status() },
      budget: await readBudget(journal, current().config.agents),
      mail: mail.status().map(toMailView),
      ...toNodesView(await journal.nodes()),
    };
  }

  function tryHook(body: unknown): Promise<Trial> {
    const program = current();
    return runTrial(body, program, {
      resolve: (request, mappings) => resolveRequest(request, { ...program, mappings, run: sandbox.run }),
      buildDraft: (draft) => drafts.build(program, draft),
    });
  }

  /** One at a time: it resolves every stored event twice. */
  async function diff(body: unknown): Promise<Diff> {
    if (diffing) throw new HookError("overloaded", { message: "Another diff is running." });
    const program = current();
    diffing = true;
    return runDiff(body, {
      journal,
      findParser,
      mappings: program.mappings,
      resolve: (request, mappings) => resolveRequest(request, { ...program, mappings, run: sandbox.run }),
      buildAll: (change) => drafts.buildAll(program, change),
    }).finally(() => (diffing = false));
  }

  async function requireReady(): Promise<void> {
    await journal.probe();
    if (!sandbox.status().ready) throw new Error("the sandbox is not ready");
    mail.assertReady();
  }
}

/** Reads the configuration at each call, and applies `host` and `port` of the options. */
function createLoad({ config, env = process.env, host, port, role }: HooklineOptions): () => Promise<ReadConfig> {
  return async () => {
    const read = await readConfig(config, env);
    const { gateway } = read.config;
    gateway.host = host ?? gateway.host;
    gateway.port = port ?? gateway.port;
    gateway.role = role ?? gateway.role;
    if (role !== undefined && role !== "all" && !read.config.store.postgres) {
      throw new ConfigError([
        { key: "store.url", message: `is needed for the role ${role}: others must share the store` },
      ]);
    }
    return read;
  };
}
