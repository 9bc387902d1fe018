import { isOnlyAck } from "../core/actions/agent-turn.ts";
import { createFindAnswer, createRunResults, type RunResults } from "./run-results.ts";
import { messageOf } from "../core/errors.ts";
import type { HookOptions } from "../core/ingress/serve-hook.ts";
import { createServer, type IngressServer } from "../core/ingress/server.ts";
import { toStoredRequest } from "../core/journal/new-event.ts";
import { createMailPush } from "../mail/gmail/pubsub.ts";
import { listShadowed } from "../core/mapping/mapping-index.ts";
import { findCompletionWait } from "../core/mapping/policy/openclaw.ts";
import { createOperatorRoutes } from "../operator/http/api.ts";
import { type ActivityLog, createActivityLog } from "../operator/activity.ts";
import { createRecordings, type Recordings } from "../operator/recording-store.ts";
import { createRejectionLog, type RejectionLog } from "../operator/rejections.ts";
import { toView } from "../operator/iso-times.ts";
import { toToolsView } from "../operator/tool-views.ts";
import { toAnswerView } from "../operator/views.ts";
import { createReceiver, type Receiver } from "../core/receive.ts";
import type { Runtime } from "../core/ports/runtime.ts";
import { listAuthority } from "./runtime/authority.ts";
import { writeMetrics } from "../core/telemetry/metrics.ts";
import type { HookRequest, HttpResponse } from "../core/types.ts";
import { type CatchUps, createCatchUps } from "./catch-up.ts";
import { type Execution, readEvent } from "./execution.ts";
import { createMcp, type Mcp } from "../mcp/open.ts";
import { createSchedules, type Schedules } from "./schedule.ts";
import { createOperations } from "./operations.ts";
import type { Parts } from "./parts.ts";

/** The parts that answer requests: hooks, the operator API and its page. */
export interface Http {
  server: IngressServer;
  /** The answers that senders wait for. */
  results: RunResults;
  mcp: Mcp;
  rejections: Pick<RejectionLog, "close">;
  activity: Pick<ActivityLog, "start" | "close">;
  replay: Receiver["replay"];
  catchUps: CatchUps;
  schedules: Schedules;
}

export interface HttpOptions {
  /** A function: the execution is made later, because it posts mails to the server. */
  execution(): Execution;
  /** Where the service listens; blank until it does. */
  serviceUrl(): string;
}

export function createHttp(parts: Parts, { execution, serviceUrl }: HttpOptions): Http {
  const { current, journal, stream, findParser, telemetry } = parts;
  const { activity } = telemetry;
  const receiver = createReceiver(parts);
  const results = createRunResults(journal, (reply) => isOnlyAck(reply, current().config.agents.heartbeat.ack));
  const findAnswer = createFindAnswer({
    journal,
    results,
    readEvent: (event) => readEvent(parts, event),
    log: telemetry.log,
  });
  const operations = createOperations(parts, execution);
  const mcp = createMcp(parts, () => execution().alerts);
  const rejections = createRejectionLog(telemetry, journal, (rejection) => {
    stream.publish("rejection", rejection.id, () => toView(rejection));
    activity.rejected(rejection.reason);
  });
  const catchUps = createCatchUps(parts, {
    requireReady: operations.requireReady,
    receive: async (request, runtime) => (await receiver.receive(request, runtime)).response,
    alerts: () => execution().alerts,
    caughtUp: (hook) => execution().health.well(`missed:${hook}`),
  });
  const schedules = createSchedules({
    ...parts,
    receive: receiver.receive,
    beat: () => execution().dispatcher.beat(),
  });
  const activityLog = createActivityLog(telemetry, journal);
  const recordings = createRecordings(journal);
  const server = createServer({
    current,
    telemetry,
    findParser,
    readsPayload: receiver.readsPayload,
    receive,
    readRun: results.read,
    rejections,
    recordings: keepIn(recordings, parts),
    refused: receiver.record,
    answered: (answer) => stream.publish("answer", answer.id, () => toAnswerView(answer, current().config.hooks.path)),
    onHandshake: receiver.recordHandshake,
    routes: {
      ...createOperatorRoutes({
        ...operations,
        config: () => current().config,
        serviceUrl,
        journal,
        findParser,
        rejections,
        recordings,
        catchUp: catchUps.ask,
        runSchedule: schedules.run,
        takes: (hook) => current().mappings.names(hook),
        stream,
        activity: activityLog,
        audit: mcp.audit,
        metrics: async () => writeMetrics(activity, await operations.status()),
        tools: () => toToolsView(current(), listAuthority(current())),
        shadowed: () => new Set(listShadowed(current().mappings.mappings)),
        saving: parts.saving,
        inputs: (id) => current().mappings.mappings.find(({ source }) => source.id === id)?.bundle?.inputs ?? [],
        replay: receiver.replay,
      }),
      ...mcp.routes,
      "POST /mail/push": createMailPush({ mailboxes: () => execution().mail.mailboxes() }),
    },
  });
  return { server, results, mcp, rejections, activity: activityLog, replay: receiver.replay, catchUps, schedules };

  /** The answer comes with the commit, or with the run's reply if the mapping or the sender waits for it. */
  async function receive(request: HookRequest, runtime: Runtime): Promise<HttpResponse> {
    const { config } = runtime;
    const seconds = config.hooks.compat === "openclaw" ? findCompletionWait(request, config.agents) : undefined;
    const accepted = await receiver.receive(request, runtime);
    const answer = runtime.mappings.answers.size > 0 ? await findAnswer(accepted, request, runtime) : undefined;
    if (answer) return answer;
    if (seconds !== undefined) return results.waitForCompletion(accepted.response, seconds);
    // The result of a run is for those who can also ask for it later.
    const isReader = request.headers["prefer"] !== undefined && runtime.authenticators.isToken(request.credential);
    return isReader ? results.waitFor(request, accepted.response) : accepted.response;
  }
}

/** A request is answered whether or not it can be kept. */
function keepIn({ wants, add }: Recordings, { current, telemetry: { log } }: Parts): HookOptions["recordings"] {
  const failed = (error: unknown): void => log.warn("a refused request was not recorded", { error: messageOf(error) });
  return {
    wants: (hook) => wants(hook).catch((error: unknown) => (failed(error), false)),
    async add(request, answer) {
      const { id, hook, receivedAt: at, rawBody, headers } = request;
      const size = rawBody.length || Number(headers["content-length"] ?? 0);
      const stored = toStoredRequest(request, current().config.hooks.redact);
      await add(hook, { id, at, answer, size, request: stored }).catch(failed);
    },
  };
}
