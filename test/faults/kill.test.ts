/** `kill -9` during a turn, after a wake, and while a window is open. */
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import type { UserConfig } from "../../src/core/config/schema/generated.ts";
import { createClient, waitFor } from "../support/client.ts";
import { withClock } from "../support/clock.ts";
import { startProcess } from "../support/process.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, openService, withTokens } from "../support/service.ts";

const tokens = { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN };
const quiet = { deliver: false, wakeMode: "next-heartbeat" } as const;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-kill-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("kill -9 with a turn under way, a wake, an open window and counting requests: all of it happens, once", async () => {
  mkdirSync(path.join(folder, "transforms"));
  const code = `export default ({ state }) => {
    const sum = (state.get("sum") ?? 0) + 1;
    state.set("sum", sum);
    return { kind: "wake", text: String(sum), mode: "next-heartbeat" };
  };`;
  writeFileSync(path.join(folder, "transforms/count.ts"), code);
  const coalesce = { key: "{{pr}}", windowMs: 4000 };
  const count = { id: "count", match: { path: "count" }, state: true, transform: { module: "count.ts" } } as const;
  const asked: string[] = [];
  let isAnswering = false;
  const agents = await useModel((prompt) => {
    asked.push(prompt);
    return isAnswering;
  });
  const file = writeConfig({
    // The turn has as many attempts as there are kills.
    agents: { ...agents, defaults: { ...agents.defaults, maxAttempts: 1 } },
    hooks: {
      mappings: [
        { match: { path: "push" }, messageTemplate: "{{commit}}", coalesce, ...quiet },
        { ...count, action: "wake" },
      ],
    },
  });
  const countTurns = (): number => asked.filter((prompt) => prompt.includes("carry me out: s")).length;
  const left = new Set(Array.from({ length: 80 }, (_, index) => `request-${index}`));
  const sendAll = async (url: string, onAnswer: () => void): Promise<void> => {
    const client = createClient(url, tokens);
    const send = async (key: string): Promise<void> => {
      const { status } = await client.post("count", {}, { "idempotency-key": key });
      expect(status).toBe(200);
      left.delete(key);
      onAnswer();
    };
    await Promise.allSettled([...left].map(send));
  };

  const first = await startProcess(file);
  const client = createClient(first.url, tokens);
  const eventId = await postTurn(first.url, "s");
  await waitFor(() => countTurns() === 1, "the turn to be under way");
  expect((await client.post("wake", { text: "remember me" })).status).toBe(200);
  const commits = Array.from({ length: 10 }, (_, index) => `commit-${index}.`);
  const answers = await Promise.all(commits.map((commit) => client.post("push", { pr: 1, commit })));
  expect(answers.map(({ status }) => status)).toEqual(commits.map(() => 202));
  let ended: Promise<unknown> | undefined;
  await sendAll(first.url, () => {
    if (left.size <= 60) ended ??= first.end("SIGKILL");
  });
  await (ended ?? first.end("SIGKILL"));
  expect(left.size).toBeGreaterThan(0);

  isAnswering = true;
  const last = await openService(folder);
  const entriesOf = async (key: string): Promise<{ role: string; text: string; eventId?: string }[]> =>
    (await last.api(`/api/sessions/${encodeURIComponent(key)}?limit=1000`)).entries;
  await sendAll(last.url, () => undefined);
  expect(left.size).toBe(0);
  expect((await last.try("count", {})).actions).toMatchObject([{ text: "81" }]);

  expect(await last.settled(eventId)).toMatchObject({ status: "done", runs: [{ reply: "at last", attempts: 2 }] });
  expect(countTurns()).toBe(2);
  expect(await entriesOf("s")).toMatchObject([{ role: "user" }, { role: "assistant" }]);
  expect((await entriesOf("main")).filter((entry) => entry.eventId === eventId)).toHaveLength(1);

  await waitFor(async () => (await entriesOf("main")).some(({ role }) => role === "assistant"), "the heartbeat");

  for (const { body } of answers) expect(await last.settled(body.eventId)).toMatchObject({ status: "done" });
  const { sessionKey } = answers[0]!.body;
  const { runs } = await last.api("/api/runs");
  expect(runs.filter((run: { sessionKey: string }) => run.sessionKey === sessionKey)).toHaveLength(1);
  const [pushed] = await entriesOf(sessionKey);
  for (const commit of commits) expect(pushed?.text).toContain(commit);
  await last.close();
});

test("a turn that ends the process interrupts the others three times, and then only itself", async () => {
  const names = ["fatal", "a", "b", "c", "d"];
  const lives: string[][] = [];
  let service: Awaited<ReturnType<typeof startProcess>> | undefined;
  const agents = await useModel((prompt) => {
    const name = names.find((each) => prompt.includes(`carry me out: ${each}`)) ?? "";
    const life = lives.at(-1) ?? [];
    life.push(name);
    const isComplete = lives.length > 3 ? name === "fatal" : life.length === names.length;
    if (isComplete && service) service.child.kill("SIGKILL");
    return lives.length > 3 && (name !== "fatal" || service === undefined);
  });
  const file = writeConfig({ agents: { ...agents, defaults: { ...agents.defaults, maxConcurrent: 8 } } });
  let events: string[] = [];
  for (let life = 1; life <= 4; life += 1) {
    lives.push([]);
    service = await startProcess(file);
    const { url, child } = service;
    const ended = once(child, "exit");
    if (life === 1) events = await Promise.all(names.map((name) => postTurn(url, name)));
    expect(await ended).toEqual([null, "SIGKILL"]);
  }
  service = undefined;
  lives.push([]);
  const last = await openService(folder);
  for (const id of events) expect(await last.settled(id)).toMatchObject({ status: "done" });
  expect(lives.slice(0, 3).map((life) => life.toSorted())).toEqual(Array(3).fill(names.toSorted()));
  // In the fourth life, nothing else was in progress when the process ended.
  expect([...lives[3]!, ...lives[4]!].toSorted()).toEqual([...names, "fatal"].toSorted());
  expect(lives[4]!.at(-1)).toBe("fatal");
  await last.close();
});

test("kill -9 around a time of a schedule: it is one event, and none is lost", async () => {
  const schedule = { cron: "* * * * *" };
  const file = writeConfig({ hooks: { mappings: [{ id: "each", schedule, messageTemplate: "{{at}}", ...quiet }] } });
  const listTimes = async (url: string): Promise<string[]> => {
    const { events } = await createClient(url, tokens).api("/api/events?hook=schedule/each");
    return events.map(({ subject }: { subject: string }) => subject);
  };
  const waiting = await openService(folder);
  const isNoted = (): boolean => {
    using database = new DatabaseSync(path.join(folder, ".webhooks/journal.db"), { readOnly: true });
    return database.prepare("SELECT 1 FROM notes WHERE kind = 'schedule'").get() !== undefined;
  };
  await waitFor(isNoted, "the rule to be noted");
  await waiting.hookline.close();
  // A minute or more has passed in the next lives, of which the first is killed; `schedules.test.ts` kills at each step.
  const clock = withClock(2 * 60_000);
  const killed = await startProcess(file, clock);
  await sleep(20);
  await killed.end("SIGKILL");
  const service = await startProcess(file, clock);
  let times: string[] = [];
  await waitFor(async () => (times = await listTimes(service.url)).length > 0, "the time of the schedule");
  await service.end("SIGKILL");
  expect(times.toSorted()).toEqual([...new Set(times)].toSorted());
});

async function postTurn(url: string, sessionKey: string): Promise<string> {
  const message = `carry me out: ${sessionKey}`;
  const { body } = await createClient(url, tokens).post("agent", { message, sessionKey, ...quiet });
  return body.eventId;
}

/** The configuration of a model that answers only selected turns. */
async function useModel(answers: (prompt: string) => boolean) {
  const message = { role: "assistant", content: "at last" };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  const completion = { id: "1", object: "chat.completion", created: 0, model: "small", choices };
  const model = createServer(async (request, response) => {
    if (!answers(await text(request))) return;
    response.setHeader("content-type", "application/json").end(JSON.stringify(completion));
  });
  await new Promise<void>((resolve) => model.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    model.closeAllConnections();
    model.close();
  });
  const baseUrl = `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1`;
  return {
    providers: { local: { kind: "openai-compatible" as const, baseUrl } },
    defaults: { model: "local/small" },
  };
}

function writeConfig(config: UserConfig): string {
  const file = path.join(folder, "webhooks.json5");
  writeFileSync(file, JSON.stringify(withTokens(config)));
  return file;
}
