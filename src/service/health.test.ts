import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Alert } from "../core/dispatch/alerts.ts";
import type { Journal } from "../core/journal/journal.ts";
import type { OpenCall, OpenSet, ToolSets } from "../core/ports/open-tool-sets.ts";
import { silentTelemetry } from "../core/telemetry/telemetry.ts";
import { HEALTH, toHealthItems } from "../operator/inbox/health-items.ts";
import { createSqliteJournal } from "../stores/sqlite/sqlite.ts";
import { createHealth, type Health } from "./health.ts";

let folder: string;
let journal: Journal;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-health-"));
  journal = await createSqliteJournal({ folder, telemetry: silentTelemetry });
});
afterAll(async () => {
  await journal.close();
  rmSync(folder, { recursive: true });
});

const OPEN: Pick<OpenCall, "digest"> = { digest: "one" };
const SET: Pick<OpenSet, "audience"> = { audience: "private" };
/** The sets and calls of a configuration; nothing else of them is asked for. */
const toolsOf = (sets: string[], digest: string): ToolSets =>
  Object.assign(Object.create(null), {
    sets: new Map(sets.map((name) => [name, SET])),
    find: () => ({ ...OPEN, digest }),
  });

function open(): Health {
  return createHealth({ journal, log: silentTelemetry.log, tools: () => toolsOf(["desk", "erp"], "one") });
}

const items = async () => toHealthItems(await journal.listNotes(HEALTH));
const ids = async (): Promise<string[]> => (await items()).map(({ id }) => id);

const ALERTS: [Alert, id: string, action: string | undefined][] = [
  [{ kind: "tool-unreachable", subject: "desk", text: "no answer" }, "tools:desk", "POST /api/tools/desk/try"],
  [{ kind: "tool-changed", subject: "erp.pay", text: "it differs" }, "tool-changed:erp.pay", undefined],
  [{ kind: "mailbox-down", subject: "ops", text: "no sign-in" }, "mailbox:ops", "POST /api/mailboxes/ops/try"],
  [
    { kind: "catch-up", subject: "pay", about: "stripe", text: "3 are missing" },
    "missed:pay",
    "POST /api/events/catch-up",
  ],
  [{ kind: "restarting", text: "five times" }, "restarting", undefined],
];

test("what does not work is an item until it works, also for a process that starts later", async () => {
  const before = open();
  for (const [alert] of ALERTS) before.ill(alert);
  before.ill({ kind: "dead-letter", text: "is no note" });
  await before.close();
  expect((await ids()).toSorted()).toEqual(ALERTS.map(([, id]) => id).toSorted());
  for (const item of await items()) {
    const [alert, , action] = ALERTS.find(([, id]) => id === item.id)!;
    expect([item.part, item.subject]).toEqual(["down", alert.text]);
    expect(item.actions.map(({ method, path: at }) => `${method} ${at}`)).toEqual(action === undefined ? [] : [action]);
  }
  expect((await items()).find(({ id }) => id === "missed:pay")?.actions[0]?.body).toEqual({
    preset: "stripe",
    hook: "pay",
  });
  const after = open();
  after.called("desk.show");
  after.called("erp.pay");
  after.well("mailbox:ops");
  await after.close();
  expect((await ids()).toSorted()).toEqual(["missed:pay", "restarting"]);
});

test("a set that is gone, and a call that was accepted anew, are forgotten at a reload", async () => {
  const health = open();
  health.ill({ kind: "tool-unreachable", subject: "desk", text: "no answer" });
  health.ill({ kind: "tool-changed", subject: "erp.pay", text: "it differs" });
  health.use(toolsOf(["desk"], "one"));
  await health.close();
  expect(await ids()).toEqual(expect.arrayContaining(["tools:desk", "tool-changed:erp.pay"]));
  health.use(toolsOf([], "two"));
  await health.close();
  await health.close();
  expect((await ids()).filter((id) => id.startsWith("tool"))).toEqual([]);
});

test("of what fails again and again, the beginning stays", async () => {
  const health = open();
  health.ill({ kind: "tool-unreachable", subject: "erp", text: "no answer" });
  await health.close();
  const since = (await items()).find(({ id }) => id === "tools:erp")?.since;
  health.ill({ kind: "tool-unreachable", subject: "erp", text: "refused" });
  await health.close();
  expect((await items()).find(({ id }) => id === "tools:erp")).toMatchObject({ since, subject: "refused" });
});
