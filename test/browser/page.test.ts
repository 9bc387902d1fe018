/** The page in a real browser. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { startBrowser, type Tab, type TestBrowser } from "../support/browser.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, openService, type Service, startService } from "../support/service.ts";

const CODE = `export default ({ payload }) => {
  console.log("job", payload.job);
  if (!payload.job) throw new Error("the payload has no job");
  return payload.job === "skip" ? null : { message: "The job " + payload.job + " failed" };
};
`;
const SCREENS =
  "activity activity?show=turns activity?show=messages activity?show=recordings mappings mappings/new mappings/builds/edit sessions sessions/main spend system more".split(
    " ",
  );

let service: Service;
let browser: TestBrowser;
let tab: Tab;
beforeAll(async () => {
  const mappings = [
    { id: "builds", match: { path: "ci" }, transform: { module: "ci.ts" } },
    { id: "alerts", match: { path: "alerts" }, messageTemplate: "Alert {{name}}", sessionKey: "alert" },
    { id: "metrics", match: { path: "metrics", where: { required: ["cpu"] } }, messageTemplate: "x" },
    { id: "broken", match: { path: "broken" }, messageTemplate: "{{name}}", model: "broken/x" },
  ].map((mapping) => ({ ...mapping, deliver: false, wakeMode: "next-heartbeat" as const }));
  service = await startService({
    config: {
      hooks: { mappings },
      agents: {
        providers: { broken: { kind: "command", sandbox: false, command: ["false"] }, echo: { kind: "echo" } },
        defaults: { maxAttempts: 1, model: "echo/x" },
      },
    },
    files: { "transforms/ci.ts": CODE },
    saves: true,
  });
  browser = await startBrowser();
  tab = await browser.open(service.url);
  await signIn(tab);
});
afterAll(async () => {
  await browser.close();
  await service.close();
});
beforeEach(() => void tab.problems.splice(0));

async function signIn({ page }: Tab): Promise<void> {
  await page.getByLabel("Gateway token").fill(GATEWAY_TOKEN);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.locator(".connection.live").waitFor();
}

test("a wrong token is refused in words, and the right one signs in", async () => {
  const fresh = await browser.open(service.url);
  const { page, problems } = fresh;
  await page.getByLabel("Gateway token").fill("wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("The gateway token is missing or wrong.").waitFor();
  // The browser itself reports the answer.
  expect(problems.splice(0)).toEqual([expect.stringContaining("401")]);
  expect(await fresh.findBarriers()).toEqual([]);
  await signIn(fresh);
  await page.getByText("No request has come yet.").waitFor();
  expect(await page.evaluate("document.cookie")).toBe("");
  expect(await fresh.findBarriers()).toEqual([]);
  expect(problems).toEqual([]);
  await page.context().close();
});

test("every request is a line that ends in what happened, also refused ones, and can be filtered", async () => {
  const { page } = tab;
  await tab.go("activity");
  const refused = { authorization: "Bearer wrong" };
  await service.post("ci", { job: "lint" });
  await service.post("ci", { job: "skip" });
  await service.post("ci", {});
  await service.post("alerts", { name: "DiskFull" });
  await service.post("wake", {});
  await service.post("alerts", { name: "x" }, refused);
  const lines = page.locator(".scroller li");
  const show = async (): Promise<string[]> =>
    (await lines.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, " ").replace(/ [\d:.]{12}$/, ""));
  await expect
    .poll(show)
    .toEqual([
      expect.stringMatching(/^alerts refused The token is wrong/),
      "wake refused 400: Invalid payload: text is required.",
      expect.stringMatching(/^Alert DiskFull done alerts turn [\d.]+ m?s/),
      expect.stringMatching(/^ci builds failed 500: (?:Error: )?the payload has no job/),
      "ci builds skipped the transform gave no action",
      expect.stringMatching(/^The job lint failed done ci builds turn [\d.]+ m?s/),
    ]);
  await page.getByLabel("status").selectOption("skipped");
  await expect.poll(show).toEqual([expect.stringMatching(/^ci builds skipped/)]);
  expect(page.url()).toContain("status=skipped");
  await page.getByRole("button", { name: "Clear" }).click();
  await page.getByLabel("Search requests").fill("text is required");
  await expect.poll(show).toEqual([expect.stringMatching(/^wake refused/)]);
  await page.reload();
  await expect.poll(show).toEqual([expect.stringMatching(/^wake refused/)]);
  // The service finds texts that only the payload has.
  await page.getByLabel("Search requests").fill("dISKfULL");
  await expect.poll(show).toEqual([expect.stringMatching(/^Alert DiskFull done/)]);
  await page.getByLabel("Search requests").fill("nothing has this text");
  await page.getByText("No request matches this filter.").waitFor();
  expect(await tab.findBarriers()).toEqual([]);
  expect(tab.problems).toEqual([]);
});

test("tabs share one stream, and another one takes it over", async () => {
  const { page } = tab;
  await page.getByRole("button", { name: "Clear" }).click();
  const second = await page.context().newPage();
  const streams: string[] = [];
  second.on("request", (request) => void (request.url().includes("/api/stream") && streams.push(request.url())));
  await second.goto(`${service.url}/#/activity`);
  await second.getByRole("status").getByText("live").waitFor();
  const lines = second.locator(".scroller li");
  await service.post("alerts", { name: "for both" });
  await expect.poll(() => lines.count()).toBe(7);
  expect(streams).toEqual([]);

  await page.reload();
  await expect.poll(() => streams.length).toBe(1);
  await page.getByRole("status").getByText("live").waitFor();
  await service.post("alerts", { name: "after that" });
  await expect.poll(() => page.locator(".scroller li").count()).toBe(8);
  await expect.poll(() => lines.count()).toBe(8);
  await second.close();
  await service.post("alerts", { name: "alone again" });
  await expect.poll(() => page.locator(".scroller li").count()).toBe(9);
  expect(tab.problems).toEqual([]);
});

test("keys show help, go through the lines and open one", async () => {
  const { page } = tab;
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await page.keyboard.press("Escape");
  for (const key of ["j", "j", "k", "Enter"]) await page.keyboard.press(key);
  await page.getByRole("heading", { name: "What happened" }).waitFor();
  await page.getByText("Alert alone again").first().waitFor();
  await page.keyboard.press("g");
  await expect.poll(() => page.locator(".scroller li").count()).toBe(9);
});

test("an event shows its timeline, payload, boundary and reply, and runs again", async () => {
  const { page } = tab;
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: service.url });
  const { body } = await service.post("ci", { job: "lint", list: [{ "a-b": 1 }] }, { "x-api-key": "hush" });
  await service.settled(body.eventId);
  await tab.go(`events/${body.eventId}`);
  await page.getByText("The job lint failed").first().waitFor();
  const steps = await page.locator(".timeline h3").allInnerTexts();
  expect(steps).toEqual(["Received", "Verified", "Mapped", "Transform", "Committed", "Waited", "Turn", "Summary"]);
  expect(await page.locator(".timeline").innerText()).toContain("log job lint");
  await page.locator(".timeline").getByText("Prompt", { exact: true }).click();
  expect(await page.locator(".boundary").first().innerText()).toContain("untrusted · webhook ci");
  await page.getByRole("button", { name: "Show as sent" }).first().click();
  expect(await page.locator(".timeline").innerText()).toContain("EXTERNAL_UNTRUSTED_CONTENT");
  expect(await page.locator("body").innerText()).not.toContain("hush");
  await page.locator(".node", { hasText: /^a-b/ }).getByRole("button", { name: "path" }).click();
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe("{{payload.list.[0].a-b}}");
  expect(await tab.findBarriers()).toEqual([]);

  const saved = page.waitForEvent("download", { predicate: (file) => file.suggestedFilename() === "ci.json" });
  await page.getByRole("button", { name: "Save as sample" }).click();
  expect(JSON.parse(readFileSync(await (await saved).path(), "utf8"))).toEqual({ job: "lint", list: [{ "a-b": 1 }] });

  await page.keyboard.press("r");
  await page.getByText("It runs again as a new event of the hook ci").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Replay", exact: true }).click();
  await page.getByText("replay of an earlier event").waitFor();
  await page.getByRole("button", { name: "Edit and replay" }).click();
  await page.getByRole("textbox", { name: "Payload" }).fill('{"job":"edited"}');
  await page.getByRole("button", { name: "Replay with this payload" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Replay", exact: true }).click();
  await page.getByText("The job edited failed").first().waitFor();
  expect(tab.problems).toEqual([]);
});

test("a long number is shown, edited and saved as it came, and Raw shows the body", async () => {
  const { page } = tab;
  const id = "12345678901234567890";
  const body = `{ "job" : "lint",  "id" : ${id}, "one": 1.0 }`;
  const headers = { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "application/json" };
  const response = await fetch(`${service.url}/hooks/ci`, { method: "POST", headers, body });
  await tab.go(`events/${Object(await response.json()).eventId}`);
  await page.locator(".node", { hasText: /^id/ }).getByText(id, { exact: true }).waitFor();
  await page.getByRole("button", { name: "Edit and replay" }).click();
  expect(await page.getByRole("textbox", { name: "Payload" }).inputValue()).toContain(`"id": ${id}`);
  const saved = page.waitForEvent("download", { predicate: (file) => file.suggestedFilename() === "ci.json" });
  await page.getByRole("button", { name: "Save as sample" }).click();
  expect(readFileSync(await (await saved).path(), "utf8")).toContain(`"id": ${id}`);
  await page.getByRole("button", { name: "Raw" }).click();
  await page.getByText(body, { exact: true }).waitFor();
  expect(await tab.findBarriers()).toEqual([]);
  expect(tab.problems).toEqual([]);
});

test("the playground tries what one types in the sandbox, and shows where it fails", async () => {
  const { page } = tab;
  await service.post("alerts", { name: "DiskFull" });
  const recorded = (await service.api("/api/events?limit=1000")).events.length;
  await tab.go("mappings/alerts/edit");
  const result = page.locator(".result");
  /** Types as a person does: Chromium itself adds styles when text replaces several lines. */
  const write = async (name: string, text: string): Promise<void> => {
    await page.getByRole("textbox", { name }).press("ControlOrMeta+a");
    await page.keyboard.press("Delete");
    await page.keyboard.insertText(text);
  };
  const template = page.getByRole("textbox", { name: "messageTemplate" });
  await template.waitFor();
  await write("Payload", '{"name":"DiskFull","labels":{"severity":"high"}}');
  await result.getByText("Alert DiskFull").waitFor();
  await write("messageTemplate", "Draft {{name}} is {{labels.severity}}");
  await result.getByText("Draft DiskFull is high").waitFor();
  await page.getByRole("button", { name: "The last week" }).click();
  await page.getByRole("button", { name: "Compare with the loaded mapping" }).click();
  await result.getByText(/\d+ events/).waitFor();
  await result
    .getByText(/with another message|changed|in another/)
    .first()
    .waitFor();
  await page.getByRole("button", { name: "This payload" }).click();
  await template.press("End");
  await template.pressSequentially(" {{pay");
  await page.getByRole("option", { name: "payload.labels.severity" }).waitFor();
  await page.keyboard.press("Escape");
  await result.getByText("invalid_mapping").waitFor();
  await page.locator(".field .problem").waitFor();

  await tab.go("mappings/builds/edit");
  const code = page.getByRole("textbox", { name: "transform" });
  await code.waitFor();
  await write("Payload", '{"job":"lint"}');
  await result.getByText("The job lint failed").waitFor();
  await write("transform", CODE.replace('" failed"', '" is red"'));
  await result.getByText("The job lint is red").waitFor();
  await write("transform", "export default () => {\n  throw new Error('not yet');\n};");
  await result.getByText("transform_failed").waitFor();
  await write("transform", "export default () => {\n  return {{;\n};");
  await page.locator(".cm-lint-marker-error").waitFor();
  await result.getByText(/\b2:11\b/).waitFor();
  expect(await tab.findBarriers()).toEqual([]);
  expect((await service.api("/api/events?limit=1000")).events.length).toBe(recorded);
  expect(await service.try("alerts", { name: "x" })).toMatchObject({ actions: [{ message: "Alert x" }] });
  // The service answers a trial that fails with a 4xx or 5xx, which the browser reports.
  expect(tab.problems.filter((problem) => !problem.includes("Failed to load resource"))).toEqual([]);
});

test("a draft stays: after Escape and a key, on another screen, and when the sign-in ends", async () => {
  const { page } = tab;
  await page.evaluate("sessionStorage.clear()");
  const dialogs: string[] = [];
  page.on("dialog", (dialog) => {
    dialogs.push(dialog.type());
    void dialog.dismiss();
  });
  const template = page.getByRole("textbox", { name: "messageTemplate" });
  const draft = page.locator(".result").getByText("Draft g about x");
  await tab.go("mappings/alerts/edit");
  await template.waitFor();
  await page.getByRole("textbox", { name: "Payload" }).press("ControlOrMeta+a");
  await page.keyboard.insertText('{"name":"x"}');
  await template.press("ControlOrMeta+a");
  await page.keyboard.insertText("Draft  about {{name}}");
  for (let count = 0; count < 15; count++) await template.press("ArrowLeft");
  await template.press("Escape");
  await page.keyboard.press("g");
  await draft.waitFor();

  await tab.go("spend");
  await page.getByRole("heading", { name: "Spend" }).waitFor();
  await tab.go("mappings/alerts/edit");
  await draft.waitFor();
  await page.close({ runBeforeUnload: true });
  await expect.poll(() => dialogs).toEqual(["beforeunload"]);

  await page.context().clearCookies();
  await template.press("End");
  await page.keyboard.insertText("!");
  await signIn(tab);
  await draft.waitFor();
  await page.getByRole("navigation", { name: "Main" }).getByRole("button", { name: "Sign out" }).click();
  await expect.poll(() => dialogs).toEqual(["beforeunload", "confirm"]);
  await page.getByRole("button", { name: "Discard changes" }).click();
  await expect.poll(() => template.innerText()).toBe("Alert {{name}}");
  expect(await page.evaluate("sessionStorage.length")).toBe(0);
  expect(tab.problems.filter((problem) => !problem.includes("401"))).toEqual([]);

  await tab.go(`events/${(await service.post("ci", { job: "kept" })).body.eventId}`);
  await page.getByRole("button", { name: "Edit and replay" }).click();
  await page.getByRole("textbox", { name: "Payload" }).fill('{"job":"edited twice"}');
  await page.getByRole("textbox", { name: "Payload" }).press("Escape");
  await page.keyboard.press("g");
  await tab.go("");
  await page.goBack();
  expect(await page.getByRole("textbox", { name: "Payload" }).inputValue()).toBe('{"job":"edited twice"}g');
  await page.getByRole("textbox", { name: "Payload" }).fill('{"job":"edited twice"}');
  await page.getByRole("button", { name: "Replay with this payload" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Replay", exact: true }).click();
  await page.getByText("The job edited twice failed").first().waitFor();
  expect(await page.evaluate("sessionStorage.length")).toBe(0);
});

test("an event that no mapping took opens in the playground as a new mapping for its hook", async () => {
  const { page } = tab;
  await service.post("metrics", { load: 7 });
  const [{ id }] = (await service.api("/api/events?limit=1&hook=metrics")).events;
  await tab.go(`events/${id}`);
  await page.getByRole("link", { name: "Open in playground" }).click();
  await page.locator(".result").getByText('{"load":7}').waitFor();
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: service.url });
  await page.getByRole("button", { name: "Copy mapping" }).click();
  expect(JSON.parse(await page.evaluate("navigator.clipboard.readText()"))).toMatchObject({
    id: "metrics-2",
    match: { path: "metrics" },
  });
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText(/^Saved: .*webhooks\.json5$/).waitFor();
  await service.hookline.reload();
  const { eventId } = (await service.post("metrics", { load: 8 })).body;
  expect(await service.settled(eventId)).toMatchObject({ mapping: "metrics-2", status: "done" });
  expect(tab.problems).toEqual([]);
});

test("what failed is retried and dropped together, and what is pressed can be undone", async () => {
  const { page } = tab;
  for (const name of ["a", "b", "c"]) await service.settled((await service.post("broken", { name })).body.eventId);
  const letters = async (): Promise<number> => (await service.api("/api/dead-letters")).deadLetters.length;
  await tab.go("");
  await page.getByRole("link", { name: /^3 turns of broken/ }).click();
  const card = page.locator("article");
  await card.getByRole("button", { name: /^Drop 3/ }).click();
  await card.getByRole("button", { name: /^Undo/ }).click();
  expect(await letters()).toBe(3);
  expect(await tab.findBarriers()).toEqual([]);
  const ends = async (): Promise<string[]> =>
    (await service.api("/api/runs?state=failed")).runs.map(({ finishedAt }: { finishedAt: string }) => finishedAt);
  const before = await ends();
  // An action that can still be undone happens on leaving.
  await card.getByRole("button", { name: /^Retry 3/ }).click();
  await page.reload();
  await expect.poll(async () => (await ends()).filter((end) => !before.includes(end)).length).toBe(3);
  // On the event itself.
  await tab.go("activity?show=turns&status=failed");
  await page
    .getByRole("link", { name: /^broken/ })
    .first()
    .click();
  await page.locator(".timeline .exact").waitFor();
  const summaries = page.locator(".timeline .boundary");
  const count = await summaries.count();
  await page.getByRole("button", { name: "Retry" }).click();
  await expect.poll(() => summaries.count()).toBe(count + 1);
  // By a filter, after a preview of what it chooses.
  await tab.go("activity?show=turns&status=failed&hook=broken");
  await page.getByRole("button", { name: "Retry all…" }).click();
  await page.getByRole("dialog", { name: "Retry 3?" }).getByRole("button", { name: "Retry 3" }).click();
  await page.getByText("3 done.").waitFor();
  await expect.poll(letters).toBe(3);
  await tab.go("");
  await page.getByRole("link", { name: /^3 turns of broken/ }).click();
  await card.getByRole("button", { name: /^Drop 3/ }).dblclick();
  await expect.poll(letters, { timeout: 15_000 }).toBe(0);
  await card.getByText("over", { exact: true }).waitFor();
  expect(tab.problems).toEqual([]);
});

test("a hostile payload is text, and does not slow the page down", async () => {
  const { page } = tab;
  const script = '<img src=x onerror="globalThis.pwned=1"><script>globalThis.pwned=1</script>';
  const keys = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`key-${index}`, index]));
  const hostile = { job: `${script}\u202egnp.exe\u0007`, [script]: script };
  const posted = [hostile, { job: "keys", ...keys }, { job: "line", text: "x".repeat(200_000) }];
  for (const payload of posted) {
    const { body } = await service.post("ci", payload);
    await service.settled(body.eventId);
    await tab.go(`events/${body.eventId}`);
    await page.locator(`section[data-event="${body.eventId}"] .timeline`).waitFor();
    expect(Number(await page.evaluate("document.querySelectorAll('*').length"))).toBeLessThan(1500);
    expect((await page.locator("body").innerText()).length).toBeLessThan(50_000);
    if (payload !== hostile) continue;
    const text = await page.locator(".tree").innerText();
    expect(text).toContain(script);
    expect(text).toContain(String.raw`\u{202e}gnp.exe\u{7}`);
    expect(await page.locator("body").innerText()).not.toContain("\u202e");
  }
  await tab.go("activity");
  await page.locator(".scroller li").first().waitFor();
  expect(await page.evaluate("globalThis.pwned")).toBeUndefined();
  expect(tab.problems).toEqual([]);
});

test("another page on this host, to which the browser sends the cookie, reads and changes nothing", async () => {
  const { page } = tab;
  const { eventId } = (await service.post("broken", { name: "kept" })).body;
  await service.settled(eventId);
  const [{ id }] = (await service.api("/api/dead-letters")).deadLetters;
  const attacker = createServer((_request, response) => {
    response.setHeader("content-type", "text/html").end("<!doctype html><title>Elsewhere</title>");
  }).listen(0, "127.0.0.1");
  await once(attacker, "listening");
  const other = await page.context().newPage();
  await other.goto(`http://127.0.0.1:${(attacker.address() as AddressInfo).port}`);
  const answers: string[] = [];
  other.on("response", (response) => void answers.push(`${response.status()} ${new URL(response.url()).pathname}`));
  const found = await other.evaluate(`(async () => {
    const api = ${JSON.stringify(`${service.url}/api`)};
    const attempt = (path, options) =>
      fetch(api + path, { credentials: "include", ...options }).then((response) => response.text(), () => "refused");
    const frame = document.body.appendChild(Object.assign(document.createElement("iframe"), { src: ${JSON.stringify(service.url)} }));
    await new Promise((resolve) => (frame.onload = resolve));
    const stream = new EventSource(api + "/stream", { withCredentials: true });
    const streamed = await new Promise((resolve) => {
      stream.onopen = () => resolve("open");
      stream.onerror = () => resolve("refused");
    });
    stream.close();
    return [
      streamed,
      await attempt("/events", {}),
      await attempt("/events", { mode: "no-cors" }),
      await attempt("/dead-letters/${id}/retry", { method: "POST", mode: "no-cors", body: "{}" }),
      await attempt("/dead-letters/${id}", { method: "DELETE" }),
      await attempt("/dead-letters/${id}/retry", { method: "POST", headers: { "content-type": "application/json" }, body: "{}" }),
    ];
  })()`);
  // A request that was sent without asking first has an answer that the page cannot read.
  expect(found).toEqual(["refused", "refused", "", "", "refused", "refused"]);
  expect(answers).toEqual(expect.arrayContaining(["200 /api/events", `415 /api/dead-letters/${id}/retry`]));
  expect(other.frames().map((frame) => frame.url())).not.toContain(`${service.url}/`);
  const { deadLetters } = await service.api("/api/dead-letters");
  expect(deadLetters.map((letter: { id: string }) => letter.id)).toContain(id);
  await other.close();
  attacker.close();
  expect(tab.problems).toEqual([]);
});

/** Screens with something that is only there when there is little. */
const EMPTY_SCREENS = ["activity?show=messages", "mappings/new", "spend"];

/** With little on them; `seeded.test.ts` has them full, in both themes, and at each width. */
test("every screen fits in a narrow window, in dark, and is readable with little on it, also for screen readers", async () => {
  const { page } = tab;
  await page.emulateMedia({ colorScheme: "dark" });
  await page.setViewportSize({ width: 360, height: 720 });
  const { eventId } = (await service.post("alerts", { name: "narrow" })).body;
  // The playground starts with it: a payload that its transform refuses is an error of the console.
  await service.post("ci", { job: "narrow" });
  for (const screen of ["", `events/${eventId}`, ...SCREENS]) {
    await tab.go(screen);
    await page.locator("main > section").waitFor();
    await expect.poll(() => page.locator(".loading").count()).toBe(0);
    const overflow = Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"));
    expect([screen, overflow]).toEqual([screen, Math.min(0, overflow)]);
    if (EMPTY_SCREENS.includes(screen)) expect([screen, await tab.findBarriers()]).toEqual([screen, []]);
  }
  expect(tab.problems).toEqual([]);
});

test("a service that has stopped does not look like an empty one", async () => {
  const stopping = await startService();
  const opened = await browser.open(stopping.url);
  const { page, problems, go } = opened;
  await signIn(opened);
  await stopping.post("wake", { text: "x" });
  await go("activity");
  await page.locator(".scroller li").waitFor();
  await page.route("**/api/runs*", (route) => route.abort());
  await go("runs");
  await page.locator("main").getByText("The service does not answer.").waitFor();
  await page.unroute("**/api/runs*");
  await page.getByRole("button", { name: "Try again" }).click();
  await page
    .getByText("No turn matches this filter.")
    .or(page.getByRole("table", { name: "Turns" }))
    .waitFor();
  await go("activity");

  const { port } = new URL(stopping.url);
  await stopping.hookline.close();
  const banner = page.getByRole("alert").filter({ hasText: /The service does not answer. Its last answer came \d\d:/ });
  await banner.waitFor();
  expect(await page.locator(".scroller li").count()).toBe(1);

  await go("activity?text=other");
  await page.locator(".scroller").getByText("The service does not answer.").waitFor();
  expect(await page.locator("main").innerText()).not.toContain("No request matches");
  await go("sessions");
  await page.locator("main").getByText("The service does not answer.").waitFor();
  await go("");
  await page.locator("main").getByText("The service does not answer.").first().waitFor();
  expect(await page.locator("main").innerText()).not.toContain("Nothing waits");

  const again = await openService(stopping.folder, { port: Number(port) });
  await banner.waitFor({ state: "detached" });
  await go("activity");
  await again.post("wake", { text: "after the stop" });
  await expect.poll(() => page.locator(".scroller li").count()).toBe(2);
  expect(problems.filter((problem) => !/ERR_(?:CONNECTION_(?:REFUSED|RESET)|FAILED)|503/.test(problem))).toEqual([]);
  await page.context().close();
  await again.close();
});

test("signing out ends it", async () => {
  const { page } = tab;
  await page.setViewportSize({ width: 1280, height: 800 });
  const other = await page.context().newPage();
  await other.goto(service.url);
  await page.getByRole("navigation", { name: "Main" }).getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Gateway token").waitFor();
  // In all tabs, which say why.
  await other.getByText("You have signed out.").waitFor();
  await other.close();
  await page.reload();
  await page.getByLabel("Gateway token").waitFor();
  // A request under way is refused.
  expect(tab.problems.filter((problem) => !problem.includes("401"))).toEqual([]);
});
