import { toVisible } from "../../core/boundary/visible.ts";
import type { ResolvedConfig } from "../../core/config/resolved-config.ts";
import type { Run } from "../../core/journal/journal.ts";
import { toIso } from "../iso-times.ts";
import type { StatusView } from "../status.ts";
import type { SubscriptionRow } from "../subscription-rows.ts";
import { SYSTEM, toHealthItems, tryNow } from "./health-items.ts";
import { type InboxItem, toActivity, toFacts, toLinks } from "./item.ts";
import { describeWaiting } from "./work-items.ts";

/** Something may heal by itself in this time, in milliseconds. */
const MAY_HEAL_MS = 60_000;

export interface DownRows {
  status: Pick<StatusView, "lastReloadError" | "mail">;
  /** Runs that are ready and not started. */
  ready: readonly Run[];
  /** The rules that expect events, each with the time of its last event. */
  silent: readonly { rule: Pick<ResolvedConfig["alerts"][number], "hook" | "afterMs" | "key">; lastAt?: number }[];
  startedAt: number;
  subscriptions: readonly SubscriptionRow[];
  /** Notes of the kind `HEALTH`. */
  health: readonly { key: string; json: string }[];
}

/** The parts of the world that do not work. */
export function toDownItems(
  { status, ready, silent, startedAt, subscriptions, health }: DownRows,
  now: number,
): InboxItem[] {
  const reload = status.lastReloadError;
  // Mailboxes of other nodes are known by their notes alone.
  const own = new Set(status.mail.map(({ name }) => `mailbox:${name}`));
  return [
    ...(reload ? [toReloadItem(reload)] : []),
    ...toModelItems(ready, now),
    ...status.mail.flatMap((mailbox) => toMailboxItem(mailbox, now)),
    ...silent.flatMap(({ rule, lastAt }) => toSilentItem({ rule, lastAt, startedAt }, now)),
    ...subscriptions.filter(({ state }) => state === "suspended").map(toSubscriptionItem),
    ...toHealthItems(health.filter(({ key }) => !own.has(key))),
  ];
}

function toReloadItem({
  at,
  file,
  line,
  column,
  message,
  problems,
}: NonNullable<StatusView["lastReloadError"]>): InboxItem {
  const place = [file, line, column].filter((part) => part !== undefined).join(":");
  return {
    id: "reload",
    part: "down",
    title: "The last reload failed",
    subject: toVisible(message ?? ""),
    since: at,
    ...(problems.length > 1 && { count: problems.length }),
    blocks: [
      ...toFacts("service", { Place: toVisible(place), Problem: toVisible(message ?? "") }),
      ...toLinks({ "Show all problems": "mappings" }),
    ],
    actions: [],
  };
}

/** By provider, those for whose answer runs have waited long enough. */
function toModelItems(ready: readonly Run[], now: number): InboxItem[] {
  const waiting = Map.groupBy(
    ready.filter(({ waitingFor }) => waitingFor !== undefined),
    ({ waitingFor = "" }) => waitingFor,
  );
  return [...waiting].flatMap(([provider, runs]): InboxItem[] => {
    const since = Math.min(...runs.map(({ unavailableSince = now }) => unavailableSince));
    if (now - since < MAY_HEAL_MS) return [];
    const next = Math.min(...runs.map(({ dueAt }) => dueAt));
    return [
      {
        id: `model:${provider}`,
        part: "down",
        title: `Model ${toVisible(provider)} cannot be reached`,
        subject: describeWaiting(runs),
        since: toIso(since),
        count: runs.length,
        blocks: [
          ...toFacts("service", { "Next try": next > now ? toIso(next) : undefined }),
          ...toFacts("tool", { Error: toVisible(runs.find(({ error }) => error !== undefined)?.error ?? "") }),
          ...toLinks({ "Show the turns": toActivity({ show: "turns", status: "waiting" }) }),
        ],
        actions: [tryNow(`/api/models/${encodeURIComponent(provider)}/try`)],
      },
    ];
  });
}

/** States in which mails arrive, or will in a moment. */
const WELL = ["watching", "catching-up", "connecting", "stopped", "locked"];

function toMailboxItem({ name, mailbox, state, error, folders }: StatusView["mail"][number], now: number): InboxItem[] {
  const broken = folders.filter((folder) => !WELL.includes(folder.state));
  const since = broken.map((folder) => folder.since).toSorted()[0];
  if (since === undefined || now - Date.parse(since) < MAY_HEAL_MS) return [];
  const nextTry = broken.map(({ nextTryAt }) => nextTryAt).find(Boolean);
  return [
    {
      id: `mailbox:${name}`,
      part: "down",
      title: `Mailbox ${toVisible(name)} gives no mail: ${state}`,
      subject: toVisible(mailbox),
      since,
      blocks: [
        ...toFacts("service", { "Next try": nextTry }),
        ...toFacts("tool", { Error: toVisible(error ?? "") }),
        ...SYSTEM,
      ],
      actions: [tryNow(`/api/mailboxes/${encodeURIComponent(name)}/try`)],
    },
  ];
}

/** Silence while the service was stopped does not count. */
function toSilentItem(
  { rule, lastAt, startedAt }: DownRows["silent"][number] & { startedAt: number },
  now: number,
): InboxItem[] {
  const since = Math.max(lastAt ?? 0, startedAt);
  if (now < since + (rule.afterMs ?? Infinity)) return [];
  const hook = toVisible(rule.hook ?? "");
  return [
    {
      id: `silent:${rule.hook ?? ""}`,
      part: "down",
      title: rule.hook === undefined ? "No event comes" : `No event of ${hook}`,
      subject: rule.key,
      since: toIso(since),
      blocks: [
        ...toFacts("service", { "Last event": lastAt === undefined ? "none yet" : toIso(lastAt), Rule: rule.key }),
        ...toLinks({ "Show its requests": toActivity({ hook: rule.hook }) }),
      ],
      actions: [],
    },
  ];
}

function toSubscriptionItem({
  id,
  principal,
  event,
  url,
  suspendedAt,
  createdAt,
  lastError,
}: SubscriptionRow): InboxItem {
  return {
    id: `subscription:${id}`,
    part: "down",
    title: `A subscription of ${toVisible(principal)} is suspended`,
    subject: toVisible(event),
    since: toIso(suspendedAt ?? createdAt),
    blocks: [
      ...toFacts("service", { Address: toVisible(url) }),
      ...toFacts("tool", { Error: toVisible(lastError ?? "") }),
      ...SYSTEM,
    ],
    actions: [{ id: "retry", label: "Retry", method: "POST", path: `/api/subscriptions/${id}/retry` }],
  };
}
