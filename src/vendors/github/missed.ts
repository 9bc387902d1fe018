import type { MissedEvent, MissedEvents } from "../../core/ports/missed.ts";
import type { ApiAccess, MissedOptions } from "../../core/ports/vendor.ts";
import { toText } from "../../core/shared/json.ts";
import { requireHook } from "../kit/hook-calls.ts";
import { requireId } from "../kit/http.ts";
import { openGithub } from "./client.ts";
import { toHooksPath, webhooks } from "./webhooks.ts";

/** An attempt of GitHub to deliver an event, as its API lists it. */
interface Delivery {
  /** Text: it can be larger than the integers that a number holds. */
  id: string;
  /** The same for all attempts of an event: `X-GitHub-Delivery`. */
  guid: string;
  deliveredAt: string;
  /** 0: no answer. */
  statusCode: number;
  /** GitHub's words for the answer: `OK`, `timed out`. */
  status: string;
  event: string;
}

const PAGE = 100;
/** More than the deliveries of three days. */
const MAX_PAGES = 2000;
/** GitHub asks for a second between requests that change something. */
const PACE_MS = 1000;

/**
 * The deliveries of a webhook of a repository or an organization, which GitHub keeps for three days.
 * https://docs.github.com/en/rest/repos/webhooks
 */
export async function openMissed(access: ApiAccess, { url }: MissedOptions): Promise<MissedEvents> {
  const call = openGithub(access, "missed");
  const hook = `${toHooksPath(access)}/${await requireHook(webhooks.connect(access), "GitHub", url)}`;
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
    repeat: async ({ id }) => void (await call("POST", `${hook}/deliveries/${id}/attempts`)),
  };

  async function* listDeliveries(): AsyncGenerator<Delivery> {
    let cursor: string | undefined = "";
    for (let count = 0; cursor !== undefined && count < MAX_PAGES; count++) {
      const query: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      const { items = [], headers } = await call("GET", `${hook}/deliveries?per_page=${PAGE}${query}`);
      yield* items.map(toDelivery);
      const next = nextCursor(headers);
      cursor = next === cursor ? undefined : next;
    }
  }
}

function toDelivery(item: Record<string, unknown>): Delivery {
  const action = toText(item["action"]);
  return {
    id: requireId(item["id"], "GitHub"),
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
function nextCursor(headers: Headers): string | undefined {
  const next = /<([^>]+)>;\s*rel="next"/.exec(headers.get("link") ?? "")?.[1];
  return (next && URL.parse(next)?.searchParams.get("cursor")) || undefined;
}
