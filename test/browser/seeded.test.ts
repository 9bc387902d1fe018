/** The page of a service that has run for three days: every screen at every width, and what people do there. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { startBrowser, type Tab, type TestBrowser } from "../support/browser.ts";
import { refuseSome, writeSeed } from "../support/seed.ts";
import { GATEWAY_TOKEN, openService, type Service } from "../support/service.ts";

interface Listed {
  id: string;
  hook: string;
  status: string;
  outcome: string;
}

let folder: string;
let service: Service;
let browser: TestBrowser;
let tab: Tab;
let events: Listed[];
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-seed-"));
  await writeSeed(folder);
  service = await openService(folder);
  await refuseSome(service.url);
  ({ events } = await service.api("/api/events?limit=1000"));
  browser = await startBrowser();
  tab = await signIn();
}, 180_000);
afterAll(async () => {
  await browser.close();
  await service.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => void tab.problems.splice(0));

async function signIn(width = 1280): Promise<Tab> {
  const opened = await browser.open(service.url, { width, height: 800 });
  await opened.page.getByLabel("Gateway token").fill(GATEWAY_TOKEN);
  await opened.page.getByRole("button", { name: "Sign in" }).click();
  await opened.page.getByRole("status").getByText("live").waitFor();
  return opened;
}

function find(isWanted: (event: Listed) => boolean): string {
  return events.find(isWanted)!.id;
}

function listScreens(): string[] {
  return [
    "",
    "?status=failed",
    "?text=cart",
    ...["done", "failed", "dead", "skipped"].map((status) => `events/${find((event) => event.status === status)}`),
    `events/${find(({ outcome }) => outcome.includes("held turn"))}`,
    "playground?mapping=ci",
    `playground?event=${find(({ hook }) => hook === "metrics")}`,
    ..."mappings mappings/linear sessions sessions/main sessions/support runs runs?state=held".split(" "),
    ..."approvals approvals?state=all deliveries dead-letters refused recordings subscriptions mailboxes spend spend?period=7+days nowhere".split(
      " ",
    ),
  ];
}

test.each([360, 800, 1024, 1440])(
  "every screen is readable at %i px, in both themes, also for screen readers",
  async (width) => {
    const { page, problems, go, findBarriers } = await signIn(width);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      for (const screen of listScreens()) {
        await go(screen);
        await page.locator("main > section").waitFor();
        await expect.poll(() => page.locator(".loading").count(), { timeout: 30_000 }).toBe(0);
        const room = Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"));
        expect([screen, Math.max(0, room)]).toEqual([screen, 0]);
        expect([screen, await findBarriers()]).toEqual([screen, []]);
        // A column that is too narrow makes rows of many lines.
        const tallest = Number(
          await page.evaluate(
            "Math.max(0, ...[...document.querySelectorAll('tbody tr:not(.details)')].map((row) => row.offsetHeight))",
          ),
        );
        expect([screen, tallest]).toEqual([screen, Math.min(tallest, 420)]);
      }
    }
    expect(problems).toEqual([]);
    await page.context().close();
  },
  600_000,
);

test("each count leads to exactly its rows", async () => {
  const { page } = tab;
  await tab.go("");
  const counts = page.locator(".counts a");
  await expect.poll(async () => (await counts.first().innerText()).includes("–")).toBe(false);
  const links = await counts.evaluateAll((all) =>
    all.map((link) => [link.textContent ?? "", link.getAttribute("href") ?? ""]),
  );
  for (const [text = "", href = ""] of links) {
    const count = Number.parseInt(text, 10);
    if (href.includes("spend") || count > 100) continue;
    await tab.go(href.replace("#/", ""));
    const rows = href.includes("runs") ? page.locator("tbody tr") : page.locator(".scroller li:not(.day)");
    const shown = async (): Promise<number> => {
      if (!href.includes("runs") && count > 20) {
        return (
          Number(await page.locator(".scroller li:not(.day)").first().getAttribute("aria-setsize")) -
          (await countDays())
        );
      }
      return rows.count();
    };
    await expect.poll(shown, { message: text, timeout: 20_000 }).toBe(count);
  }

  /** The days of a list that is longer than the screen, by its service. */
  async function countDays(): Promise<number> {
    const url = new URL(page.url().replace("#/", ""));
    const { events: listed } = await service.api(`/api/events?limit=1000&status=${url.searchParams.get("status")}`);
    const days = new Set(listed.map((event: { receivedAt: string }) => new Date(event.receivedAt).toDateString()));
    days.delete(new Date().toDateString());
    return days.size;
  }
});

test("back goes to the same row at the same place, and each place has its title", async () => {
  const { page } = tab;
  await tab.go("runs");
  await page.getByRole("table", { name: "Runs" }).waitFor();
  expect(await page.title()).toBe("Runs · Hookline");
  const link = page.locator("tbody a[data-row]").nth(60);
  await link.scrollIntoViewIfNeeded();
  const row = await link.getAttribute("data-row");
  const top = Number(await page.evaluate("document.querySelector('main').scrollTop"));
  expect(top).toBeGreaterThan(100);
  await link.click();
  await page.getByRole("heading", { name: "What happened" }).waitFor();
  await expect.poll(() => page.evaluate("document.activeElement.tagName")).toBe("H1");
  expect(await page.title()).toMatch(/ · Hookline$/);
  await page.goBack();
  await expect.poll(() => page.evaluate("document.activeElement.dataset.row")).toBe(row);
  await expect.poll(() => page.evaluate("document.querySelector('main').scrollTop")).toBe(top);
});

test("a question to a person is counted in the navigation, shown exactly, and answered", async () => {
  const { page } = tab;
  const link = page.getByRole("navigation").getByRole("link", { name: /^Approvals/ });
  await expect.poll(() => link.innerText()).toMatch(/2$/);
  await link.click();
  const question = page.locator("article").filter({ hasText: "May this call be sent?" });
  await question.getByText("billing.refund").waitFor();
  expect(await question.locator(".exact").innerText()).toContain(
    String.raw`card expired \u{202e}gnp, c\u{430}ncel\u{fe0f}`,
  );
  await question.getByLabel("Reason, for the model").fill("Not without a ticket.");
  await question.getByRole("button", { name: "Deny" }).click();
  await page.getByText("Denied.").waitFor();
  await expect.poll(() => page.locator("article").count()).toBe(1);
  const outcome = page.locator("article");
  await outcome.getByLabel("What the call gave").fill('{"refund":"re_1"}');
  await outcome.getByRole("button", { name: "It was executed" }).click();
  await page.getByText("Nobody is asked for anything.").waitFor();
  const { approvals } = await service.api("/api/approvals");
  expect(approvals).toMatchObject([
    { kind: "outcome", decision: "done", by: "operator", result: '{"refund":"re_1"}' },
    { kind: "call", state: "denied", decision: "deny", reason: "Not without a ticket." },
  ]);
  await expect.poll(() => link.innerText()).toBe("Approvals");
  expect(tab.problems).toEqual([]);
});

/** Does what a person wants, and counts the clicks. Typing a search is not one. */
async function clicks(steps: (() => Promise<void>)[]): Promise<number> {
  for (const step of steps) await step();
  return steps.length;
}

test("the eleven tasks take at most four clicks each", async () => {
  const { page } = tab;
  const main = page.locator("main");
  const nav = (name: string) => () => page.getByRole("navigation").getByRole("link", { name, exact: true }).click();
  const start = async (): Promise<void> => tab.go("");
  const search = async (text: string): Promise<void> => {
    await start();
    await page.getByLabel("Search requests").fill(text);
  };
  const counted: Record<string, number> = {};

  await search("acme/shop#1224");
  counted["did pull request 1224 arrive, and what became of it"] = await clicks([
    () => page.locator(".scroller a").filter({ hasText: "#1224" }).first().click(),
  ]);
  await main.locator(".verdict").waitFor();
  const reply = await main.locator(".timeline .entry.assistant").boundingBox();
  expect(reply!.y).toBeLessThan(800);

  await start();
  counted["why did nothing happen: it waits"] = await clicks([
    () =>
      page
        .locator(".counts")
        .getByRole("link", { name: /waiting/ })
        .click(),
  ]);
  await main.getByText("behind a held turn").first().waitFor();

  await tab.go(`events/${find(({ hook }) => hook === "ci")}`);
  counted["replay with an edit"] = await clicks([
    () => page.getByRole("button", { name: "Edit and replay" }).click(),
    () => page.getByRole("button", { name: "Replay with this payload" }).click(),
    () => page.getByRole("dialog").getByRole("button", { name: "Replay", exact: true }).click(),
  ]);
  await page.getByText("replay of an earlier event").waitFor();

  await tab.go("?hook=metrics");
  counted["a mapping for an unknown sender from its last event"] = await clicks([
    () => page.locator(".scroller a").first().click(),
    () => page.getByRole("link", { name: "Open in playground" }).click(),
  ]);
  await page.locator(".result").getByText("web-").first().waitFor();

  await search("payload.number = 1224");
  counted["all events of a pull request"] = 0;
  await expect.poll(() => page.locator(".scroller li:not(.day)").count()).toBe(1);

  await start();
  counted["what a session said"] = await clicks([
    nav("Sessions"),
    () => page.getByRole("link", { name: "support", exact: true }).click(),
  ]);
  await main.locator(".entry.assistant").first().waitFor();
  const newest = await main.locator(".entry").first().boundingBox();
  expect(newest!.y).toBeLessThan(400);

  await start();
  counted["release one held run"] = await clicks([
    () => page.locator(".counts").getByRole("link", { name: /held/ }).click(),
    () => page.getByRole("button", { name: /^Release the turn of grafana/ }).click(),
    () => page.getByRole("dialog").getByRole("button", { name: "Release" }).click(),
  ]);
  await page.getByText("One turn is released.").waitFor();

  await start();
  const { groups } = await service.api("/api/dead-letters/groups");
  const group = groups.find(({ hook }: { hook: string }) => hook === "sentry");
  expect(group.count).toBeGreaterThan(20);
  counted["retry the dead letters of one error"] = await clicks([
    nav("Dead letters"),
    () => page.getByRole("button", { name: /^Retry \d+ of sentry/ }).click(),
    () =>
      page
        .getByRole("dialog")
        .getByRole("button", { name: `Retry ${group.count}` })
        .click(),
  ]);
  await page.getByText(`${group.count} run again.`).waitFor();

  await start();
  counted["which credential fails"] = await clicks([nav("Refused")]);
  await page.getByRole("row", { name: /github hook token wrong 5/ }).waitFor();

  await start();
  counted["the cost of yesterday by hook"] = await clicks([
    nav("Spend"),
    () => page.getByRole("button", { name: "yesterday" }).click(),
  ]);
  await page.getByRole("row", { name: /^total/ }).waitFor();

  await tab.go("playground?mapping=alertmanager");
  await page.getByRole("textbox", { name: "messageTemplate" }).press("ControlOrMeta+a");
  // As a person: Chromium itself adds styles when text replaces text.
  await page.keyboard.press("Delete");
  await page.keyboard.insertText("Alert {{json alerts}}");
  counted["a changed mapping over the last week"] = await clicks([
    () => page.getByRole("button", { name: "The last week" }).click(),
    () => page.getByRole("button", { name: "Compare with the loaded mapping" }).click(),
  ]);
  await page.locator(".changes ins").first().waitFor();

  expect(Object.keys(counted)).toHaveLength(11);
  expect(Object.entries(counted).filter(([, count]) => count > 4)).toEqual([]);
  expect(tab.problems).toEqual([]);
}, 240_000);

test("the request of a sender that nobody knows becomes a mapping in the playground", async () => {
  const { page, go } = tab;
  await go("recordings");
  await page.getByLabel("Record the hook").fill("new-sender");
  await page.getByRole("button", { name: "Record", exact: true }).click();
  await page.getByRole("link", { name: "new-sender" }).waitFor();
  const request = { method: "POST", headers: { "content-type": "application/json" }, body: '{"alarm":"door open"}' };
  expect((await fetch(`${service.url}/hooks/new-sender`, request)).ok).toBe(false);
  await page.getByRole("link", { name: "new-sender" }).click();
  const build = page.getByRole("link", { name: "Build a mapping from it" });
  await expect
    .poll(async () => {
      await page.reload();
      return build.count();
    })
    .toBe(1);
  await build.click();
  await page.getByText("door open").first().waitFor();
  await page.getByText("new-sender").first().waitFor();
});
