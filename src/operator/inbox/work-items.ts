import { hash } from "node:crypto";
import type { Block } from "../../core/approvals/question/card.ts";
import { toVisible } from "../../core/boundary/visible.ts";
import type { DeadLetter, EventSummary, Pause, Run } from "../../core/journal/journal.ts";
import { type Failure, toCause } from "../../core/shared/text/cause.ts";
import { QUESTION_HOLDS } from "../../core/types.ts";
import { toToken } from "../bulk/bulk.ts";
import type { BulkFilter } from "../bulk/select.ts";
import { groupDeadLetters } from "../dead-letter-groups.ts";
import { toIso } from "../iso-times.ts";
import { type InboxItem, toActivity, toFacts, toLinks, toMappingPlace } from "./item.ts";

export interface FailedRows {
  /** Newest first, as `failed`. */
  letters: readonly DeadLetter[];
  failed: readonly EventSummary[];
  /** The subjects of the events of letters, by the ids of the events. */
  subjects: ReadonlyMap<string | undefined, string>;
  /** When the transform of a mapping was saved for the last time. */
  savedAt: ReadonlyMap<string, number>;
}

/** One item for each cause: what failed for it, the newest three subjects, and what to do about all of it. */
export function toFailedItems(rows: FailedRows, now: number): InboxItem[] {
  const { letters, subjects } = rows;
  const groups = groupDeadLetters([...letters]);
  const ofWork = groups.map(({ kind, hook, group, error, count, firstAt, lastAt }): InboxItem => {
    const id = toItemId(JSON.stringify([kind, hook, group]));
    const own = letters.filter((one) => one.kind === kind && one.hook === hook && one.group === group);
    return {
      id,
      part: "failed",
      title: `${formatCount(count, kind === "run" ? "turn" : "message")} of ${toVisible(hook ?? "heartbeats")}`,
      subject: toVisible(error),
      since: toIso(lastAt),
      count,
      blocks: toFailureBlocks({
        times: [firstAt, lastAt],
        error,
        subjects: own.flatMap(({ eventId }) => subjects.get(eventId) ?? []),
        event: own[0]?.eventId,
        rows: { show: kind === "run" ? "turns" : "messages", hook, group },
      }),
      actions: toBulkActions(["retry", "drop"], count, {
        filter: { kind, hook, group },
        token: toToken(now, toTokenName(id)),
      }),
    };
  });
  return [...ofWork, ...toFailedRequests(rows, now)];
}

interface FailureFacts {
  times: readonly number[];
  savedAt?: number;
  error: string;
  /** Newest first. */
  subjects: readonly string[];
  /** The newest. */
  event: string | undefined;
  /** The filter that has exactly what failed. */
  rows: Record<string, string | undefined>;
}

function toFailureBlocks({ times, savedAt, error, subjects, event, rows }: FailureFacts): Block[] {
  const saved = savedAt === undefined ? {} : { "Saved since": toIso(savedAt) };
  const newest = [...new Set(subjects)].slice(0, MAX_SUBJECTS).join(" · ");
  return [
    ...toFacts("service", { First: toIso(Math.min(...times)), Last: toIso(Math.max(...times)), ...saved }),
    ...toFacts("tool", { Error: toVisible(error) }),
    ...toFacts("event", { Subjects: toVisible(newest) }),
    ...toLinks({
      "Show all": toActivity({ ...rows, status: "failed" }),
      "Show the newest": event && `events/${event}`,
      Playground: rows["mapping"] && `${toMappingPlace(rows["mapping"])}/edit${event ? `?event=${event}` : ""}`,
    }),
  ];
}

/** Requests whose transform failed, by mapping and error. */
function toFailedRequests({ failed, savedAt }: FailedRows, now: number): InboxItem[] {
  const groups = Map.groupBy(failed, ({ hook, mapping, failureGroup }) =>
    JSON.stringify([hook, mapping, failureGroup]),
  );
  return [...groups].map(([cause, events]): InboxItem => {
    const [newest] = events;
    const times = events.map(({ receivedAt }) => receivedAt);
    const { hook = "", mapping, failureGroup: group } = newest ?? {};
    const failure: Failure = newest?.failure ?? { message: "" };
    const lastAt = Math.max(...times);
    const saved = savedAt.get(mapping ?? "") ?? 0;
    const isSaved = saved > lastAt;
    const id = toItemId(cause);
    return {
      id,
      part: "failed",
      title: `${formatCount(events.length, "request")} by the transform of ${toVisible(mapping ?? hook)}`,
      subject: toVisible([...toCause(failure), ...(isSaved ? ["saved since"] : [])].join(" · ")),
      since: toIso(lastAt),
      count: events.length,
      blocks: toFailureBlocks({
        times,
        ...(isSaved && { savedAt: saved }),
        error: failure.detail ?? failure.message,
        subjects: events.flatMap(({ subject }) => subject ?? []),
        event: newest?.id,
        rows: { hook, mapping, group },
      }),
      actions: toBulkActions(["replay", "drop"], events.length, {
        filter: { kind: "request", hook, mapping, group },
        token: toToken(now, toTokenName(id)),
      }),
    };
  });
}

const toItemId = (cause: string): string => `failed:${hash("sha256", cause).slice(0, 12)}`;

/** Each action of an item has its own token. */
const toTokenName = (id: string): string => id.replace(":", "-");

const LABELS = { replay: "Replay", retry: "Retry", drop: "Drop" };

/** Calls that treat exactly what the item counts. */
function toBulkActions(
  actions: readonly (keyof typeof LABELS)[],
  count: number,
  { filter, token }: { filter: BulkFilter; token: string },
): InboxItem["actions"] {
  return actions.map((action) => ({
    id: action,
    label: `${LABELS[action]} ${count}`,
    method: "POST",
    path: "/api/bulk",
    body: { action, filter, token: `${token}-${action}` },
  }));
}

const MAX_SUBJECTS = 3;

export interface WaitingRows {
  pauses: readonly Pause[];
  /** Newest first, as `held`. */
  ready: readonly Run[];
  held: readonly Run[];
  /** The subjects of the events of the oldest turns, by the ids of the events. */
  subjects: ReadonlyMap<string | undefined, string>;
}

/** The turns that wait since their mapping is paused. */
export function findPaused(mapping: string, ready: readonly Run[]): Run[] {
  return ready.filter(({ waitsFor }) => waitsFor?.kind === "paused" && waitsFor.mapping === mapping);
}

/** Mappings that are paused, and turns that a budget or the guard against loops holds. */
export function toWaitingItems({ pauses, ready, held, subjects }: WaitingRows): InboxItem[] {
  const paused = pauses.map(({ mapping, since }): InboxItem => {
    const waiting = findPaused(mapping, ready);
    const oldest = subjects.get(waiting.at(-1)?.eventId);
    return {
      id: `paused:${mapping}`,
      part: "waiting",
      title: `${toVisible(mapping)} is paused`,
      subject: [describeWaiting(waiting), ...(oldest === undefined ? [] : [toVisible(oldest)])].join(" · "),
      since: toIso(since),
      count: waiting.length,
      blocks: toLinks({
        "Show the turns": toActivity({ show: "turns", status: "waiting", mapping }),
        "Show the mapping": toMappingPlace(mapping),
      }),
      actions: [
        { id: "resume", label: "Resume", method: "POST", path: `/api/mappings/${encodeURIComponent(mapping)}/resume` },
      ],
    };
  });
  const reasons = Map.groupBy(
    held.filter(({ holdReason }) => !Object.values<unknown>(QUESTION_HOLDS).includes(holdReason)),
    ({ holdReason = "" }) => holdReason,
  );
  const holds = [...reasons].map(([reason, runs]): InboxItem => {
    const byMapping = Map.groupBy(runs, ({ mapping, hook = "" }) => mapping ?? hook);
    const turns = Array.from(byMapping, ([name, own]) => `${toVisible(name)} ${own.length}`).join(" · ");
    return {
      id: `held:${HOLD_IDS[reason] ?? reason}`,
      part: "waiting",
      title: `${runs.length} turn${runs.length === 1 ? " is" : "s are"} held: ${toVisible(reason)}`,
      subject: turns,
      since: toIso(Math.min(...runs.map(({ createdAt }) => createdAt))),
      count: runs.length,
      blocks: [
        ...toFacts("service", { Turns: turns, Limit: LIMITS[reason] }),
        ...toLinks({ "Show the turns": toActivity({ show: "turns", status: "held" }), Spend: "spend" }),
      ],
      actions: [
        {
          id: "release",
          label: `Release ${runs.length}`,
          method: "POST",
          path: `/api/runs/release?reason=${encodeURIComponent(reason)}`,
        },
      ],
    };
  });
  return [...paused, ...holds];
}

/** `3 turns wait`. */
export function describeWaiting(turns: readonly Run[]): string {
  return `${formatCount(turns.length, "turn")} ${turns.length === 1 ? "waits" : "wait"}`;
}

function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** The keys of the configuration that have the limits. */
const LIMITS: Record<string, string> = {
  "budget: perDay": "agents.budget.perDay",
  "budget: perSession": "agents.budget.perSession",
  loop: "limits.perRecipient",
};

const HOLD_IDS: Record<string, string> = { "budget: perDay": "day", "budget: perSession": "session", loop: "loop" };
