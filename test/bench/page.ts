/**
 * The page under load: a feed of 500 requests a second for a minute, a third of them refused, in a real browser. Prints the
 * frames a second, the memory of the page, the CPU of the service with and without it, how soon the playground shows what one
 * types, and the longest task while the newest entries of a long session are open: `npm run build && node test/bench/page.ts`.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startBrowser, type Tab } from "../support/browser.ts";
import { type BenchServer, startServer } from "./server.ts";

const SECONDS = Number(process.env.BENCH_SECONDS ?? 60);
const RATE = Number(process.env.BENCH_RATE ?? 500);
const TICK_MS = 20;
const KEYS = 31;
const ROUNDS = 9;
const ROUND_SECONDS = 5;
const SESSION_ROUNDS = 5;
const TOKEN = "bench-token-0123456789abcdef";
const GATEWAY_TOKEN = "bench-gateway-token-0123456789";
const BEARER = { authorization: `Bearer ${TOKEN}` };
const BODIES = ['{"title":"Disk on web-3 is at 97 %"}', '{"text":"a note"}', '{"message":'];
const HOOKS = ["bench", "wake", "agent"];

const folder = mkdtempSync(path.join(tmpdir(), "hookline-page-"));
const mappings = [
  { id: "bench", match: { path: "bench" }, action: "wake", wakeMode: "next-heartbeat", textTemplate: "{{title}}" },
];
const config = path.join(folder, "webhooks.json5");
const gateway = { auth: { token: GATEWAY_TOKEN } };
writeFileSync(
  config,
  JSON.stringify({ gateway, hooks: { enabled: true, token: TOKEN, mappings }, log: { level: "silent" } }),
);
const server = await startServer({
  command: [
    process.execPath,
    path.join(import.meta.dirname, "../../dist/cli/webhooks.js"),
    "serve",
    "--port",
    "0",
    "--config",
    config,
  ],
  hookPath: "/hooks/bench",
  headers: BEARER,
  payload: BODIES[0] ?? "",
});
const origin = new URL(server.url).origin;
const browser = await startBrowser();
try {
  const tab = await browser.open(origin);
  await tab.page.getByLabel("Gateway token").fill(GATEWAY_TOKEN);
  await tab.page.getByRole("button", { name: "Sign in" }).click();
  await tab.page.getByRole("status").getByText("live").waitFor();
  const frames = countFrames(tab);
  const { perSecond } = await sendFor(server, SECONDS);
  const rates = (await frames).toSorted((a, b) => a - b);
  console.log(`${perSecond.toFixed(0)} requests a second, ${SECONDS} s`);
  console.log(`frames a second: median ${rates[rates.length >> 1]}, worst second ${rates[0]}`);
  console.log(
    `heap ${(await heapMb(tab)).toFixed(0)} MB, ${await tab.page.locator(".scroller li").count()} rows in the document`,
  );
  const typing = (await typeInPlayground(tab)).toSorted((a, b) => a - b);
  console.log(`from a key in the playground to the result: median ${typing[KEYS >> 1]} ms, worst ${typing.at(-1)} ms`);

  const tasks = (await longestTasks(tab)).toSorted((a, b) => a - b);
  console.log(
    `longest task while the main session is open: median ${tasks[SESSION_ROUNDS >> 1]} ms, worst ${tasks.at(-1)} ms`,
  );

  const costs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await tab.page.goto("about:blank");
    const without = await sendFor(server, ROUND_SECONDS);
    await tab.page.goto(origin);
    await tab.page.getByRole("status").getByText("live").waitFor();
    const withPage = await sendFor(server, ROUND_SECONDS);
    costs.push(100 * (withPage.cpu - without.cpu));
    console.log(`the service takes ${percent(without)} of a core, with the page ${percent(withPage)}`);
  }
  console.log(
    `the page costs the service ${costs.toSorted((a, b) => a - b)[ROUNDS >> 1]?.toFixed(1)} % of a core (median)`,
  );
  console.log(`problems: ${tab.problems.length === 0 ? "none" : tab.problems.join("\n")}`);
} finally {
  await browser.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}

interface Usage {
  cpu: number;
  perSecond: number;
}

function percent({ cpu }: Usage): string {
  return `${(100 * cpu).toFixed(1)} %`;
}

async function sendFor({ url, usage }: BenchServer, seconds: number): Promise<Usage> {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const before = usage().cpuSeconds;
  const startedAt = performance.now();
  let sent = 0;
  while (performance.now() - startedAt < seconds * 1000) {
    const due = Math.floor(((performance.now() - startedAt) / 1000) * RATE);
    for (; sent < due; sent++) send(agent, url.replace(/bench$/, HOOKS[sent % 3] ?? ""), BODIES[sent % 3] ?? "");
    await sleep(TICK_MS);
  }
  agent.destroy();
  return { cpu: (usage().cpuSeconds - before) / seconds, perSecond: sent / seconds };
}

function send(agent: Agent, url: string, body: string): void {
  const headers = { ...BEARER, "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  request(url, { method: "POST", agent, headers }, (response) => response.resume())
    .on("error", () => {})
    .end(body);
}

/** How many frames each second had. */
function countFrames({ page }: Tab): Promise<number[]> {
  return page.evaluate(`new Promise((resolve) => {
    const rates = [];
    let frames = 0;
    const count = () => { frames++; if (rates.length < ${SECONDS - 1}) requestAnimationFrame(count); };
    requestAnimationFrame(count);
    const timer = setInterval(() => {
      rates.push(frames);
      frames = 0;
      if (rates.length >= ${SECONDS - 1}) { clearInterval(timer); resolve(rates); }
    }, 1000);
  })`);
}

async function heapMb({ page }: Tab): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { metrics } = await session.send("Performance.enable").then(() => session.send("Performance.getMetrics"));
  return (metrics.find(({ name }) => name === "JSHeapUsedSize")?.value ?? 0) / 1024 / 1024;
}

/** Milliseconds from each key to the action that it leads to. */
async function typeInPlayground({ page }: Tab): Promise<number[]> {
  await page.evaluate('void (location.hash = "#/playground?mapping=bench")');
  const template = page.getByRole("textbox", { name: "textTemplate" });
  await template.press("End");
  const times: number[] = [];
  for (let key = 0; key < KEYS; key++) {
    const shown = page.evaluate(`new Promise((resolve) => {
      const result = document.querySelector(".result");
      const text = result.textContent.replace(/\\d+ ms/, "");
      addEventListener("keydown", () => {
        const startedAt = performance.now();
        const observer = new MutationObserver(() => {
          if (result.textContent.replace(/\\d+ ms/, "") === text) return;
          observer.disconnect();
          resolve(Math.round(performance.now() - startedAt));
        });
        observer.observe(result, { subtree: true, childList: true, characterData: true });
      }, { once: true, capture: true });
    })`);
    await template.press("x");
    times.push(Number(await shown));
  }
  return times;
}

/** In milliseconds, of each round: the session is opened, and grows with each request. Zero: no task took longer than 50 ms. */
async function longestTasks({ page }: Tab): Promise<number[]> {
  const longest: number[] = [];
  for (let round = 0; round < SESSION_ROUNDS; round++) {
    await page.evaluate('void (location.hash = "#/")');
    await page.locator(".scroller").waitFor();
    await page.evaluate(`globalThis.longest = 0;
      new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) longest = Math.max(longest, duration);
      }).observe({ entryTypes: ["longtask"] });`);
    await page.evaluate('void (location.hash = "#/sessions/main")');
    await sendFor(server, ROUND_SECONDS);
    longest.push(Number(await page.evaluate("Math.round(longest)")));
  }
  return longest;
}
