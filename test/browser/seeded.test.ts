/** The page of a service that has run for three days: every screen at every width, and what people do there. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Locator, Request } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { startBrowser, type Tab, type TestBrowser } from "../support/browser.ts";
import type { InboxItem } from "../../src/operator/inbox/item.ts";
import { HOSTILE_END, HOSTILE_SAMPLE, refuseSome, writeSeed } from "../support/seed.ts";
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
let hostile: { id: string; code: string; kind: string; state: string }[];
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-seed-"));
  await writeSeed(folder, { hostile: HOSTILE_SAMPLE });
  service = await openService(folder);
  await refuseSome(service.url);
  ({ events } = await service.api("/api/events?limit=1000"));
  hostile = await listApprovals("hostile");
  browser = await startBrowser();
  tab = await signIn();
}, 180_000);
afterAll(async () => {
  await browser.close();
  await service.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => void tab.problems.splice(0));

async function signIn(): Promise<Tab> {
  const opened = await browser.open(service.url);
  await opened.page.getByLabel("Gateway token").fill(GATEWAY_TOKEN);
  await opened.page.getByRole("button", { name: "Sign in" }).click();
  // On a phone it is behind *More*.
  await opened.page.locator(".connection.live").waitFor({ state: "attached" });
  return opened;
}

function find(isWanted: (event: Listed) => boolean): string {
  return events.find(isWanted)!.id;
}

const findRetried = (): string =>
  find(({ hook, outcome }) => hook === "slack" && outcome.includes("slack C01SUPPORT ✓"));

const listApprovals = async (hook: string): Promise<typeof hostile> =>
  (await service.api("/api/approvals?limit=100")).approvals.filter((one: { hook: string }) => one.hook === hook);

test("hostile questions are drawn whole, as text, and do no harm", async () => {
  const { page } = tab;
  const dialogs: string[] = [];
  page.on("dialog", (dialog) => dialogs.push(dialog.message()));
  await page.setViewportSize({ width: 390, height: 800 });
  expect(hostile.length).toBeGreaterThanOrEqual(20);
  for (const { id, code, state } of hostile) {
    await tab.go(`inbox/${id}`);
    await page.locator("article header code").getByText(code, { exact: true }).waitFor();
    const drawn: Record<string, number> & { text: string } = await page.evaluate(`(() => {
      const card = document.querySelector("article");
      return {
        text: card.textContent,
        active: card.querySelectorAll("script, img, iframe, style, a:not([href^='#/'])").length,
        buttons: card.querySelectorAll(".buttons button").length,
        tooWide: Math.max(0, document.documentElement.scrollWidth - innerWidth),
      };
    })()`);
    const { text, ...counts } = drawn;
    expect([code, counts]).toEqual([code, { active: 0, buttons: state === "open" ? 2 : 0, tooWide: 0 }]);
    expect(text).toContain(HOSTILE_END);
    // eslint-disable-next-line no-control-regex
    expect(text).not.toMatch(/[\0-\x08\x0b-\x1f\x7f\u200b\u202a-\u202e\u2066-\u2069]/);
  }
  expect(dialogs).toEqual([]);
  expect(tab.problems).toEqual([]);
  await page.setViewportSize({ width: 1280, height: 800 });
});

test("a link shows its question after the sign-in, and a press is sent once, whatever the network does", async () => {
  const [first, second, third] = hostile.filter(({ kind }) => kind === "reply");
  const fresh = await browser.open(`${service.url}/#/inbox/${first!.id}`);
  const { page } = fresh;
  await page.getByLabel("Gateway token").fill(GATEWAY_TOKEN);
  await page.getByRole("button", { name: "Sign in" }).click();
  const card = page.locator("article");
  await card.locator("header code").getByText(first!.code, { exact: true }).waitFor();
  const posts: string[] = [];
  const isPost = (request: Request): boolean => request.method() === "POST";
  page.on("request", (request) => isPost(request) && posts.push(new URL(request.url()).pathname));
  const press = async (name: string): Promise<void> => {
    await card.getByRole("button", { name: new RegExp(`^${name}: `) }).dblclick();
    await card.getByRole("heading", { name: /sent in \d s$/ }).waitFor();
  };
  /** Hides the page, as a phone does: a press is sent at once. */
  const leave = (): Promise<void> => page.evaluate("void dispatchEvent(new Event('pagehide'))");
  const stateOf = async ({ id }: { id: string }): Promise<string> => (await service.api(`/api/approvals/${id}`)).state;

  await page.route("**/api/approvals/*", (route) => (isPost(route.request()) ? route.abort() : route.fallback()));
  await press("Approve");
  expect(posts).toEqual([]);
  await leave();
  await page.getByText("The service does not answer.").waitFor();
  expect(await stateOf(first!)).toBe("open");
  await page.unroute("**/api/approvals/*");

  // Its answer is lost: the card says what the service did.
  await page.route("**/api/approvals/*", async (route) => {
    if (!isPost(route.request())) return route.fallback();
    await route.fetch();
    return route.abort();
  });
  await press("Deny");
  await leave();
  await card.getByText("deny by operator").waitFor();
  await page.unroute("**/api/approvals/*");
  expect(posts).toEqual([first, first].map((one) => `/api/approvals/${one!.id}`));

  // Somebody else was first.
  await fresh.go(`inbox/${second!.id}`);
  await card.locator("header code").getByText(second!.code, { exact: true }).waitFor();
  await press("Approve");
  await service.operate("POST", `/api/approvals/${second!.id}`, { decision: "deny" });
  await leave();
  await card.getByText("deny by operator").waitFor();
  expect(await Promise.all([first!, second!, third!].map(stateOf))).toEqual(["denied", "denied", "open"]);
  await page.context().close();

  const all = { action: "cancel", filter: { hook: "hostile" } };
  const { body: preview } = await service.operate("POST", "/api/bulk", all);
  await service.operate("POST", "/api/bulk", { ...all, token: preview.token });
  const expired = hostile.find(({ state }) => state === "expired");
  await tab.go(`inbox/${expired!.id}`);
  await tab.page.locator("article header").getByText("expired").waitFor();
});

async function listScreens(): Promise<string[]> {
  const inbox: InboxItem[] = (await service.api("/api/inbox")).items;
  // Items of the same parts look the same.
  const look = ({ part, blocks, actions }: InboxItem): string =>
    JSON.stringify([part, blocks.map(({ kind }) => kind), actions.length]);
  const differing = new Map(inbox.map((item) => [look(item), item.id]));
  return [
    "",
    ...[...differing.values()].map((id) => `inbox/${encodeURIComponent(id)}`),
    "inbox/00000000-0000-7000-8000-000000000000",
    "activity",
    "activity?status=failed",
    "activity?text=cart",
    ...["done", "failed", "skipped"].map((status) => `events/${find((event) => event.status === status)}`),
    `events/${find(({ outcome }) => outcome.includes("held turn"))}`,
    `events/${findRetried()}`,
    "mappings/ci/edit",
    `mappings/new?event=${find(({ hook }) => hook === "metrics")}`,
    ..."activity?show=turns activity?show=turns&status=held activity?show=messages activity?show=recordings".split(" "),
    ..."mappings mappings/linear sessions sessions/main sessions/support system spend spend?period=7+days more nowhere".split(
      " ",
    ),
  ];
}

/** With the rules that are checked, which takes longer than the screen. A width changes no colors. */
const WIDTHS = [
  { width: 390, rules: "layout" },
  { width: 768 },
  { width: 1024 },
  { width: 1440, rules: "all" },
] as const;

test(
  "every screen is readable at each width, in both themes, also for screen readers",
  { timeout: 600_000 },
  async () => {
    const { page, problems, go, findBarriers } = await signIn();
    for (const [index, screen] of (await listScreens()).entries()) {
      await go(screen);
      await page.locator("main > section").waitFor();
      await expect.poll(() => page.locator(".loading").count(), { timeout: 30_000 }).toBe(0);
      // Each second screen begins with the width at which the one before has ended: a change of it draws everything.
      for (const { width, ...check } of index % 2 === 0 ? WIDTHS : WIDTHS.toReversed()) {
        await page.setViewportSize({ width, height: 800 });
        const at = `${screen} at ${width} px`;
        // A column that is too narrow makes rows of many lines.
        const [room, tallest] = await page.evaluate<[number, number]>(`[
          document.documentElement.scrollWidth - innerWidth,
          Math.max(0, ...[...document.querySelectorAll("tbody tr:not(.details)")].map((row) => row.offsetHeight)),
        ]`);
        expect([at, Math.max(0, room), Math.max(420, tallest)]).toEqual([at, 0, 420]);
        if ("rules" in check) expect([at, await findBarriers(check.rules)]).toEqual([at, []]);
        if (width !== 1440) continue;
        // A theme changes nothing but colors.
        await page.emulateMedia({ colorScheme: "dark" });
        expect([screen, await findBarriers("contrast")]).toEqual([screen, []]);
        await page.emulateMedia({ colorScheme: "light" });
      }
    }
    // The item that does not exist, which a change of the inbox reads again.
    expect(problems.filter((problem) => !problem.includes("404"))).toEqual([]);
    await page.context().close();
  },
);

test("each count of the period leads to exactly its rows", async () => {
  const { page } = tab;
  await tab.go("");
  const counts = page.locator(".period a");
  await counts.first().waitFor();
  const links = await counts.evaluateAll((all) =>
    all.map((link) => [link.textContent ?? "", link.getAttribute("href") ?? ""]),
  );
  const numbers = links.map(([text = ""]) => Number.parseInt(text.replaceAll(",", ""), 10));
  // The first is the sum of the others.
  expect(numbers[0]).toBe(numbers.slice(1).reduce((sum, count) => sum + count, 0));
  for (const [index, [text = "", href = ""]] of links.entries()) {
    await tab.go(href.replace("#/", ""));
    const last = page.locator(".scroller li").last();
    const shown = async (): Promise<number> => {
      await page.locator(".scroller").evaluate((scroller) => scroller.scrollTo(0, scroller.scrollHeight));
      const size = Number(await last.getAttribute("aria-setsize"));
      const oldest = new Date((await last.locator("time").getAttribute("datetime")) ?? "");
      // A day has two dates, and the earlier one a heading.
      return size - Number(oldest.toDateString() !== new Date().toDateString());
    };
    await expect.poll(shown, { message: text, timeout: 20_000 }).toBe(numbers[index]);
  }
});

test("back goes to the same row at the same place, and each place has its title", async () => {
  const { page } = tab;
  await tab.go("runs");
  await page.getByRole("table", { name: "Turns" }).waitFor();
  expect(await page.title()).toMatch(/^\(\d+\) Activity · Hookline$/);
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

test("each failed attempt of a turn and of its delivery is a step with its error and time", async () => {
  const { page, go } = tab;
  await go(`events/${findRetried()}`);
  const steps = page.locator(".timeline > li");
  await steps.filter({ hasText: "The third attempt worked." }).first().waitFor();
  const shown = (await steps.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, " ").trim());
  expect(shown.slice(shown.findIndex((text) => text.startsWith("Waited")))).toEqual([
    expect.stringMatching(/^Waited (?:<1 ms|\d)/),
    expect.stringMatching(/^Attempt 1 failed [\d.]+ .*timed out after 600 s/),
    expect.stringMatching(/^Attempt 2 failed 1\.2 s .*openai answered 503: the model is overloaded/),
    expect.stringMatching(/^Turn 2\.4 s .*The third attempt worked\./),
    expect.stringMatching(/^Summary/),
    expect.stringMatching(/^Attempt 1 failed 320 ms .*slack answered 500/),
    expect.stringMatching(/^Delivery 240 ms .*sent slack C01SUPPORT/),
  ]);
});

test("mappings stand below their sender with its address, and the details of one below its row", async () => {
  const { page, go } = tab;
  await go("mappings/linear");
  const table = page.getByRole("table", { name: "Mappings by sender" });
  await table.getByRole("button", { name: "Resume" }).waitFor();
  const rows = (await table.locator("tbody tr").allInnerTexts()).map((text) => text.replaceAll(/\s+/g, " ").trim());
  expect(rows.slice(0, 4)).toEqual([
    expect.stringMatching(/^github http:\/\/\S+\/hooks\/github Copy the URL last event .+ 1 failed 5 refused$/),
    expect.stringMatching(/^1 releases .* 0 0 % – –$/),
    expect.stringMatching(/^2 github .* 61 1\.6 % /),
    expect.stringMatching(/^stripe http/),
  ]);
  const linear = rows.findIndex((text) => text.startsWith("8 linear"));
  expect(rows[linear + 1]).toContain("Resume");
});

test("a question to a person is counted in the navigation, shown exactly, and answered", async () => {
  const { page } = tab;
  const link = page.getByRole("navigation").getByRole("link", { name: /^Inbox/ });
  await tab.go("");
  await expect.poll(() => link.innerText()).toMatch(/\d$/);
  await page.getByRole("link", { name: /^billing\.refund / }).click();
  const card = page.locator("article");
  await card.getByRole("heading", { name: /^Send billing\.refund to / }).waitFor();
  expect(await card.getByRole("table", { name: "Arguments, exactly" }).innerText()).toContain(
    String.raw`card expired \u{202e}gnp, c\u{430}ncel\u{fe0f}`,
  );
  await card.getByLabel("Reason, for the agent").fill("Not without a ticket.");
  await card.getByRole("button", { name: /^Approve: billing\.refund, code / }).click();
  await card.getByRole("button", { name: /^Undo: / }).click();
  // The second press meets an empty row.
  await card.getByRole("button", { name: /^Deny: / }).dblclick();
  await card.getByRole("heading", { name: /^Denied: billing\.refund/ }).waitFor();
  await expect.poll(() => page.evaluate("document.activeElement.tagName")).toBe("H3");
  expect((await service.api("/api/approvals?state=open")).approvals).toHaveLength(2);
  await card.getByText("deny by operator").waitFor();
  // Nothing moves: the ended one stays where it was, and says who decided.
  await page.getByRole("link", { name: /^billing\.refund .*denied by operator/ }).waitFor();
  await page.getByRole("link", { name: /^Was .* executed\?/ }).click();
  await card.getByLabel("What the call gave").fill('{"refund":"re_1"}');
  await card.getByRole("button", { name: /^Done: / }).press("Enter");
  await page.keyboard.press("Enter");
  // The question is decided although the page is left.
  await page.reload();
  await page.getByRole("heading", { name: /^Failed/ }).waitFor();
  await expect.poll(() => page.getByRole("heading", { name: /^Decide/ }).count()).toBe(0);
  const approvals = await listApprovals("stripe");
  expect(approvals).toMatchObject([
    { kind: "outcome", decision: "done", by: "operator", result: '{"refund":"re_1"}' },
    { kind: "call", state: "denied", decision: "deny", reason: "Not without a ticket." },
  ]);
  // The links of messages, and their earlier form.
  await tab.go(`approvals/${approvals[1]!.id}`);
  await card.getByText("deny by operator").waitFor();
  await tab.go("inbox/00000000-0000-7000-8000-000000000000");
  await card.getByRole("heading", { name: "Answered; kept for 30 days." }).waitFor();
  expect(tab.problems.filter((problem) => !problem.includes("404"))).toEqual([]);
});

test("a payload of depth 100 fits when all of it is open, also with odd keys and on a phone", async () => {
  let payload: unknown = { "[x]": 1 };
  for (let depth = 0; depth < 100; depth++) payload = { "a.b": payload };
  const { eventId } = (await service.post("orders", payload)).body;
  const { page, go } = tab;
  await go(`events/${eventId}`);
  await page.locator(".tree .fold").first().waitFor();
  await page.evaluate(`(async () => {
    const closed = () => document.querySelectorAll('.tree .fold[aria-expanded="false"]');
    for (; closed().length > 0; await new Promise(requestAnimationFrame)) closed().forEach((fold) => fold.click());
  })()`);
  expect(await page.locator(".tree .node").count()).toBe(102);
  const leaf = page.locator(".tree .node").last();
  expect(await leaf.innerText()).toMatch(/^\[x\] 1/);
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 800 });
    expect(Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"))).toBeLessThanOrEqual(0);
    expect((await leaf.boundingBox())!.width).toBeGreaterThan(60);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
});

test("a drag over a chart chooses its time range", async () => {
  const { page, go } = tab;
  await go("activity");
  await page.getByText("Charts", { exact: true }).click();
  const chart = page.locator(".chart .u-over").first();
  await chart.waitFor();
  const { x, y, width, height } = (await chart.boundingBox())!;
  await page.mouse.move(x + width * 0.5, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(x + width * 0.75, y + height / 2, { steps: 4 });
  await page.mouse.up();
  await expect.poll(() => page.url()).toContain("from=");
  const query = new URLSearchParams(page.url().split("?")[1]);
  const [from, to] = [Date.parse(query.get("from")!), Date.parse(query.get("to")!)];
  expect([from % 60_000, to % 60_000]).toEqual([0, 0]);
  // The chart is a day wide.
  expect(Math.abs((to - from) / 3_600_000 - 6)).toBeLessThanOrEqual(0.5);
  expect(await tab.findBarriers()).toEqual([]);
  await page.getByRole("button", { name: "Clear" }).click();
  // An item of the screen before may have gone meanwhile.
  expect(tab.problems.filter((problem) => !problem.includes("404"))).toEqual([]);
});

test("a filter gets a name, stays in the browser under it, and is forgotten", async () => {
  const { page, go } = tab;
  // An address of the time in which requests were the first screen.
  await go("?status=failed&hook=ci");
  await page.getByLabel("time", { exact: true }).selectOption("last 7 days");
  page.once("dialog", (dialog) => void dialog.accept("gray builds"));
  await page.getByRole("button", { name: "Save view" }).click();
  const view = page.getByLabel("view", { exact: true });
  await expect.poll(() => view.inputValue()).toBe("gray builds");
  await page.getByRole("button", { name: "Clear" }).click();
  await expect.poll(() => view.inputValue()).toBe("");
  await page.reload();
  await view.selectOption("gray builds");
  await expect.poll(() => page.url()).toMatch(/hook=ci.*period=last/);
  expect(page.url()).toMatch(/status=failed/);
  await page.locator(".scroller li:not(.day)").first().waitFor();
  expect(await tab.findBarriers()).toEqual([]);
  await page.getByRole("button", { name: "Forget view" }).click();
  await expect.poll(() => view.count()).toBe(0);
  await page.getByRole("button", { name: "Clear" }).click();
  expect(tab.problems).toEqual([]);
});

test("code in the editor is folded", async () => {
  const { page, go } = tab;
  await go("mappings/ci/edit");
  const code = page.locator(".cm-content").filter({ hasText: "console.log" });
  await code.waitFor();
  const editor = page.locator(".field").filter({ hasText: "Transform" });
  await editor.getByTitle("Fold line", { exact: true }).filter({ visible: true }).first().click();
  await expect.poll(() => page.locator(".cm-content").filter({ hasText: "console.log" }).count()).toBe(0);
  await editor.getByTitle("Unfold line", { exact: true }).filter({ visible: true }).first().click();
  await code.waitFor();
  expect(await tab.findBarriers()).toEqual([]);
  expect(tab.problems).toEqual([]);
});

/** Does what a person wants, and counts the clicks. Typing a search is not one. */
async function clicks(steps: (() => Promise<void>)[]): Promise<number> {
  for (const step of steps) await step();
  return steps.length;
}

/** In pixels from the top of the window. What is loaded above it moves it. */
async function topOf(place: Locator): Promise<number> {
  return (await place.boundingBox())?.y ?? Infinity;
}

test("the eleven tasks take at most four clicks each", async () => {
  const { page } = tab;
  const main = page.locator("main");
  const nav = (name: string) => () => page.getByRole("navigation").getByRole("link", { name, exact: true }).click();
  const start = async (): Promise<void> => tab.go("");
  const item = (name: RegExp) => () => page.locator(".items").getByRole("link", { name }).click();
  const search = async (text: string): Promise<void> => {
    await tab.go("activity");
    await page.getByLabel("Search requests").fill(text);
  };
  const counted: Record<string, number> = {};

  await search("acme/shop#1224");
  counted["did pull request 1224 arrive, and what became of it"] = await clicks([
    () => page.locator(".scroller a").filter({ hasText: "#1224" }).first().click(),
  ]);
  await main.locator(".verdict").waitFor();
  await expect.poll(() => topOf(main.locator(".timeline .entry.assistant"))).toBeLessThan(800);

  await start();
  counted["why did nothing happen: it waits"] = await clicks([
    () =>
      page
        .locator(".period")
        .getByRole("link", { name: /not finished/ })
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

  await tab.go("activity?hook=metrics");
  counted["a mapping for an unknown sender from its last event"] = await clicks([
    async () => {
      await page.locator(".scroller a").first().click();
      await main.getByText("No mapping took it.").waitFor();
    },
    () => page.getByRole("link", { name: "Open in playground" }).click(),
  ]);
  await page.locator(".result").getByText("web-").first().waitFor();

  await search("payload.number = 1224");
  counted["all events of a pull request"] = 0;
  await expect.poll(() => page.locator(".scroller li:not(.day)").count()).toBe(1);

  await start();
  counted["what a session said"] = await clicks([
    nav("Sessions"),
    () =>
      page
        .getByRole("row", { name: / support / })
        .getByRole("link")
        .click(),
  ]);
  await main.locator(".entry.assistant").first().waitFor();
  await expect.poll(() => topOf(main.locator(".entry").first())).toBeLessThan(400);

  await start();
  counted["release one held run"] = await clicks([
    item(/held: budget/),
    () => main.getByRole("link", { name: "Show the turns" }).click(),
    () => page.getByRole("button", { name: /^Release the turn of grafana/ }).click(),
    () => page.getByRole("dialog").getByRole("button", { name: "Release" }).click(),
  ]);
  await page.getByText("One turn is released.").waitFor();

  await start();
  const { groups } = await service.api("/api/dead-letters/groups");
  const group = groups.find(({ hook }: { hook: string }) => hook === "sentry");
  expect(group.count).toBeGreaterThan(20);
  counted["retry the dead letters of one error"] = await clicks([
    item(/turns of sentry/),
    () => page.getByRole("button", { name: new RegExp(`^Retry ${group.count}`) }).click(),
  ]);
  await expect
    .poll(async () => (await service.api("/api/runs?state=failed&hook=sentry")).runs.length, { timeout: 30_000 })
    .toBe(0);

  await start();
  counted["which credential fails"] = await clicks([
    () =>
      page
        .locator(".period")
        .getByRole("link", { name: /refused/ })
        .click(),
    () => page.locator(".scroller a").filter({ hasText: "github" }).first().click(),
  ]);
  await main.getByText("hook token").first().waitFor();

  await start();
  counted["the cost of yesterday by hook"] = await clicks([
    nav("Spend"),
    () => page.getByRole("button", { name: "yesterday" }).click(),
  ]);
  await page.getByRole("row", { name: /^total/ }).waitFor();

  await tab.go("mappings/alertmanager/edit");
  await page.getByRole("textbox", { name: "messageTemplate" }).press("ControlOrMeta+a");
  // Types as a person does: Chromium itself adds styles when text replaces text.
  await page.keyboard.press("Delete");
  await page.keyboard.insertText("Alert {{json alerts}}");
  counted["a changed mapping over the last week"] = await clicks([
    () => page.getByRole("button", { name: "The last week" }).click(),
    () => page.getByRole("button", { name: "Compare with the loaded mapping" }).click(),
  ]);
  await page.locator(".changes ins").first().waitFor();

  expect(Object.keys(counted)).toHaveLength(11);
  expect(Object.entries(counted).filter(([, count]) => count > 4)).toEqual([]);
  // A draft is tried while it is typed: an empty template is refused.
  expect(tab.problems.filter((problem) => !problem.includes("status of 400"))).toEqual([]);
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
  const build = page.getByRole("link", { name: "Make a mapping" });
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
