/** Every action of the page, pressed twice, in a service that has run for three days. */
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Locator } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { silentTelemetry } from "../../src/core/telemetry/telemetry.ts";
import { HEALTH } from "../../src/operator/inbox/health-items.ts";
import { createSqliteJournal } from "../../src/stores/sqlite/sqlite.ts";
import { startBrowser, type TestBrowser } from "../support/browser.ts";
import { HOSTILE_SAMPLE, writeSeed } from "../support/seed.ts";
import { GATEWAY_TOKEN, openService, type Service } from "../support/service.ts";

let service: Service;
let browser: TestBrowser;
beforeAll(async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-presses-"));
  await writeSeed(folder, { hostile: HOSTILE_SAMPLE.slice(0, 8) });
  await addSurroundings(folder);
  service = await openService(folder, { saves: true });
  for (const n of [1, 2]) await service.post("unheard-of", { n });
  browser = await startBrowser();
}, 180_000);
afterAll(async () => {
  await browser.close();
  await service.close();
});

/** A schedule, tools and a sender that do not answer, and an agent that has subscribed. */
async function addSurroundings(folder: string): Promise<void> {
  const file = path.join(folder, "webhooks.json5");
  const config = JSON.parse(readFileSync(file, "utf8"));
  const digest = { id: "digest", schedule: { every: "1d" }, messageTemplate: "Good morning.", deliver: false };
  config.hooks.mappings.push(digest);
  const calls = { show: { description: "One ticket.", get: "/{id}", input: { id: "string" } } };
  config.agents.tools = { away: { kind: "http", baseUrl: "http://127.0.0.1:1", private: true, calls } };
  writeFileSync(file, JSON.stringify(config));
  const journal = await createSqliteJournal({ folder: path.join(folder, ".webhooks"), telemetry: silentTelemetry });
  const at = Date.now() - 600_000;
  const json = JSON.stringify({ since: at, at, text: "nothing answers" });
  await journal.writeNotes(["tools:away", "missed:github"].map((key) => ({ kind: HEALTH, key, json })));
  const terms = {
    id: "sub-1",
    principal: "ann",
    name: "ci.failed",
    arguments: {},
    url: "https://agent.example/events",
  };
  const times = { createdAt: at, refreshedAt: at };
  const progress = { acked: 0, cursor: "", scanned: 0, open: [], abandonedCount: 0 };
  await journal.publications.subscribe({ ...terms, secret: "", ...times }, progress);
  await journal.close();
}

const GRAFANA = "activity?show=turns&status=failed&hook=grafana";
const LINEAR = "activity?show=turns&status=waiting&hook=linear";
const findOrder = async (): Promise<string> =>
  `events/${(await service.api("/api/events?hook=orders&status=done&limit=1")).events[0].id}`;
async function findRecording(): Promise<string> {
  const list = async (): Promise<{ id: string }[]> => (await service.api("/api/recordings")).recordings;
  await expect.poll(async () => (await list()).length).toBe(1);
  return `recordings/${(await list())[0]!.id}`;
}

/** The next question that is open. */
async function findQuestion(): Promise<string> {
  const open: { id: string; kind: string; call: string }[] = (await service.api("/api/approvals?limit=100&state=open"))
    .approvals;
  return `inbox/${open.find(({ kind, call }) => kind === "call" && call === "notes.write")!.id}`;
}

const findItem = (title: RegExp) => async (): Promise<string> => {
  const items: { id: string; title: string }[] = (await service.api("/api/inbox")).items;
  return `inbox/${encodeURIComponent(items.find((item) => title.test(item.title))!.id)}`;
};

interface Press {
  /** The name of the button. */
  button: RegExp;
  place: string | (() => string | Promise<string>);
  /** The requests for it, however often it is pressed. */
  sends: string;
  /** A person is asked first. */
  asks?: boolean;
}

/** Every kind of action of the page; each second one is pressed by Enter. */
const PRESSES: Press[] = [
  { button: /^Deny: /, place: findQuestion, sends: "POST /api/approvals/:id" },
  { button: /^Deny: /, place: findQuestion, sends: "POST /api/approvals/:id" },
  { button: /^Approve: /, place: findQuestion, sends: "POST /api/approvals/:id" },
  { button: /^Approve: /, place: findQuestion, sends: "POST /api/approvals/:id" },
  { button: /^Pause mail/, place: "mappings/mail", sends: "POST /api/mappings/mail/pause", asks: true },
  { button: /^Resume mail/, place: "mappings/mail", sends: "POST /api/mappings/mail/resume" },
  { button: /^Retry the turn/, place: GRAFANA, sends: "POST /api/dead-letters/:id/retry" },
  { button: /^Pause mail/, place: "mappings/mail", sends: "POST /api/mappings/mail/pause", asks: true },
  { button: /^Resume mail/, place: "mappings/mail", sends: "POST /api/mappings/mail/resume" },
  { button: /^Retry the turn/, place: GRAFANA, sends: "POST /api/dead-letters/:id/retry" },
  { button: /^Drop all/, place: GRAFANA, sends: "POST /api/bulk POST /api/bulk", asks: true },
  { button: /^Retry \d+: /, place: findItem(/turns? of slack/), sends: "POST /api/bulk" },
  { button: /^Drop \d+: /, place: findItem(/messages of mail/), sends: "POST /api/bulk" },
  { button: /^Cancel the turn of linear/, place: LINEAR, sends: "POST /api/runs/:id/cancel", asks: true },
  { button: /^Cancel the turn of linear/, place: LINEAR, sends: "POST /api/runs/:id/cancel", asks: true },
  { button: /^Replay/, place: findOrder, sends: "POST /api/events/:id/replay", asks: true },
  { button: /^Replay/, place: findOrder, sends: "POST /api/events/:id/replay", asks: true },
  { button: /^Record$/, place: "activity?show=recordings", sends: "POST /api/recordings" },
  { button: /^Delete the recording/, place: findRecording, sends: "DELETE /api/recordings/:id" },
  { button: /^Record$/, place: "activity?show=recordings", sends: "POST /api/recordings" },
  { button: /^Save$/, place: "mappings/support/edit", sends: "PUT /api/mappings" },
  { button: /^Delete the recording/, place: findRecording, sends: "DELETE /api/recordings/:id" },
  { button: /^Run now digest/, place: "mappings/digest", sends: "POST /api/mappings/digest/run" },
  { button: /^Run now digest/, place: "mappings/digest", sends: "POST /api/mappings/digest/run" },
  { button: /^Try now: /, place: "inbox/tools%3Aaway", sends: "POST /api/tools/away/try" },
  { button: /^Catch up: /, place: "inbox/missed%3Agithub", sends: "POST /api/events/catch-up" },
  { button: /^Catch up: /, place: "inbox/missed%3Agithub", sends: "POST /api/events/catch-up" },
  { button: /^End the subscription/, place: "system", sends: "DELETE /api/subscriptions/sub-1", asks: true },
  { button: /^Release \d+: /, place: findItem(/held: budget/), sends: "POST /api/runs/release" },
  { button: /^Record the next 20: /, place: "inbox/unknown%3Aunheard-of", sends: "POST /api/recordings" },
];

const ENTER = { key: "Enter", code: "Enter", windowsVirtualKeyCode: 13 };

test("each action has one effect, although it is pressed twice", { timeout: 480_000 }, async () => {
  const { page, go } = await browser.open(service.url);
  await page.getByLabel("Gateway token").fill(GATEWAY_TOKEN);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.locator(".connection.live").waitFor();
  const sent: string[] = [];
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (request.method() === "GET" || /\/api\/(?:try|diff)$/.test(pathname)) return;
    sent.push(`${request.method()} ${pathname.replace(/[\da-f]{8}-[\da-f-]{27}/, ":id")}`);
  });
  // Playwright reports no end of a request that may outlive its page, so the page counts what is not answered yet.
  await page.evaluate(`{
    const send = fetch;
    globalThis.waiting = 0;
    globalThis.fetch = (...request) => {
      waiting++;
      return send(...request).finally(() => waiting--);
    };
  }`);
  const keys = await page.context().newCDPSession(page);
  const press = async (button: Locator, isByMouse: boolean): Promise<void> => {
    if (isByMouse) return button.dblclick();
    await button.focus();
    // Another key than before: the first Enter is no second one.
    await page.keyboard.press("Shift");
    // The times of the keys are written, since a slow machine would press them too far apart.
    const at = Date.now() / 1000;
    for (const timestamp of [at, at + 0.1]) {
      await keys.send("Input.dispatchKeyEvent", { ...ENTER, type: "keyDown", text: "\r", timestamp });
      await keys.send("Input.dispatchKeyEvent", { ...ENTER, type: "keyUp", timestamp });
    }
  };
  for (const [index, { button, place, sends, asks }] of PRESSES.entries()) {
    const isByMouse = index % 2 === 0;
    await go(typeof place === "string" ? place : await place());
    const found = page.locator("main").getByRole("button", { name: button }).first();
    await found.waitFor();
    if (button.source === "^Record$") await page.getByLabel("Record the hook").fill(`new-${index}`);
    if (button.source === "^Save$") {
      await page.getByRole("textbox", { name: "messageTemplate" }).press("End");
      await page.keyboard.insertText(" saved");
    }
    await press(found, isByMouse);
    if (asks) await press(page.getByRole("dialog").getByRole("button").first(), isByMouse);
    // An action that can still be undone happens on leaving.
    await page.evaluate("void dispatchEvent(new Event('pagehide'))");
    await expect.poll(() => `${index}: ${sent.join(" ")}`).toBe(`${index}: ${sends}`);
    // Before the answer, the item is still where the next press looks.
    await expect.poll(() => page.evaluate("waiting")).toBe(0);
    sent.splice(0);
  }
  // Nothing more has come.
  expect(sent).toEqual([]);

  // The tab is killed while it could still be undone: nothing was said.
  const question = await findQuestion();
  await go(question);
  await page.getByRole("button", { name: /^Approve: / }).click();
  await page
    .getByRole("button", { name: /^Undo: / })
    .last()
    .waitFor();
  const killer = await page.context().newCDPSession(page);
  const crashed = page.waitForEvent("crash");
  void killer.send("Page.crash").catch(() => undefined);
  await crashed;
  expect(await findQuestion()).toBe(question);
});
