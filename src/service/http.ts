import { isOnlyAck } from "../actions/agent.ts";
import { createFindAnswer } from "../answers.ts";
import { createServer, type IngressServer } from "../ingress/server.ts";
import { createMailPush } from "../mail/gmail/pubsub.ts";
import { listShadowed } from "../mapping/mapping-index.ts";
import { findCompletionWait } from "../mapping/openclaw.ts";
import { createOperatorRoutes } from "../operator/http/api.ts";
import { createRejectionLog } from "../operator/rejections.ts";
import { toAnswerView, toToolsView, toView } from "../operator/views.ts";
import { createReceiver, type Receiver } from "../receive.ts";
import { createRunResults, type RunResults } from "../run-results.ts";
import type { Runtime } from "../runtime/build.ts";
import { listGrants } from "../runtime/grants.ts";
import { writeMetrics } from "../telemetry/metrics.ts";
import type { HookRequest, HttpResponse } from "../types.ts";
import { type Execution, readEvent } from "./execution.ts";
import { createOperations } from "./operations.ts";
import type { Parts } from "./parts.ts";

/** What answers requests: hooks, the operator API and its page. */
export interface Http {
  server: IngressServer;
  /** The answers that senders wait for. */
  results: RunResults;
  replay: Receiver["replay"];
}

export interface HttpOptions {
  /** It is made later, because it posts mails to the server. */
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
  const rejections = createRejectionLog(telemetry, (rejection) => {
    stream.publish("rejection", rejection.id, () => toView(rejection));
    activity.rejected(rejection.reason);
  });
  const server = createServer({
    current,
    telemetry,
    findParser,
    readsPayload: receiver.readsPayload,
    receive,
    readRun: results.read,
    rejections,
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
        stream,
        activity,
        metrics: async () => writeMetrics(activity, await operations.status()),
        tools: () => toToolsView(current(), listGrants(current().config, current().tools)),
        shadowed: () => new Set(listShadowed(current().mappings.mappings)),
        replay: receiver.replay,
      }),
      "POST /mail/push": createMailPush({ mailboxes: () => execution().mail.mailboxes() }),
    },
  });
  return { server, results, replay: receiver.replay };

  /** The answer comes with the commit, or with the run's reply if the mapping or the sender waits for it. */
  async function receive(request: HookRequest, runtime: Runtime): Promise<HttpResponse> {
    const { config } = runtime;
    const seconds = config.hooks.compat === "openclaw" ? findCompletionWait(request, config.agents) : undefined;
    const accepted = await receiver.receive(request, runtime);
    const answer = await findAnswer(accepted, request, runtime);
    if (answer) return answer;
    if (seconds !== undefined) return results.waitForCompletion(accepted.response, seconds);
    return request.headers["prefer"] === undefined ? accepted.response : results.waitFor(request, accepted.response);
  }
}
