/**
 * The rows of the conformance suite for MCP Events (modelcontextprotocol/conformance, `src/seps/sep-9999.yaml` of September
 * 2026), which has no release yet, as tests of our own. *pass* is checked here against what a running service did; *elsewhere*
 * passes and is checked in the test that is named; *differs* and *not applicable* say why.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { waitFor } from "../support/client.ts";
import {
  type Callback,
  createSecret,
  isSignedBy,
  type Json,
  MCP_TOKEN,
  OTHER_TOKEN,
  publishing,
  type Received,
  rpc,
  type RpcAnswer,
  startCallback,
} from "../support/mcp.ts";
import { type Service, startService } from "../support/service.ts";

const NAME = { name: "deploys" };

/** The results of a service. */
interface Seen {
  discovered: RpcAnswer;
  listed: RpcAnswer;
  first: RpcAnswer;
  absent: RpcAnswer;
  polled: RpcAnswer;
  capped: RpcAnswer;
  quiet: RpcAnswer;
  aged: RpcAnswer;
  agedNow: RpcAnswer;
  stale: RpcAnswer;
  unknown: RpcAnswer;
  wrongArguments: RpcAnswer;
  subscribed: RpcAnswer;
  again: RpcAnswer;
  ofOther: RpcAnswer;
  endless: RpcAnswer;
  clamped: RpcAnswer;
  anonymous: RpcAnswer;
  push: RpcAnswer;
  noSecret: RpcAnswer;
  shortSecret: RpcAnswer;
  http: RpcAnswer;
  privateUrl: RpcAnswer;
  noEcho: RpcAnswer;
  unreachable: RpcAnswer;
  unsubscribed: RpcAnswer;
  unsubscribedAgain: RpcAnswer;
  secrets: [string, string];
  challenges: Received[];
  deliveries: Received[];
  terminated: Received;
}

let seen: Seen;
const closing: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closing) await close();
});

beforeAll(async () => {
  const callback = await startCallback();
  const deaf = await startCallback();
  deaf.echo = () => ({ status: 200, body: "{}" });
  const service = await startService({
    config: publishing({
      principals: {
        desk: { secret: MCP_TOKEN, events: ["*"] },
        other: { secret: OTHER_TOKEN, events: ["*"] },
      },
    }),
  });
  closing.push(service.close, callback.close, deaf.close);
  seen = await observe(service, callback, deaf);
});

async function observe(service: Service, callback: Callback, deaf: Callback): Promise<Seen> {
  const ask = (method: string, params: object = {}, token = MCP_TOKEN) => rpc(service.url, method, params, { token });
  const poll = (params: object) => ask("events/poll", { ...NAME, ...params });
  const secrets: [string, string] = [createSecret(), createSecret()];
  const delivery = { mode: "webhook", url: callback.url, secret: secrets[0] };
  const subscribe = (params: Json, token?: string) =>
    ask("events/subscribe", { ...NAME, ...params, delivery: { ...delivery, ...params.delivery } }, token);
  const deploy = (n: number) => service.post("deploys", { env: "a", n });

  const first = await poll({ cursor: null });
  const absent = await poll({});
  for (const n of [1, 2, 3]) await deploy(n);
  const cursor = first.result.cursor;
  await waitFor(async () => (await poll({ cursor })).result.events.length === 3, "three events");
  const polled = await poll({ cursor });
  await sleep(10);
  const aged = await poll({ cursor, maxAgeMs: 1 });
  const subscribed = await subscribe({ arguments: { env: "a" }, ttlMs: 600_000 });
  await deploy(4);
  await waitFor(() => callback.received.length === 1, "a delivery");
  const again = await subscribe({ arguments: { env: "a" }, ttlMs: 600_000, delivery: { secret: secrets[1] } });
  callback.answer = ({ body }) => (body.data?.n === 5 && callback.received.length === 2 ? 500 : 204);
  await deploy(5);
  await waitFor(() => callback.received.length === 3, "a second attempt");
  const ofOther = await subscribe({ arguments: { env: "a" } }, OTHER_TOKEN);
  const deliveries = callback.received.splice(0);
  const target = { ...NAME, arguments: { env: "a" }, delivery: { url: callback.url } };
  const unsubscribed = await ask("events/unsubscribe", target);
  const unsubscribedAgain = await ask("events/unsubscribe", target);
  const rest = {
    endless: await subscribe({ ttlMs: null }),
    clamped: await subscribe({ ttlMs: 1 }, OTHER_TOKEN),
    anonymous: await subscribe({}, ""),
    push: await subscribe({ delivery: { mode: "push" } }),
    noSecret: await subscribe({ delivery: { secret: undefined } }),
    shortSecret: await subscribe({ delivery: { secret: "whsec_c2hvcnQ=" } }),
    http: await subscribe({ delivery: { url: "http://example.com/" } }),
    privateUrl: await subscribe({ delivery: { url: "https://192.168.1.1/" } }),
    noEcho: await subscribe({ delivery: { url: deaf.url } }),
    unreachable: await subscribe({ delivery: { url: "http://127.0.0.1:1/" } }),
    unknown: await ask("events/poll", { name: "unknown" }),
    wrongArguments: await poll({ arguments: { wrong: 1 } }),
    agedNow: await poll({ maxAgeMs: 1 }),
    stale: await poll({ cursor: "other.1" }),
    capped: await poll({ cursor, maxEvents: 2 }),
    quiet: await poll({ cursor: (await poll({ cursor })).result.cursor }),
    listed: await ask("events/list"),
    discovered: await ask("server/discover"),
  };
  const onlyOther = { other: { secret: OTHER_TOKEN, events: ["builds"] } };
  await service.reload(publishing({ principals: onlyOther }));
  await waitFor(() => callback.received.some(({ body }) => body.type === "terminated"), "the end");
  const terminated = callback.received.find(({ body }) => body.type === "terminated")!;
  const { challenges } = callback;
  return {
    ...rest,
    first,
    absent,
    polled,
    aged,
    subscribed,
    again,
    ofOther,
    unsubscribed,
    unsubscribedAgain,
    secrets,
    challenges,
    deliveries,
    terminated,
  };
}

type Verdict = { pass: (seen: Seen) => unknown } | { elsewhere: string } | { differs: string } | { na: string };

const pass = (check: (seen: Seen) => unknown): Verdict => ({ pass: check });
const elsewhere = (file: string): Verdict => ({ elsewhere: file });
const differs = (why: string): Verdict => ({ differs: why });
const na = (why: string): Verdict => ({ na: why });

const STREAM = na("events are not streamed: no event type lists push, and events/stream is -32014");
const REPLAY = na("every event type supports replay");
const STATELESS = differs("HTTP is stateless, so no notification is sent; a client lists again");

const descriptor = ({ listed }: Seen): Json => listed.result.events[0];
const occurrence = ({ polled }: Seen): Json => polled.result.events[0];

/** In the order of the suite. */
const ROWS: Record<string, Verdict> = {
  "capability-events-object": pass(({ discovered }) => discovered.result.capabilities.events),
  "capability-list-changed-flag": STATELESS,
  "list-implemented": pass(({ listed }) => Array.isArray(listed.result.events)),
  "list-pagination": differs("all event types are in one page: there are 1,000 at most"),
  "descriptor-name": pass((all) => descriptor(all).name === "deploys"),
  "descriptor-description": pass((all) => descriptor(all).description !== ""),
  "descriptor-delivery-subset": pass((all) => descriptor(all).delivery.join() === "poll,webhook"),
  "descriptor-input-schema": pass((all) => descriptor(all).inputSchema.type === "object"),
  "descriptor-payload-schema": pass((all) => descriptor(all).payloadSchema.properties.n.type === "number"),
  "descriptor-meta": na("optional, and there is nothing to say in it"),
  "schema-evolution-additive": elsewhere("src/mcp/delivery/payload-schema.test.ts"),
  "breaking-change-new-name": na("the operator names the hooks"),
  "list-changed-notification": STATELESS,
  "removal-terminates-subscriptions": elsewhere("test/mcp/lifecycle.test.ts"),
  "removal-error-not-found": elsewhere("test/mcp/lifecycle.test.ts"),
  "removal-error-schema-changed": elsewhere("test/mcp/lifecycle.test.ts"),
  "removal-additive-no-terminate": elsewhere("test/mcp/lifecycle.test.ts"),
  "removal-poll-not-found": pass(({ unknown }) => unknown.error?.code === -32011),
  "error-invalid-params": pass(({ wrongArguments, http, shortSecret }) =>
    [wrongArguments, http, shortSecret].every(({ error }) => error?.code === -32602),
  ),
  "error-not-found": pass(({ unknown }) => unknown.error?.data.kind === "event"),
  "error-forbidden": elsewhere("test/mcp/publish.test.ts"),
  "error-resource-exhausted": elsewhere("src/mcp/delivery/challenge.test.ts"),
  "error-unsupported": pass(({ push }) => push.error?.code === -32014 && push.error.data.value === "push"),
  "error-callback-endpoint-error": pass(({ noEcho }) => noEcho.error?.code === -32015),
  "error-server-range": pass(
    ({ unknown }) => Number(unknown.error?.code) >= -32099 && Number(unknown.error?.code) <= -32000,
  ),
  "poll-implemented": pass(({ polled }) => polled.status === 200),
  "poll-one-subscription-per-request": pass((all) => occurrence(all).name === "deploys"),
  "poll-bootstraps-subscription": pass(({ first }) => first.result.cursor),
  "poll-events-array": pass(({ quiet }) => quiet.result.events.length === 0),
  "poll-response-cursor": pass(({ polled }) => typeof polled.result.cursor === "string"),
  "poll-next-poll-ms": pass(({ polled }) => polled.result.nextPollMs > 0),
  "poll-next-poll-ms-ignored-when-has-more": na("the client ignores it"),
  "poll-has-more": pass(({ polled, capped }) => !polled.result.hasMore && capped.result.hasMore),
  "poll-max-events-cap": pass(({ capped }) => capped.result.events.length === 2),
  "poll-stateless-request": elsewhere("test/faults/subscriptions.test.ts"),
  "poll-errors-are-jsonrpc": pass(({ unknown }) => unknown.result === undefined),
  "poll-invalid-arguments": pass(({ wrongArguments }) => wrongArguments.error?.code === -32602),
  "poll-mode-unsupported": na("every event type lists poll"),
  "occurrence-event-id": pass((all) => occurrence(all).eventId),
  "occurrence-name": pass((all) => occurrence(all).name),
  "occurrence-timestamp": pass(
    (all) => new Date(occurrence(all).timestamp).toISOString() === occurrence(all).timestamp,
  ),
  "occurrence-data": pass((all) => typeof occurrence(all).data === "object"),
  "occurrence-cursor-optional": pass((all) => occurrence(all).cursor === undefined),
  "occurrence-meta-ungoverned": pass((all) => occurrence(all)._meta["hookline/via"].length === 1),
  "occurrence-event-id-from-upstream": differs(
    "it is the id of the stored event: not every sender names its events, and dedupe takes their names",
  ),
  "cursor-opaque": pass(({ polled }) => typeof polled.result.cursor === "string"),
  "cursor-null-starts-from-now": pass(({ first }) => first.result.events.length === 0 && !first.result.truncated),
  "cursor-absent-equals-null": pass(({ first, absent }) => first.result.cursor === absent.result.cursor),
  "cursor-consistency": pass(
    ({ first, polled, subscribed }) => first.result.cursor && polled.result.cursor && subscribed.result.cursor,
  ),
  "cursor-advances-when-quiet": pass(({ quiet }) => typeof quiet.result.cursor === "string"),
  "max-age-ms-floor": pass(({ aged }) => aged.result.events.length === 0),
  "max-age-ms-sets-truncated": pass(({ aged }) => aged.result.truncated),
  "max-age-ms-ignored-when-cursor-null": pass(({ agedNow }) => agedNow.result.truncated === false),
  "replay-ceiling-sets-truncated": elsewhere("src/mcp/cursor.test.ts"),
  "truncated-returns-fresh-cursor": pass(({ stale }) => stale.result.truncated && stale.result.cursor !== "other.1"),
  "truncated-poll-never-an-error": pass(({ stale }) => stale.error === undefined),
  "truncated-false-when-no-replay": REPLAY,
  "stream-implemented": STREAM,
  "stream-error-before-open": STREAM,
  "stream-active-confirmation": STREAM,
  "stream-subscription-id-meta": STREAM,
  "stream-event-notification": STREAM,
  "stream-error-is-recoverable": STREAM,
  "stream-terminated-ends-subscription": STREAM,
  "stream-gap-resends-active": STREAM,
  "stream-heartbeat-required": STREAM,
  "stream-heartbeat-carries-cursor": STREAM,
  "stream-heartbeat-interval": STREAM,
  "stream-heartbeat-not-sse-comment": STREAM,
  "stream-final-result-shape": STREAM,
  "stream-final-result-timing": STREAM,
  "stream-cancel-stops-delivery": STREAM,
  "stream-exempt-from-concurrency-cap": STREAM,
  "stream-carries-only-event-notifications": STREAM,
  "subscribe-webhook-only": pass(({ push }) => push.error?.code === -32014),
  "subscribe-secret-required": pass(({ noSecret }) => noSecret.error?.code === -32602),
  "subscribe-secret-format": pass(({ subscribed }) => subscribed.error === undefined),
  "subscribe-secret-rejected": pass(({ shortSecret }) => shortSecret.error?.code === -32602),
  "subscribe-url-https-required": pass(({ http }) => http.error),
  "subscribe-url-non-https-rejected": pass(({ http }) => http.error?.code === -32602),
  "subscribe-auth-required": differs("nobody reaches JSON-RPC without a principal: 401, as the base protocol has it"),
  "subscribe-key-composition": pass(({ subscribed, again }) => subscribed.result.id === again.result.id),
  "subscribe-key-immutable": pass(({ subscribed, endless }) => subscribed.result.id !== endless.result.id),
  "subscribe-idempotent-upsert": pass(({ again }) => again.error === undefined),
  "subscribe-id-derived": pass(({ subscribed }) => /^sub_[\da-f]{32}$/.test(subscribed.result.id)),
  "subscribe-id-not-an-input": pass(({ unsubscribed }) => unsubscribed.error === undefined),
  "subscribe-refresh-replaces-secret": pass(({ deliveries, secrets }) => isSignedBy(deliveries[1]!, secrets[1])),
  "subscribe-refresh-reactivates": elsewhere("src/mcp/delivery/courier.test.ts"),
  "subscribe-response-cursor": pass(({ again }) => typeof again.result.cursor === "string"),
  "subscribe-response-truncated": pass(({ subscribed }) => subscribed.result.truncated === false),
  "subscribe-cross-tenant-isolation": pass(({ subscribed, ofOther }) => subscribed.result.id !== ofOther.result.id),
  "ttl-refresh-before-lte-suggestion": pass(
    ({ subscribed }) => Date.parse(subscribed.result.refreshBefore) <= Date.now() + 600_000,
  ),
  "ttl-no-rejection-path": pass(({ clamped }) => clamped.error === undefined),
  "ttl-null-only-when-requested": pass(({ clamped }) => clamped.result.refreshBefore !== null),
  "ttl-omitted-means-default": pass(({ ofOther }) => Date.parse(ofOther.result.refreshBefore) > Date.now()),
  "ttl-long-grant-retained": elsewhere("test/mcp/events.test.ts"),
  "ttl-no-expiry-persisted": elsewhere("test/faults/subscriptions.test.ts"),
  "ttl-no-expiry-gc-terminated": elsewhere("test/mcp/lifecycle.test.ts"),
  "unsubscribe-by-key": pass(({ unsubscribed }) => unsubscribed.result),
  "unsubscribe-unknown-not-found": pass(({ unsubscribedAgain }) => unsubscribedAgain.error?.code === -32011),
  "delivery-status-last-error-category": pass(({ again }) => again.result.deliveryStatus.lastError === null),
  "delivery-post-json": pass(({ deliveries }) =>
    deliveries.every(({ headers }) => headers["content-type"] === "application/json"),
  ),
  "delivery-standard-webhooks-headers": pass(({ deliveries }) =>
    deliveries.every(({ headers, body }) => headers["webhook-id"] === body.eventId && headers["webhook-timestamp"]),
  ),
  "delivery-subscription-id-header": pass(({ deliveries, subscribed }) =>
    deliveries.every(({ headers }) => headers["x-mcp-subscription-id"] === subscribed.result.id),
  ),
  "delivery-signature-formula": pass(({ deliveries, secrets }) => isSignedBy(deliveries[0]!, secrets[0])),
  "delivery-retry-regenerates-signature": pass(
    ({ deliveries: [, one, other] }) => one!.text !== "" && other!.headers["webhook-signature"],
  ),
  "delivery-dual-sign-on-rotation": pass(({ deliveries, secrets }) =>
    secrets.every((secret) => isSignedBy(deliveries[1]!, secret)),
  ),
  "delivery-body-size": elsewhere("test/mcp/publish.test.ts"),
  "delivery-413-non-retryable": elsewhere("src/mcp/delivery/courier.test.ts"),
  "delivery-410-non-retryable": elsewhere("src/mcp/delivery/courier.test.ts"),
  "delivery-retries-bounded": elsewhere("src/mcp/delivery/courier.test.ts"),
  "ssrf-validate-callback-url": elsewhere("src/mcp/delivery/callback.test.ts"),
  "ssrf-reject-non-routable": pass(({ privateUrl }) => privateUrl.error?.code === -32602),
  "ssrf-validate-at-delivery-time": elsewhere("src/mcp/delivery/callback.test.ts"),
  "ssrf-no-redirects": elsewhere("src/mcp/delivery/callback.test.ts"),
  "verification-required-before-delivery": pass(({ challenges }) => challenges.length > 0),
  "verification-challenge-echo": pass(({ challenges, secrets }) => isSignedBy(challenges[0]!, secrets[0])),
  "verification-failure-error": pass(
    ({ noEcho, unreachable }) =>
      noEcho.error?.data.reason === "challenge_failed" && unreachable.error?.data.reason === "connection_refused",
  ),
  "verification-cached-per-principal-url": pass(({ challenges }) => challenges.length === 2),
  "verification-persisted-for-no-expiry": elsewhere("test/mcp/events.test.ts"),
  "verification-uses-ssrf-hardened-path": elsewhere("src/mcp/delivery/callback.test.ts"),
  "verification-no-raw-endpoint-responses": pass(({ noEcho }) => Object.keys(noEcho.error?.data).join() === "reason"),
  "server-identity-key-discovery": na("optional: messages are signed with the subscriber's secret alone"),
  "envelope-type-discriminator": pass(
    ({ deliveries, terminated }) => !deliveries[0]!.body.type && terminated.body.type,
  ),
  "envelope-signed-like-deliveries": pass(({ terminated, secrets }) => isSignedBy(terminated, secrets[0])),
  "envelope-webhook-id-format": pass(({ terminated }) =>
    /^msg_terminated_\w+$/.test(String(terminated.headers["webhook-id"])),
  ),
  "envelope-gap": elsewhere("src/mcp/delivery/courier.test.ts"),
  "envelope-terminated": pass(({ terminated }) => terminated.body.error.code === -32012),
  "authz-subscribe-time": elsewhere("test/mcp/publish.test.ts"),
  "authz-delivery-time-reverify": elsewhere("test/mcp/lifecycle.test.ts"),
  "payload-minimality": pass((all) => Object.keys(occurrence(all).data).length === 2),
};

test("the table has the 131 rows of the suite", () => {
  expect(Object.keys(ROWS)).toHaveLength(131);
});

const checked = Object.entries(ROWS).flatMap(([row, verdict]) =>
  "pass" in verdict ? [[row, verdict.pass] as const] : [],
);
test.each(checked)("%s passes", (_row, check) => {
  expect(Boolean(check(seen))).toBe(true);
});
