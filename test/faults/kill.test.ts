/** `kill -9` during a turn, after a wake, and while a window is open. */
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
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

test("a turn that was interrupted by as many kills as it has attempts is executed", async () => {
  const lives = 2;
  let asked = 0;
  const agents = await useModel(() => (asked += 1) === lives);
  const file = writeConfig({ agents: { ...agents, defaults: { ...agents.defaults, maxAttempts: 1 } } });
  let eventId = "";
  for (let life = 1; life < lives; life += 1) {
    const service = await startProcess(file);
    if (life === 1) eventId = await postTurn(service.url, "s");
    await waitFor(() => asked === life, "the turn to be under way");
    await service.end("SIGKILL");
  }

  const last = await openService(folder);
  const event = await last.settled(eventId);
  expect(event).toMatchObject({ status: "done", runs: [{ reply: "at last", attempts: lives }] });
  expect(asked).toBe(lives);
  expect((await last.api("/api/sessions/s")).entries).toMatchObject([{ role: "user" }, { role: "assistant" }]);
  expect((await last.api("/api/sessions/main")).entries).toHaveLength(1);
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

test("kill -9 right after a wake's 200: the system event is kept, and its heartbeat runs", async () => {
  let isAnswering = false;
  const first = await startProcess(writeConfig({ agents: await useModel(() => isAnswering) }));
  expect((await createClient(first.url, tokens).post("wake", { text: "remember me" })).status).toBe(200);
  await first.end("SIGKILL");

  isAnswering = true;
  const second = await openService(folder);
  await waitFor(async () => {
    const { entries } = await second.api("/api/sessions/main");
    return entries.some(({ role }: { role: string }) => role === "assistant");
  }, "the heartbeat");
  await second.close();
});

test("kill -9 while a window is open: nothing is lost, and it is one turn", async () => {
  const file = writeConfig({
    hooks: {
      mappings: [
        {
          match: { path: "push" },
          messageTemplate: "{{commit}}",
          coalesce: { key: "{{pr}}", windowMs: 4000 },
          ...quiet,
        },
      ],
    },
  });
  const first = await startProcess(file);
  const client = createClient(first.url, tokens);
  const commits = Array.from({ length: 10 }, (_, index) => `commit-${index}.`);
  const answers = await Promise.all(commits.map((commit) => client.post("push", { pr: 1, commit })));
  expect(answers.map(({ status }) => status)).toEqual(commits.map(() => 202));
  await first.end("SIGKILL");

  const after = await openService(folder);
  for (const { body } of answers) {
    expect(await after.settled(body.eventId)).toMatchObject({ status: "done" });
  }
  expect((await after.api("/api/runs")).runs).toHaveLength(1);
  const session = encodeURIComponent(answers[0]!.body.sessionKey);
  const { entries } = await after.api(`/api/sessions/${session}`);
  for (const commit of commits) expect(entries[0].text).toContain(commit);
  await after.close();
});

test("kill -9 while requests count in their state: those sent again with their key count once, and none is lost", async () => {
  mkdirSync(path.join(folder, "transforms"));
  const code = `export default ({ state }) => {
    const sum = (state.get("sum") ?? 0) + 1;
    state.set("sum", sum);
    return { kind: "wake", text: String(sum), mode: "next-heartbeat" };
  };`;
  writeFileSync(path.join(folder, "transforms/count.ts"), code);
  const mapping = { id: "count", match: { path: "count" }, state: true, transform: { module: "count.ts" } } as const;
  const file = writeConfig({ hooks: { mappings: [{ ...mapping, action: "wake" }] } });
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
  let ended: Promise<unknown> | undefined;
  await sendAll(first.url, () => {
    if (left.size <= 60) ended ??= first.end("SIGKILL");
  });
  await (ended ?? first.end("SIGKILL"));
  expect(left.size).toBeGreaterThan(0);

  const after = await openService(folder);
  await sendAll(after.url, () => undefined);
  expect(left.size).toBe(0);
  expect((await after.try("count", {})).actions).toMatchObject([{ text: "81" }]);
  await after.close();
});

test("kill -9 around a time of a schedule: it is one event, and none is lost", async () => {
  const schedule = { cron: "* * * * *" };
  const file = writeConfig({ hooks: { mappings: [{ id: "each", schedule, messageTemplate: "{{at}}", ...quiet }] } });
  const listTimes = async (url: string): Promise<string[]> => {
    const { events } = await createClient(url, tokens).api("/api/events?hook=schedule/each");
    return events.map(({ subject }: { subject: string }) => subject);
  };
  let times: string[] = [];
  // The rule waits in its first life. In the others, a minute or more has passed: all but the last are killed.
  for (const [minutes, killAfterMs] of [[0, 500], [2, 0], [2, 40], [2]] as const) {
    const service = await startProcess(file, withClock(minutes * 60_000));
    if (killAfterMs === undefined && minutes > 0) {
      const earlier = times.length;
      await waitFor(async () => (times = await listTimes(service.url)).length > earlier, "the time of the schedule");
    } else await sleep(killAfterMs);
    await service.end("SIGKILL");
  }
  expect(times.toSorted()).toEqual([...new Set(times)].toSorted());
  expect(times.length).toBeGreaterThanOrEqual(1);
}, 120_000);

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
