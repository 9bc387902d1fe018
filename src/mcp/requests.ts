import { DAY_MS, HOUR_MS } from "../core/shared/time.ts";
import { hash } from "node:crypto";
import type { McpPrincipal } from "../core/config/resolved-config.ts";
import { isLive, type Subscription, type SubscriptionTerms } from "../core/journal/publications.ts";
import type { NumberedPublication } from "../core/journal/journal.ts";
import { FAILURES, requireCallback } from "./delivery/callback.ts";
import { type Catalog, requireFilter, toListedType } from "./catalog.ts";
import type { Challenges } from "./delivery/challenge.ts";
import { fromCursor, toCursor, toOccurrence } from "./occurrence.ts";
import { McpError } from "./errors.ts";
import { optionalNumber, optionalText, type Params, readArguments, requireObject, requireText } from "./params.ts";
import type { McpParts } from "./parts.ts";
import { type Scan, scanPublications } from "./scan.ts";
import { matchesFilter, maySee } from "./scope.ts";
import { isSigningSecret } from "./delivery/secrets.ts";
import type { EventArguments } from "../core/types.ts";

/** Requests of a principal, by method. Each throws an `McpError`. */
export type Requests = Record<string, (principal: McpPrincipal, params: Params) => Promise<object>>;

export interface RequestParts extends McpParts {
  catalog: Catalog;
  challenges: Challenges;
  news: News;
}

/** Lets polls wait until something is published. */
export interface News {
  /** How often something was published. A poll asks before it looks, so that it misses nothing before its wait. */
  count(): number;
  /** Resolves to true when the count is another one; to false after a time, or at once if too many wait already. */
  wait(principal: string, options: { count: number; timeoutMs: number }): Promise<boolean>;
}

const USUAL_EVENTS = 100;
const MAX_EVENTS = 1000;
const MAX_HOLD_MS = 25_000;
const NEXT_POLL_MS = 5000;

const USUAL_TTL_MS = HOUR_MS;
const MIN_TTL_MS = 300_000;
const MAX_TTL_MS = DAY_MS;
const ROTATION_MS = 600_000;

export function createRequests(parts: RequestParts): Requests {
  const { journal, current, storeId, catalog, challenges, secrets, news } = parts;
  const { publications } = journal;
  return {
    "events/list": list,
    "events/poll": poll,
    "events/subscribe": subscribe,
    "events/unsubscribe": unsubscribe,
    "events/stream": refuseStream,
  };

  async function list(principal: McpPrincipal): Promise<object> {
    const types = await catalog.list(principal);
    return { events: types.map((type) => toListedType(type, principal)) };
  }

  /** Name and filter, within what the principal may see. */
  async function readWanted(
    principal: McpPrincipal,
    params: Params,
  ): Promise<{ name: string; filter: EventArguments }> {
    const name = requireText(params, "name");
    const type = await catalog.require(principal, name);
    const filter = readArguments(params);
    requireFilter(principal, type, filter);
    return { name, filter };
  }

  async function poll(principal: McpPrincipal, params: Params): Promise<object> {
    const { name, filter } = await readWanted(principal, params);
    const limit = Math.min(optionalNumber(params, "maxEvents") ?? USUAL_EVENTS, MAX_EVENTS);
    const maxAgeMs = optionalNumber(params, "maxAgeMs") ?? Infinity;
    const until = Date.now() + Math.min(optionalNumber(params, "timeoutMs") ?? 0, MAX_HOLD_MS);
    const cursor = optionalText(params, "cursor");
    const start = await fromCursor(cursor, storeId, publications);
    const isWanted = (publication: NumberedPublication): boolean =>
      matchesFilter(publication, filter) && maySeeNow(principal, publication);
    let count = news.count();
    let found = await scan(start.after);
    // Without a cursor, the client first needs one.
    if (cursor !== undefined && !start.truncated) {
      while (isQuiet(found) && Date.now() < until) {
        if (!(await news.wait(principal.name, { count, timeoutMs: until - Date.now() }))) break;
        count = news.count();
        found = await scan(found.after);
      }
    }
    return {
      events: found.events.map(toOccurrence),
      cursor: await cursorAt(found.after),
      truncated: start.truncated || found.truncated,
      hasMore: found.hasMore,
      nextPollMs: NEXT_POLL_MS,
    };

    async function scan(after: number): Promise<Scan> {
      const { position: upTo } = await publications.state();
      return scanPublications(publications, { after, upTo, name, limit, oldest: Date.now() - maxAgeMs }, isWanted);
    }
  }

  /** If the publication was deleted meanwhile, the next poll says that events may be missing. */
  async function cursorAt(position: number): Promise<string> {
    return toCursor(storeId, { position, id: (await publications.idAt(position)) ?? "" });
  }

  /** The configuration may change while a poll waits. */
  function maySeeNow({ name }: McpPrincipal, publication: NumberedPublication): boolean {
    const principal = current().config.gateway.mcp?.principals.find((known) => known.name === name);
    return principal !== undefined && maySee(principal, publication);
  }

  async function subscribe(principal: McpPrincipal, params: Params): Promise<object> {
    const { name, filter } = await readWanted(principal, params);
    const { url, secret } = readDelivery(params);
    const { allowHosts = [] } = current().config.gateway.mcp ?? {};
    const ttlMs = readTtl(params);
    const cursor = optionalText(params, "cursor");
    const maxAgeMs = optionalNumber(params, "maxAgeMs");
    const id = toSubscriptionId(principal.name, url, name, filter);
    const [known] = await publications.listSubscriptions(id);
    await challenges.require(principal.name, { url, subscription: id, secrets: [secret] }, allowHosts);
    const now = Date.now();
    const begin = await findBeginning(cursor, maxAgeMs, now);
    const terms: SubscriptionTerms = {
      id,
      principal: principal.name,
      name,
      arguments: filter,
      url,
      secret: secrets().encrypt(secret, id),
      oldSecret: known && isLive(known, now) ? findOldSecret(known, secret, now) : undefined,
      createdAt: known?.createdAt ?? now,
      refreshedAt: now,
      expiresAt: ttlMs === null ? undefined : now + ttlMs,
    };
    const progress = {
      acked: begin.after,
      cursor: await cursorAt(begin.after),
      scanned: begin.after,
      open: [],
      abandonedCount: 0,
    };
    const result = await publications.subscribe(terms, progress);
    if (result.kind === "full") {
      const message = "There are too many subscriptions. End some first.";
      throw new McpError("resourceExhausted", message, { limit: "subscriptions", max: result.max });
    }
    const { subscription } = result;
    const isNew = result.kind === "created";
    return {
      id,
      refreshBefore: terms.expiresAt === undefined ? null : new Date(terms.expiresAt).toISOString(),
      cursor: subscription.progress.cursor,
      truncated: isNew && begin.truncated,
      ...(!isNew && { deliveryStatus: toDeliveryStatus(subscription) }),
    };
  }

  function readDelivery(params: Params): { url: string; secret: string } {
    const delivery = requireObject(params, "delivery");
    const mode = delivery["mode"];
    if (mode !== "webhook") {
      const data = { feature: "deliveryMode", value: typeof mode === "string" ? mode.slice(0, 64) : undefined };
      throw new McpError("unsupported", "Only the delivery mode webhook can be subscribed to.", data);
    }
    const url = requireText(delivery, "url");
    const { gateway } = current().config;
    requireCallback(url, { allowHosts: gateway.mcp?.allowHosts ?? [], publicUrl: gateway.publicUrl });
    const secret = requireText(delivery, "secret");
    if (!isSigningSecret(secret)) {
      throw new McpError("invalidParams", "delivery.secret must be whsec_ and the base64 of 24 to 64 bytes.");
    }
    return { url, secret };
  }

  /** Null: never. Absent: the usual time. */
  function readTtl(params: Params): number | null {
    if (params["ttlMs"] === null) return null;
    const ttlMs = optionalNumber(params, "ttlMs") ?? USUAL_TTL_MS;
    return Math.min(Math.max(ttlMs, MIN_TTL_MS), MAX_TTL_MS);
  }

  /** Where a new subscription begins. */
  async function findBeginning(cursor: string | undefined, maxAgeMs: number | undefined, now: number) {
    const start = await fromCursor(cursor, storeId, publications);
    if (cursor === undefined || maxAgeMs === undefined) return start;
    const first = await publications.firstSince(now - maxAgeMs);
    const floor = first === undefined ? (await publications.state()).position : first - 1;
    return floor > start.after ? { after: floor, truncated: true } : start;
  }

  /** The secret before this one still signs for a while. */
  function findOldSecret({ id, secret, oldSecret }: Subscription, next: string, now: number) {
    if (secrets().decrypt(secret, id) === next) return oldSecret;
    return { secret, until: now + ROTATION_MS };
  }

  async function unsubscribe(principal: McpPrincipal, params: Params): Promise<object> {
    const name = requireText(params, "name");
    const url = requireText(requireObject(params, "delivery"), "url");
    const id = toSubscriptionId(principal.name, url, name, readArguments(params));
    const [known] = await publications.listSubscriptions(id);
    if (known && isLive(known, Date.now()) && (await publications.unsubscribe(id))) return {};
    throw new McpError("notFound", "There is no such subscription.", { kind: "subscription" });
  }
}

async function refuseStream(): Promise<never> {
  const data = { feature: "deliveryMode", value: "push" };
  throw new McpError("unsupported", "Events are not streamed: poll, or subscribe with a webhook.", data);
}

function isQuiet({ events, truncated, hasMore }: Scan): boolean {
  return events.length === 0 && !truncated && !hasMore;
}

/** The same for the same principal, address, event and filter. */
function toSubscriptionId(principal: string, url: string, name: string, filter: EventArguments): string {
  const sorted = Object.entries(filter).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return `sub_${hash("sha256", JSON.stringify([principal, url, name, sorted])).slice(0, 32)}`;
}

/** The status of a subscription's deliveries. */
function toDeliveryStatus({ progress }: Subscription): object {
  const { suspendedAt, lastDeliveryAt, lastError, failingSince } = progress;
  return {
    active: suspendedAt === undefined,
    lastDeliveryAt: toTime(lastDeliveryAt) ?? null,
    lastError: FAILURES.find((failure) => failure === lastError) ?? null,
    failedSince: toTime(failingSince),
  };
}

function toTime(at: number | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString();
}
