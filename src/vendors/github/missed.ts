import { requireHook } from "../kit/hook-calls.ts";
import { toGithubPath, webhooks } from "./webhooks.ts";
import type { ApiAccess, MissedOptions } from "../../core/ports/vendor.ts";
import { explainGithub, toHeaders } from "./client.ts";
import { MAX_ANSWER, toNoAnswer, toRefusal, toUnreadable } from "../kit/http.ts";
import { DriverError } from "../../core/errors.ts";
import { isObject, parseObject, toText } from "../../core/shared/json.ts";
import { readText } from "../../core/shared/net/network.ts";
import type { MissedEvent, MissedEvents } from "../../core/ports/missed.ts";

/** An attempt of GitHub to deliver an event, as its API lists it. */
interface Delivery {
  /** As written: it can be larger than the integers that a number holds. */
  id: string;
  /** The same for all attempts of an event: `X-GitHub-Delivery`. */
  guid: string;
  deliveredAt: string;
  /** 0: no answer. */
  statusCode: number;
  /** What GitHub says of the answer: `OK`, `timed out`. */
  status: string;
  event: string;
}

const ANSWER_MS = 20_000;
const PAGE = 100;
/** More than the deliveries of three days. */
const MAX_PAGES = 2000;
/** GitHub asks for a second between requests that change something. */
const PACE_MS = 1000;

const REASONS: Record<number, string> = {
  401: "the token is not valid",
  403: "the token may not read this webhook: it needs read and write access to webhooks (classic: admin:repo_hook, admin:org_hook)",
  404: "there is no such repository, organization or webhook, or the token may not see it",
  422: "GitHub has no longer the payload of this delivery",
};

/** Opens the deliveries of the webhook that posts to an address. */
export async function openMissed(access: ApiAccess, { url }: MissedOptions): Promise<MissedEvents> {
  const id = await requireHook(webhooks.connect(access), "GitHub", url);
  const { baseUrl = "https://api.github.com", place = "", token, signal } = access;
  return openGithubDeliveries(`${baseUrl.replace(/\/$/, "")}/${toGithubPath(place)}/hooks/${id}`, token, signal);
}

/**
 * The deliveries of a webhook of a repository or an organization, which GitHub keeps for three days. `hook`: the webhook's
 * address in the API. https://docs.github.com/en/rest/repos/webhooks
 */
export function openGithubDeliveries(hook: string, token: string, signal?: AbortSignal): MissedEvents {
  return {
    paceMs: PACE_MS,
    async find(since) {
      const from = new Date(since).toISOString();
      const latest = new Map<string, Delivery>();
      const arrived = new Set<string>();
      for await (const delivery of listDeliveries()) {
        // Newest first. ISO 8601 times in UTC sort as text.
        if (delivery.deliveredAt < from) break;
        if (delivery.statusCode >= 200 && delivery.statusCode < 300) arrived.add(delivery.guid);
        else if (!latest.has(delivery.guid)) latest.set(delivery.guid, delivery);
      }
      const missed = [...latest.values()].filter(({ guid }) => !arrived.has(guid)).toReversed();
      return { missed: missed.map(toMissed), notes: [] };
    },
    repeat: async ({ id }) => void (await callGithub("POST", `${hook}/deliveries/${id}/attempts`, { token, signal })),
  };

  async function* listDeliveries(): AsyncGenerator<Delivery> {
    let cursor: string | undefined = "";
    for (let count = 0; cursor !== undefined && count < MAX_PAGES; count++) {
      const query: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      const page = await callGithub("GET", `${hook}/deliveries?per_page=${PAGE}${query}`, { token, signal });
      yield* page.items.map(toDelivery);
      cursor = page.next === cursor ? undefined : page.next;
    }
  }
}

/** Calls GitHub, whose integers stay as they are written. */
async function callGithub(
  method: "GET" | "POST",
  url: string,
  { token, signal }: { token: string; signal?: AbortSignal },
): Promise<{ items: Record<string, unknown>[]; next?: string }> {
  const ends = AbortSignal.any([AbortSignal.timeout(ANSWER_MS), ...(signal ? [signal] : [])]);
  try {
    const response = await fetch(url, { method, headers: toHeaders(token), signal: ends, redirect: "error" });
    const text = await readText(response, MAX_ANSWER);
    if (response.ok) return { items: parseItems(text), next: nextCursor(response) };
    const { status, headers } = response;
    const { retryable, retryAfterMs, reason } = explainGithub({ status, headers, body: parseObject(text) });
    throw toRefusal("GitHub", response, { reason: REASONS[status] ?? reason, retryable, retryAfterMs });
  } catch (error) {
    throw error instanceof DriverError ? error : toNoAnswer("GitHub", error, ends);
  }
}

function parseItems(text: string): Record<string, unknown>[] {
  const keepIds = (key: string, value: unknown, context?: { source?: string }): unknown =>
    key === "id" && typeof value === "number" ? context?.source : value;
  try {
    const items: unknown = text === "" ? [] : JSON.parse(text, keepIds);
    return Array.isArray(items) ? items.filter(isObject) : [];
  } catch {
    throw toUnreadable("GitHub");
  }
}

function toDelivery(item: Record<string, unknown>): Delivery {
  const action = toText(item["action"]);
  return {
    id: toText(item["id"]),
    guid: toText(item["guid"]),
    deliveredAt: toText(item["delivered_at"]),
    statusCode: Number(item["status_code"] ?? 0),
    status: toText(item["status"]),
    event: `${toText(item["event"])}${action && `.${action}`}`,
  };
}

function toMissed({ id, guid, deliveredAt, status, event }: Delivery): MissedEvent {
  return { id, order: `${deliveredAt} ${id}`, at: deliveredAt, event, status, guid };
}

/** Only the cursor is taken from the answer, so that the token is sent nowhere else. */
function nextCursor({ headers }: Response): string | undefined {
  const next = /<([^>]+)>;\s*rel="next"/.exec(headers.get("link") ?? "")?.[1];
  return (next && URL.parse(next)?.searchParams.get("cursor")) || undefined;
}
