/** `kill -9` during a turn, after a wake, and while a window is open. */
import { once } from "node:events";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import type { UserConfig } from "../../src/core/config/schema/generated.ts";
import { copyState } from "../contracts/journal/harness.ts";
import { open as openSqlite } from "../contracts/journal/openers/sqlite.ts";
import { sampleEvent, sampleRun } from "../contracts/journal/samples.ts";
import { createClient, waitFor } from "../support/client.ts";
import { type ServiceProcess, startProcess } from "../support/process.ts";
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
  const left = new Set(Array.from({ length: 30 }, (_, index) => `request-${index}`));
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
    if (left.size <= 24) ended ??= first.end("SIGKILL");
  });
  await (ended ?? first.end("SIGKILL"));
  expect(left.size).toBeGreaterThan(0);

  isAnswering = true;
  const last = await openService(folder);
  const entriesOf = async (key: string): Promise<{ role: string; text: string; eventId?: string }[]> =>
    (await last.api(`/api/sessions/${encodeURIComponent(key)}?limit=1000`)).entries;
  // A busy service may refuse one, which its sender repeats.
  await waitFor(async () => (await sendAll(last.url, () => undefined), left.size === 0), "all answers");
  expect((await last.try("count", {})).actions).toMatchObject([{ text: "31" }]);

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

test("a turn that ends the process three times beside others ends it a fourth time alone, and interrupts none of them", async () => {
  const names = ["fatal", "a", "b", "c", "d"];
  const event = sampleEvent({
    receivedAt: Date.now(),
    actions: names.map((name) => sampleRun(name, { message: `carry me out: ${name}`, ...quiet })),
  });
  const state = path.join(folder, ".webhooks");
  for (let life = 1; life <= 3; life += 1) {
    const journal = await openSqlite(state);
    if (life === 1) await journal.accept(event);
    expect(await journal.claimRuns(10, Date.now())).toHaveLength(names.length);
    const left = copyState(state);
    await journal.close();
    rmSync(state, { recursive: true });
    renameSync(left, state);
  }
  const started = Promise.withResolvers<ServiceProcess>();
  let isKilled = false;
  const asked: string[] = [];
  const agents = await useModel(async (prompt) => {
    const name = names.find((each) => prompt.includes(`carry me out: ${each}`)) ?? "";
    asked.push(name);
    if (name !== "fatal" || isKilled) return true;
    isKilled = (await started.promise).child.kill("SIGKILL");
    return false;
  });
  const file = writeConfig({ agents: { ...agents, defaults: { ...agents.defaults, maxConcurrent: 8 } } });
  const service = await startProcess(file);
  const ended = once(service.child, "exit");
  started.resolve(service);
  expect(await ended).toEqual([null, "SIGKILL"]);

  const last = await openService(folder);
  expect(await last.settled(event.id)).toMatchObject({ status: "done" });
  // When the process ended, nothing else was in progress.
  expect(asked.toSorted()).toEqual([...names, "fatal"].toSorted());
  expect(asked.at(-1)).toBe("fatal");
  await last.close();
});

async function postTurn(url: string, sessionKey: string): Promise<string> {
  const message = `carry me out: ${sessionKey}`;
  const { body } = await createClient(url, tokens).post("agent", { message, sessionKey, ...quiet });
  return body.eventId;
}

/** The configuration of a model that answers only selected turns. */
async function useModel(answers: (prompt: string) => boolean | Promise<boolean>) {
  const message = { role: "assistant", content: "at last" };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  const completion = { id: "1", object: "chat.completion", created: 0, model: "small", choices };
  const model = createServer(async (request, response) => {
    if (!(await answers(await text(request)))) return;
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
