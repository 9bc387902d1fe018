import type { ApiAccess, MissedOptions } from "../../core/ports/vendor.ts";
import { requireHook } from "../kit/hook-calls.ts";
import { requireId } from "../kit/http.ts";
import { openGitlab } from "./client.ts";
import { toHooksPath, webhooks } from "./webhooks.ts";
import { toObject, toText } from "../../core/shared/json.ts";
import type { MissedEvent, MissedEvents } from "../../core/ports/missed.ts";

/** The most that GitLab takes here: with more it answers 400. */
const PAGE = 20;
/** The pages of seven days. */
const MAX_PAGES = 500;
/** GitLab repeats five events a minute for a webhook and a user. */
const PACE_MS = 12_500;
/** After this many failures in a row, GitLab disables a webhook for a while, and logs nothing meanwhile. */
const DISABLING_FAILURES = 4;

/** Opens the events of the webhook that posts to an address. */
export async function openMissed(access: ApiAccess, { url }: MissedOptions): Promise<MissedEvents> {
  return openGitlabEvents(await requireHook(webhooks.connect(access), "GitLab", url), access);
}

/**
 * The events of a webhook of a project or a group, which GitLab keeps for seven days. It does not say their times.
 * https://docs.gitlab.com/api/project_webhooks/#list-all-project-webhook-events
 */
export function openGitlabEvents(hookId: string, access: ApiAccess): MissedEvents {
  const call = openGitlab(access);
  const hook = `${toHooksPath(access)}/${hookId}`;
  return {
    paceMs: PACE_MS,
    async find(since) {
      const arrived = new Set<string>();
      const missed: MissedEvent[] = [];
      let failures = 0;
      let mostFailures = 0;
      for await (const { id, key, event, status, answeredAt } of listEvents()) {
        // Newest first. Only what was answered has a time, and all that follows is older.
        if (answeredAt !== undefined && answeredAt < since) break;
        const isArrived = /^2\d\d$/.test(status);
        failures = isArrived ? 0 : failures + 1;
        mostFailures = Math.max(mostFailures, failures);
        if (isArrived) arrived.add(key);
        else if (!missed.some(({ guid }) => guid === key)) {
          missed.push({ id, order: id.padStart(20, "0"), event, status, guid: key });
        }
      }
      const found = missed.filter(({ guid = "" }) => !arrived.has(guid)).toReversed();
      return { missed: found, notes: await describeLost(since, mostFailures) };
    },
    repeat: async ({ id }) => void (await call("POST", `${hook}/events/${id}/resend`)),
  };

  async function* listEvents(): AsyncGenerator<HookEvent> {
    for (let page = 1; page <= MAX_PAGES; page++) {
      const { items = [] } = await call("GET", `${hook}/events?per_page=${PAGE}&page=${page}`);
      yield* items.map(toEvent);
      if (items.length < PAGE) return;
    }
  }

  /** Notes on events that GitLab has not tried to send, because it had disabled the webhook. */
  async function describeLost(since: number, failures: number): Promise<string[]> {
    const { body } = await call("GET", hook);
    const status = toText(body["alert_status"]) || "executable";
    if (status === "executable" && failures < DISABLING_FAILURES) return [];
    const from = new Date(since).toISOString();
    const until =
      status === "executable" ? new Date().toISOString() : toText(body["disabled_until"]) || "somebody enables it";
    const now = status === "executable" ? "" : ` Its alert_status is ${status}.`;
    return [
      `GitLab disables a webhook after ${DISABLING_FAILURES} failures and logs nothing meanwhile, so what happened between ${from} and ${until} cannot be found completely.${now}`,
    ];
  }
}

interface HookEvent {
  id: string;
  key: string;
  event: string;
  status: string;
  /** Milliseconds since the epoch. */
  answeredAt?: number;
}

function toEvent(item: Record<string, unknown>): HookEvent {
  const headers = toObject(item["request_headers"]);
  const id = requireId(item["id"], "GitLab");
  const answeredAt = Date.parse(toText(toObject(item["response_headers"])["Date"]));
  return {
    id,
    key: toText(headers["Idempotency-Key"]) || toText(headers["X-Gitlab-Event-UUID"]) || id,
    event: toText(headers["X-Gitlab-Event"]) || toText(item["trigger"]),
    status: toText(item["response_status"]),
    answeredAt: Number.isNaN(answeredAt) ? undefined : answeredAt,
  };
}
