import { setTimeout as sleep } from "node:timers/promises";
import { toHeaders } from "../../channels/comments/github-api.ts";
import { ConfigError, messageOf } from "../../errors.ts";
import { isObject, toObject, toText } from "../../shared/json.ts";
import { parseRetryAfter } from "../../shared/network.ts";

/** An attempt of GitHub to deliver an event, as its API lists it. */
export interface Delivery {
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
  action?: string;
}

/** A webhook of a repository or an organization. */
interface GithubHook {
  id: string;
  url: string;
}

/**
 * GitHub's API for the webhooks of a repository or an organization.
 * https://docs.github.com/en/rest/repos/webhooks, https://docs.github.com/en/rest/orgs/webhooks
 */
export interface GithubHooks {
  list(): Promise<GithubHook[]>;
  /** Newest first. */
  deliveries(hookId: string): AsyncGenerator<Delivery>;
  redeliver(hookId: string, deliveryId: string): Promise<void>;
}

export interface GithubOptions {
  /** `https://api.github.com` */
  api: string;
  token: string;
  /** `repos/<owner>/<name>` or `orgs/<name>` */
  place: string;
  /** Is called before the rate limit is waited for. */
  waits(ms: number): void;
}

const ANSWER_MS = 20_000;
/** A longer wait is left to the person. */
const MAX_WAIT_MS = 60_000;
const PAGE = 100;

export function createGithubHooks({ api, token, place, waits }: GithubOptions): GithubHooks {
  const base = `${api.replace(/\/+$/, "")}/${place}/hooks`;

  return {
    async list() {
      const { items } = await call("GET", `${base}?per_page=${PAGE}`);
      return items.map((hook) => ({ id: toText(hook["id"]), url: toText(toObject(hook["config"])["url"]) }));
    },
    async *deliveries(hookId) {
      for (let cursor: string | undefined = ""; cursor !== undefined;) {
        const query: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
        const page = await call("GET", `${base}/${hookId}/deliveries?per_page=${PAGE}${query}`);
        yield* page.items.map(toDelivery);
        cursor = page.next === cursor ? undefined : page.next;
      }
    },
    async redeliver(hookId, deliveryId) {
      await call("POST", `${base}/${hookId}/deliveries/${deliveryId}/attempts`);
    },
  };

  async function call(method: string, url: string): Promise<{ items: Record<string, unknown>[]; next?: string }> {
    for (;;) {
      const response = await send(method, url);
      const text = await response.text();
      if (response.ok) {
        const items: unknown = text === "" ? [] : parse(text);
        return { items: Array.isArray(items) ? items.filter(isObject) : [], next: nextCursor(response) };
      }
      const waitMs = limitedFor(response);
      if (waitMs === undefined) throw new ConfigError([{ message: describe(response, text) }]);
      if (waitMs > MAX_WAIT_MS) {
        const until = new Date(Date.now() + waitMs).toISOString();
        const message = `GitHub's rate limit is used up until ${until}. Run the command again then: it leaves out what has arrived.`;
        throw new ConfigError([{ message }]);
      }
      waits(waitMs);
      await sleep(waitMs);
    }
  }

  async function send(method: string, url: string): Promise<Response> {
    const headers = toHeaders(token);
    const signal = AbortSignal.timeout(ANSWER_MS);
    return fetch(url, { method, headers, signal, redirect: "error" }).catch((error: unknown) => {
      const cause = messageOf(error instanceof Error && error.cause ? error.cause : error);
      throw new ConfigError([{ message: `GitHub does not answer at ${new URL(url).origin}: ${cause}` }]);
    });
  }
}

/** Integers as they are written. */
function parse(text: string): unknown {
  const keepIds = (key: string, value: unknown, context?: { source?: string }): unknown =>
    key === "id" && typeof value === "number" ? context?.source : value;
  return JSON.parse(text, keepIds);
}

function toDelivery(item: Record<string, unknown>): Delivery {
  return {
    id: toText(item["id"]),
    guid: toText(item["guid"]),
    deliveredAt: toText(item["delivered_at"]),
    statusCode: Number(item["status_code"] ?? 0),
    status: toText(item["status"]),
    event: toText(item["event"]),
    action: toText(item["action"]) || undefined,
  };
}

/** Only the cursor is taken from the answer, so that the token is sent nowhere else. */
function nextCursor({ headers }: Response): string | undefined {
  const next = /<([^>]+)>;\s*rel="next"/.exec(headers.get("link") ?? "")?.[1];
  return (next && URL.parse(next)?.searchParams.get("cursor")) || undefined;
}

/** Milliseconds to wait; undefined if the refusal has another reason. */
function limitedFor({ status, headers }: Response): number | undefined {
  if (status !== 403 && status !== 429) return undefined;
  const asked = parseRetryAfter(headers.get("retry-after"));
  if (asked !== undefined) return asked;
  if (headers.get("x-ratelimit-remaining") !== "0") return undefined;
  return Math.max(1000, Number(headers.get("x-ratelimit-reset")) * 1000 - Date.now());
}

const NEXT: Record<number, string> = {
  401: "the token is not valid",
  403: "the token may not read this webhook: it needs read and write access to webhooks (classic: admin:repo_hook, admin:org_hook)",
  404: "there is no such repository, organization or webhook, or the token may not see it",
  422: "GitHub has no longer the payload of this delivery",
};

function describe({ status }: Response, text: string): string {
  return `GitHub answered ${status}: ${NEXT[status] ?? text.slice(0, 200)}`;
}
