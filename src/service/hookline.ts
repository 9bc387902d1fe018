import type { IncomingMessage, ServerResponse } from "node:http";
import type { Hookline } from "./library.ts";
import { type EventTimeline, toEventTimeline } from "../operator/views.ts";
import type { Runtime } from "../core/ports/runtime.ts";
import { createExecution, type Execution } from "./execution.ts";
import { createHttp, type Http } from "./http.ts";
import { createLifecycle, type ServicePart } from "./lifecycle.ts";
import { openParts, type Parts, type PartsOptions } from "./parts.ts";
import { writeOwner } from "../core/shared/system/owner.ts";
import type { HttpResponse } from "../core/types.ts";

/** How long `close` waits for turns and deliveries in flight, in milliseconds; the rest runs again after the next start. */
export const CLOSE_MS = 30_000;

/** The service as the command line uses it, with more than a program gets that uses it as a library. */
export type HooklineServiceOptions = PartsOptions;

export interface HooklineService extends Hookline {
  /** The compiled configuration in use. */
  runtime(): Runtime;
  /** An event with its results so far; undefined if unknown. */
  event(id: string): Promise<EventTimeline | undefined>;
  /** Runs an event again as a new one, and gives the answer that its sender would get; undefined if it is unknown. */
  replay(id: string): Promise<HttpResponse | undefined>;
  /** `cause`: what the log says about it. */
  reload(cause?: string): Promise<void>;
  /** Answers a request of another listener, if it is one to a hook. */
  serveHook: Http["server"]["serveHook"];
}

/** Wires the steps together. Throws a `ConfigError` with all problems that keep the service from starting. */
export async function createHookline(options: HooklineServiceOptions): Promise<HooklineService> {
  const parts = await openParts(options);
  const { journal, current, findParser } = parts;
  const address = { url: "", port: 0 };
  const http = createHttp(parts, { execution: () => execution, serviceUrl: () => address.url });
  const execution: Execution = createExecution(parts, {
    watch: options.watch ?? true,
    send: (request) => http.server.handle(request, { isOwn: true }),
    replaced: (runtime) => lifecycle.replaced(runtime),
  });
  const lifecycle = createLifecycle([
    ...listParts(parts, http, execution),
    { needsPort: true, use: (runtime) => showService(parts, runtime, address.port) },
  ]);

  function start(): void {
    lifecycle.start(current(), { hasPort: false });
  }

  const shown = options.show?.(parts.stream.open({ filter: { answers: "true", own: true } }));
  return {
    async listen() {
      Object.assign(address, await http.server.listen());
      lifecycle.start(current(), { hasPort: true });
      return { ...address };
    },
    start,
    async handle(request, { client } = {}) {
      start();
      return http.server.handle(request, { client });
    },
    nodeHandler(request: IncomingMessage, response: ServerResponse, next) {
      start();
      return http.server.nodeHandler(request, response, next);
    },
    serveHook: http.server.serveHook,
    reload: (cause?: string) => execution.reloader.reload(cause),
    warnings: () => current().warnings,
    runtime: current,
    async event(id) {
      const event = await journal.getEvent(id);
      return event && toEventTimeline(event, findParser);
    },
    async replay(id) {
      const event = await journal.getEvent(id);
      return event && http.replay(event);
    },
    inFlight() {
      const { runningRuns, runningHeartbeat, runningDeliveries } = execution.dispatcher.status();
      return { turns: runningRuns + Number(runningHeartbeat), deliveries: runningDeliveries };
    },
    async close() {
      await lifecycle.stop();
      await parts.stream.close();
      await shown;
      await journal.close();
    },
  };
}

/** In the order of their start, after the port is open. They stop in the reverse order. */
function listParts(
  { current, journal, cache, sandbox, stream }: Parts,
  { server, results, mcp, catchUps, schedules, rejections, activity }: Http,
  { dispatcher, sweeper, alerts, health, mail, reloader }: Execution,
): ServicePart[] {
  return [
    { use: () => cache.dropUnused() },
    {
      start(runtime) {
        if (!executes(runtime)) return;
        sweeper.start();
        journal.watch((work) => work.has("lease") && mail.retryLocked());
      },
      stop: () => sweeper.stop(),
    },
    { stop: () => sandbox.close() },
    { stop: () => current().agent.close?.() },
    { stop: () => current().tools.close() },
    { start: () => activity.start(), stop: () => activity.close() },
    { stop: () => rejections.close() },
    // Only after the dispatcher: until the last turn has ended, senders get a 503 and try again.
    { stop: () => server.close() },
    {
      use({ tools }) {
        tools.watch({ alert: alerts.raise, called: health.called });
        health.use(tools);
      },
      stop: () => health.close(),
    },
    { use: (runtime) => executes(runtime) && alerts.use(runtime.config.alerts), stop: () => alerts.close() },
    {
      start: (runtime) => dispatcher.start({ executes: executes(runtime) }),
      use: () => dispatcher.recheck(),
      stop: () => dispatcher.close(CLOSE_MS),
    },
    { stop: () => reloader.close() },
    { stop: () => server.drain() },
    // Nobody else ends them, and the server would wait.
    { stop: () => stream.disconnect() },
    { use: (runtime) => mcp.use(runtime, { executes: executes(runtime) }), stop: () => mcp.stop() },
    { stop: () => results.close() },
    { use: (runtime) => executes(runtime) && mail.use(runtime), stop: () => mail.close() },
    { use: (runtime) => executes(runtime) && schedules.use(runtime), stop: () => schedules.close() },
    // Senders deliver again what they could not.
    { start: () => catchUps.start(), stop: () => catchUps.close() },
  ];
}

/** A node for requests alone leaves the work to others. */
function executes({ config }: Runtime): boolean {
  return config.gateway.role !== "ingress";
}

/** For commands that cannot read the configuration. Nodes with a database have no state folder. */
function showService({ store }: Parts, { config: { gateway, hooks } }: Runtime, port: number): void {
  if (store.postgres) return;
  writeOwner(store.path, { host: gateway.host, port, hooksPath: hooks.path });
}
