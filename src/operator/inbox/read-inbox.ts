import { stat } from "node:fs/promises";
import path from "node:path";
import { readQuestion, toPlace } from "../../core/approvals/question/read-question.ts";
import type { ResolvedConfig } from "../../core/config/resolved-config.ts";
import type { Approval, DeadLetter, EventSummary, Journal, Pause, Run } from "../../core/journal/journal.ts";
import { DAY_MS } from "../../core/shared/time.ts";
import { MAX_REJECTIONS, type RejectionLog } from "../rejections.ts";
import type { StatusView } from "../status.ts";
import { readSubjects } from "../stored-events.ts";
import { toSubscriptionRow } from "../subscription-rows.ts";
import { toDecideItem } from "./decide-items.ts";
import { toDownItems } from "./down-items.ts";
import { readEnded } from "./ended-items.ts";
import { HEALTH } from "./health-items.ts";
import { type InboxItem, toOrder } from "./item.ts";
import { toLeftItems, toUnknownItems } from "./sender-items.ts";
import { findPaused, toFailedItems, toWaitingItems } from "./work-items.ts";

export interface InboxSources {
  journal: Journal;
  rejections: Pick<RejectionLog, "list">;
  config(): ResolvedConfig;
  status(): Promise<StatusView>;
}

/** More of one kind are not counted. */
const MAX_ROWS = 1000;
const MAX_QUESTIONS = 200;

/** The open items, in their order. */
export async function readInbox(sources: InboxSources, now = Date.now()): Promise<InboxItem[]> {
  const { journal, rejections, config, status } = sources;
  const limit = MAX_ROWS;
  const [open, ready, held, failedItems, skipped, pauses, state, subscriptions, refused, health, current] =
    await Promise.all([
      journal.listApprovals({ state: "open", limit: MAX_QUESTIONS }),
      journal.listRuns({ state: "ready", limit }),
      journal.listRuns({ state: "held", limit }),
      readFailedItems(sources, now),
      journal.listEvents({ status: "skipped", from: now - DAY_MS, limit }),
      journal.listPauses(),
      journal.publications.state(),
      journal.publications.listSubscriptions(),
      rejections.list(MAX_REJECTIONS),
      journal.listNotes(HEALTH),
      status(),
    ]);
  const silent = await Promise.all(
    config()
      .alerts.filter(({ on }) => on.includes("no-event-for"))
      .map(async (rule) => ({
        rule,
        lastAt: (await journal.listEvents({ hook: rule.hook, limit: 1 }))[0]?.receivedAt,
      })),
  );
  return toOrder([
    ...(await readDecideItems(open, sources)),
    ...toDownItems(
      {
        status: current,
        ready,
        silent,
        startedAt: Date.parse(current.startedAt),
        subscriptions: subscriptions.map((one) => toSubscriptionRow(one, state, now)),
        health,
      },
      now,
    ),
    ...failedItems,
    ...toWaitingItems({ pauses, ready, held, subjects: await readSubjects(journal, listOldest(pauses, ready)) }),
    ...toUnknownItems(refused, now),
    ...toLeftItems(skipped),
  ]);
}

/** Items of failures, one for each cause. */
export async function readFailedItems(
  {
    journal,
    config,
  }: Pick<InboxSources, "config"> & { journal: Pick<Journal, "listDeadLetters" | "listFailedRequests" | "listEvents"> },
  now = Date.now(),
): Promise<InboxItem[]> {
  const [letters, failed] = await Promise.all([
    journal.listDeadLetters({ limit: MAX_ROWS }),
    journal.listFailedRequests({ limit: MAX_ROWS }),
  ]);
  const rows = {
    letters,
    failed,
    subjects: await readSubjects(journal, newestOfGroups(letters)),
    savedAt: await readSaves(config().hooks.mappings, failed),
  };
  return toFailedItems(rows, now);
}

/** The oldest turn of each paused mapping. */
function listOldest(pauses: readonly Pause[], ready: readonly Run[]): Run[] {
  return pauses.flatMap(({ mapping }) => findPaused(mapping, ready).at(-1) ?? []);
}

/** The newest three of each group. */
function newestOfGroups(letters: readonly DeadLetter[]): DeadLetter[] {
  const groups = Map.groupBy(letters, ({ kind, hook, group }) => JSON.stringify([kind, hook, group]));
  return [...groups.values()].flatMap((own) => own.slice(0, 3));
}

/** When the transforms of these requests were saved for the last time, by mapping. */
async function readSaves(
  mappings: ResolvedConfig["hooks"]["mappings"],
  failed: readonly EventSummary[],
): Promise<Map<string, number>> {
  const ids = new Set(failed.map(({ mapping }) => mapping));
  const sources = mappings.filter(({ id, mapping }) => ids.has(id) && mapping.transform);
  const times = sources.map(async ({ id, transformsDir, mapping }): Promise<[string, number]> => {
    const file = path.resolve(transformsDir, mapping.transform?.module ?? "");
    return [
      id,
      await stat(file).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      ),
    ];
  });
  return new Map(await Promise.all(times));
}

/** An item by its id: one that is open, or a question or failures that have ended. */
export async function readInboxItem(id: string, sources: InboxSources): Promise<InboxItem | undefined> {
  const approval = await sources.journal.getApproval(id);
  if (approval) return (await readDecideItems([approval], sources))[0];
  return (await readInbox(sources)).find((item) => item.id === id) ?? readEnded(id, sources.journal);
}

async function readDecideItems(
  approvals: readonly Approval[],
  { journal, config }: InboxSources,
): Promise<InboxItem[]> {
  const place = toPlace(config());
  const subjects = await readSubjects(journal, approvals);
  return Promise.all(
    approvals.map(async (approval) => {
      const question = await readQuestion(approval, journal, place);
      return toDecideItem({ approval, question, subject: subjects.get(approval.eventId) });
    }),
  );
}
