import { expect, test } from "vitest";
import * as fc from "../../../test/support/property.ts";
import type { Run } from "../../core/journal/journal.ts";
import type { FolderStatus } from "../../core/ports/mail-status.ts";
import { toView } from "../iso-times.ts";
import { toDownItems } from "./down-items.ts";
import { INBOX_PARTS, type InboxItem, toOrder } from "./item.ts";

const NOW = Date.UTC(2026, 10, 28, 20);

const WAITING: Run = {
  id: "1",
  kind: "hook",
  sessionKey: "s",
  state: "ready",
  attempts: 3,
  createdAt: NOW - 500_000,
  dueAt: NOW + 9000,
  warnings: [],
  waitingFor: "lab",
  unavailableSince: NOW - 60_000,
  error: "connect ECONNREFUSED",
};

const BROKEN: FolderStatus = {
  folder: "INBOX",
  state: "network",
  since: NOW - 60_000,
  remaining: 0,
  posted: 0,
  setAside: 0,
  passedOver: 0,
  repeated: 0,
  lastMailAt: undefined,
  error: "refused",
  nextTryAt: undefined,
};

const NOTHING = {
  status: { lastReloadError: null, mail: [] },
  ready: [],
  silent: [],
  startedAt: NOW - 100_000,
  subscriptions: [],
  health: [],
};

test.each([
  ["a provider of models", { ready: [WAITING] }, "model:lab"],
  [
    "a mailbox",
    {
      status: {
        lastReloadError: null,
        mail: [
          { name: "ops", mailbox: "imap://x", state: "network" as const, error: "refused", folders: [toView(BROKEN)] },
        ],
      },
    },
    "mailbox:ops",
  ],
  ["a silent hook", { silent: [{ rule: { hook: "ci", afterMs: 100_000, key: "alerts[0]" } }] }, "silent:ci"],
])("%s is down when its time is over, and not a moment before", (_, rows, id) => {
  const find = (now: number): string[] => toDownItems({ ...NOTHING, ...rows }, now).map((item) => item.id);
  expect(find(NOW)).toEqual([id]);
  expect(find(NOW - 1)).toEqual([]);
});

test("no order in which items appear changes theirs", () => {
  const time = fc.integer({ min: 0, max: 5 }).map((minutes) => new Date(NOW + minutes * 60_000).toISOString());
  const item = fc.record({
    id: fc.integer({ min: 0, max: 999 }).map(String),
    part: fc.constantFrom(...INBOX_PARTS),
    title: fc.constant("x"),
    since: time,
    until: fc.option(time, { nil: undefined }),
    blocks: fc.constant<never[]>([]),
    actions: fc.constant<never[]>([]),
  });
  const items = fc.uniqueArray(item, { selector: ({ id }) => id });
  fc.assert(
    fc.property(items, fc.infiniteStream(fc.nat()), (some: InboxItem[], keys) => {
      const shuffled = some.map((one) => ({ one, key: keys.next().value })).toSorted((a, b) => a.key - b.key);
      expect(toOrder(shuffled.map(({ one }) => one))).toEqual(toOrder(some));
    }),
  );
});
