import { hash } from "node:crypto";
import { toVisible } from "../../core/boundary/visible.ts";
import type { DeadLetter, EventSummary, Pause, Run } from "../../core/journal/journal.ts";
import { type Failure, toCause } from "../../core/shared/text/cause.ts";
import { QUESTION_HOLDS } from "../../core/types.ts";
import { toToken } from "../bulk/bulk.ts";
import type { BulkFilter } from "../bulk/select.ts";
import { groupDeadLetters } from "../dead-letter-groups.ts";
import { toIso } from "../iso-times.ts";
import { type InboxItem, toFacts } from "./item.ts";

/** One item for each cause: what failed for it, the newest three subjects, and what to do about all of it. */
export function toFailedItems(
  letters: readonly DeadLetter[],
  failed: readonly EventSummary[],
  now: number,
): InboxItem[] {
  const ofWork = groupDeadLetters([...letters]).map(
    ({ kind, hook, group, error, count, firstAt, lastAt }): InboxItem => {
      const id = toItemId(JSON.stringify([kind, hook, group]));
      const noun = kind === "run" ? "turn" : "message";
      return {
        id,
        part: "failed",
        title: `${count} ${noun}${count === 1 ? "" : "s"} of ${toVisible(hook ?? "heartbeats")}`,
        subject: toVisible(error),
        since: toIso(lastAt),
        count,
        blocks: [
          ...toFacts("service", { First: toIso(firstAt), Last: toIso(lastAt) }),
          ...toFacts("tool", { Error: toVisible(error) }),
        ],
        actions: toBulkActions(["retry", "drop"], count, {
          filter: { kind, hook, group },
          token: toToken(now, toTokenName(id)),
        }),
      };
    },
  );
  return [...ofWork, ...toFailedRequests(failed, now)];
}

/** Requests whose transform failed, by mapping and error. */
function toFailedRequests(failed: readonly EventSummary[], now: number): InboxItem[] {
  const groups = Map.groupBy(failed, ({ hook, mapping, failureGroup }) =>
    JSON.stringify([hook, mapping, failureGroup]),
  );
  return [...groups].map(([cause, events]): InboxItem => {
    const [newest] = events;
    const times = events.map(({ receivedAt }) => receivedAt);
    const { hook = "", mapping, failureGroup: group } = newest ?? {};
    const failure: Failure = newest?.failure ?? { message: "" };
    const subjects = events.flatMap(({ subject }) => subject ?? []).slice(0, MAX_SUBJECTS);
    const id = toItemId(cause);
    return {
      id,
      part: "failed",
      title: `${events.length} request${events.length === 1 ? "" : "s"} by the transform of ${toVisible(mapping ?? hook)}`,
      subject: toVisible(toCause(failure).join(" · ")),
      since: toIso(Math.max(...times)),
      count: events.length,
      blocks: [
        ...toFacts("service", { First: toIso(Math.min(...times)), Last: toIso(Math.max(...times)) }),
        ...toFacts("tool", { Error: toVisible(failure.detail ?? failure.message) }),
        ...toFacts("event", { Subjects: toVisible(subjects.join(" · ")) }),
      ],
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
  ready: readonly Run[];
  held: readonly Run[];
}

/** Mappings that are paused, and turns that a budget or the guard against loops holds. */
export function toWaitingItems({ pauses, ready, held }: WaitingRows): InboxItem[] {
  const paused = pauses.map(({ mapping, since }): InboxItem => {
    const waiting = ready.filter(({ waitsFor }) => waitsFor?.kind === "paused" && waitsFor.mapping === mapping);
    return {
      id: `paused:${mapping}`,
      part: "waiting",
      title: `${toVisible(mapping)} is paused`,
      subject: waiting.length === 1 ? "1 turn waits" : `${waiting.length} turns wait`,
      since: toIso(since),
      count: waiting.length,
      blocks: [],
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
    return {
      id: `held:${HOLD_IDS[reason] ?? reason}`,
      part: "waiting",
      title: `${runs.length} turn${runs.length === 1 ? " is" : "s are"} held: ${toVisible(reason)}`,
      since: toIso(Math.min(...runs.map(({ createdAt }) => createdAt))),
      count: runs.length,
      blocks: toFacts(
        "service",
        Object.fromEntries(Array.from(byMapping, ([name, own]) => [toVisible(name), own.length])),
      ),
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

const HOLD_IDS: Record<string, string> = { "budget: perDay": "day", "budget: perSession": "session", loop: "loop" };
