import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startFaultProxy } from "../src/contracts/fault-proxy.ts";
import { type CliResult, runWebhooks } from "./support/cli.ts";
import { HOOK_TOKEN, type Service, startService, withTokens } from "./support/service.ts";

const mappings = [
  { id: "m", match: { path: "m" }, messageTemplate: "{{text}}", deliver: false },
  { id: "t", match: { path: "t" }, transform: { module: "t.ts" }, deliver: false },
];
const files = { "transforms/t.ts": "export default () => { throw new Error('not yet'); };" };

let service: Service;
beforeAll(async () => {
  service = await startService({
    config: { hooks: { mappings }, channels: { imessage: { command: ["no-imsg"] } } },
    files,
  });
});
afterAll(() => service.close());
beforeAll(() => service.write("elsewhere.json5", JSON.stringify(withTokens({}))));

test("an empty list says so", async () => {
  expect(await ask("events", "list")).toMatchObject({ code: 0, stdout: "No events match.\n" });
  expect(await ask("events", "list", "--json")).toMatchObject({ code: 0, stdout: "[]\n" });
  for (const args of [["list"], ["retry", "--all"], ["drop", "--all"]]) {
    const { code, stdout } = await ask("dead-letters", ...args);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "There are no dead letters.\n" });
  }
});

describe("webhooks events", () => {
  test("list shows the newest events, the latest last, as a table or as JSON", async () => {
    const ids = await post("m", 3);
    await post("t", 1);
    const { code, stdout } = await ask("events", "list", "--hook", "m", "--limit", "2");
    expect(code).toBe(0);
    const [head, ...rows] = stdout.trim().split("\n");
    expect(head).toMatch(/^id +received +status +hook +subject +outcome$/);
    expect(rows[0]).toMatch(/ m +m \d +turn [\d.]+ m?s$/);
    const shown = rows.map((row) => row.split(/ +/)[0] ?? "");
    expect(shown.map((short) => ids.findIndex((id) => id.startsWith(short)))).toEqual([1, 2]);
    expect((await ask("events", "show", shown[1] ?? "")).stdout).toContain(ids[2]);
    expect(await ask("events", "show", ids[2]!.slice(0, 2))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Several events begin with"),
    });

    const failed = await ask("events", "list", "--status", "failed", "--since", "1h", "--json");
    expect(JSON.parse(failed.stdout)).toMatchObject([{ hook: "t", status: "failed" }]);
    expect(JSON.parse((await ask("events", "list", "--until", "1h", "--json")).stdout)).toEqual([]);
  });

  test("show prints the request, its actions and their results", async () => {
    const [id = ""] = await post("m", 1);
    await service.settled(id);
    const { stdout } = await ask("events", "show", id);
    expect(stdout).toContain(`${id}  m  done`);
    expect(stdout).toContain("POST /hooks/m from 127.0.0.1");
    expect(stdout).toContain('"text": "m 0"');
    expect(stdout).toMatch(/run \S+ {2}done, 1 attempt/);
    expect(JSON.parse((await ask("events", "show", id, "--json")).stdout)).toMatchObject({ id });
    expect((await ask("events", "show", "--last")).stdout).toBe(stdout);
    expect((await ask("events", "show", "last")).stdout).toBe(stdout);
    expect(await ask("events", "show")).toMatchObject({ code: 2, stderr: expect.stringContaining("--last") });
    expect(await ask("events", "show", "nope")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("No event has the id nope."),
    });
  });

  test("show begins with what failed, and ends with the payload", async () => {
    const { headers } = await service.post("t", {
      text: "long",
      list: Array.from({ length: 60 }, (_, index) => index),
    });
    const { stdout } = await ask("events", "show", String(headers.get("x-request-id")));
    expect(stdout).toMatch(
      /^\S+ {2}t {2}failed\n500: .*\n\nerror\n {2}transform_failed: .*\n {2}Error: not yet\n +at .*t\.ts/,
    );
    expect(stdout).toMatch(/\nrequest\n[^]*… \d+ more lines: --payload shows all\n$/);
    const whole = await ask("events", "show", "--last", "--payload");
    expect(whole.stdout).toMatch(/ {6}59\n {4}\]\n {2}\}\n$/);
  });

  test("replay counts the events that match a filter, then runs them again, the oldest first", async () => {
    await post("t", 2);
    const before = (await service.api("/api/events")).events;
    const filter = ["--hook", "t", "--status", "failed", "--since", before[1].receivedAt];
    expect((await ask("events", "replay", ...filter, "--dry-run")).stdout).toBe("2 would be replayed.\n");
    expect((await service.api("/api/events")).events).toEqual(before);

    expect(await ask("events", "replay", ...filter)).toMatchObject({ code: 1 });
    service.write("transforms/t.ts", "export default ({ payload }) => ({ message: payload.text });");
    await service.hookline.reload();
    const { code, stdout } = await ask("events", "replay", ...filter, "--json");
    expect(code).toBe(0);
    const { count, replays } = JSON.parse(stdout);
    expect(count).toBe(4);
    const messages = [];
    for (const { eventId } of replays) {
      messages.push((await service.settled(eventId)).runs[0].action.message);
    }
    expect(messages).toEqual(["t 0", "t 1", "t 0", "t 1"]);
  });

  test("replay --last runs the newest event again", async () => {
    const [, newest = ""] = await post("m", 2);
    const { code, stdout } = await ask("events", "replay", "--last", "--json");
    const { count, replays } = JSON.parse(stdout);
    expect({ code, count, replays }).toEqual({
      code: 0,
      count: 1,
      replays: [{ id: newest, status: 202, eventId: expect.any(String) }],
    });
    expect((await service.settled(replays[0].eventId)).runs[0].action.message).toBe("m 1");
    expect(await ask("events", "replay", newest, "--last")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Name events, or say --last, not both."),
    });
  });

  test("replay takes no filter beside --last or an id, so no event of another hook runs", async () => {
    const [id = ""] = await post("m", 1);
    for (const named of ["--last", id]) {
      expect(await ask("events", "replay", named, "--hook", "t")).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("not both"),
      });
    }
    expect((await service.api("/api/events?limit=1")).events).toMatchObject([{ id }]);
  });

  test("replay requires ids or a filter", async () => {
    expect(await ask("events", "replay")).toMatchObject({ code: 2, stderr: expect.stringMatching(/--hook/) });
  });

  test("export writes everything about each event of a range, one line each", async () => {
    const ids = await post("m", 120);
    const { receivedAt } = await service.api(`/api/events/${ids[0]}`);
    const all = await ask("events", "export", "--since", receivedAt);
    const events = all.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(events.map(({ id }) => id)).toEqual(ids.toReversed());
    expect(events[0]).toMatchObject({ request: { payload: { text: "m 119" } }, runs: [{}] });
    const since = events[9].receivedAt;
    const some = await ask("events", "export", "--since", since, "--hook", "m");
    expect(some.stdout.trim().split("\n").length).toBeGreaterThanOrEqual(10);
    expect(some.stdout.trim().split("\n").length).toBeLessThan(120);
  });
});

test("webhooks status shows queue and sandbox, and exits 1 after a refused reload", async () => {
  const { code, stdout } = await ask("status");
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(/^service +Hookline \S+, since /) });
  expect(stdout).toMatch(/\nconfig +\S+webhooks\.json5, 2 mappings, generation \d/);
  const text = readFileSync(path.join(service.folder, "webhooks.json5"), "utf8");
  service.write("webhooks.json5", text.replace('"hooks"', '"hoks"'));
  await service.hookline.reload().catch(() => undefined);
  const broken = await ask("status", "--config", "elsewhere.json5");
  service.write("webhooks.json5", text);
  await service.hookline.reload();
  expect(broken).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/\nnot reloaded: .*webhooks\.json5:\d+:\d+ hoks: .*"hooks"/),
  });
  expect(JSON.parse((await ask("status", "--json")).stdout)).toMatchObject({ lastReloadError: null });
});

test("webhooks runs and sessions show what the agent replied", async () => {
  const { body } = await service.post("m", { text: "what is up" });
  await service.settled(body.eventId);
  const runs = await ask("runs", "list");
  expect(runs.stdout).toMatch(/^run +created .*\n[^]*Z +\S+ +done +m +hook:\S+ +\[echo: .*\] what is up\n/);
  expect(runs.stdout).toContain(body.runId.slice(0, 13));
  // The field concerns only how the summary is written.
  expect((await ask("runs", "list", "--json")).stdout).not.toContain("trustedName");
  expect((await ask("runs", "list", "--state", "failed")).stdout).toBe("There are no runs.\n");
  expect(await ask("runs", "list", "--state", "nonsense")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Expected held or waiting or running"),
  });
  const run = await ask("runs", "show", body.runId.slice(0, 18));
  expect(run.stdout).toMatch(/^run {6}\S+\nstate {4}done\nhook {5}m\n[^]*\nreply\n {2}\[echo: .*\] what is up\n/);
  expect(await ask("runs", "show", body.eventId)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("no such run"),
  });
  expect((await ask("sessions", "list")).stdout).toContain(body.sessionKey);
  const session = await ask("sessions", "show", body.sessionKey);
  expect(session.stdout).toMatch(/^user {2}\S+Z\n[^]*what is up[^]*\nassistant {2}\S+Z\n {2}\[echo: .*\] what is up\n/);
  expect((await ask("sessions", "show")).stdout).toMatch(/^system {2}\S+Z\n {2}Hook m: /);
  expect(JSON.parse((await ask("sessions", "show", body.sessionKey, "--json")).stdout).entries).toHaveLength(2);
  expect(await ask("sessions", "show", "hook:none")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("no such session"),
  });
});

test("webhooks dead-letters lists, retries and drops", async () => {
  const ids = [];
  for (const to of ["+15551234567", "+15551234568"]) {
    const { body } = await service.post("agent", { message: "x", channel: "imessage", to });
    await service.settled(body.eventId);
    ids.push(body.eventId);
  }
  const listed = await ask("dead-letters", "list");
  expect(listed.stdout).toMatch(
    /^\S+ {2}delivery {2}agent {2}1 attempt\n {2}given up .*\n {2}no-imsg could not be started/,
  );
  expect(listed.stdout).toContain(`event ${ids[0]}`);
  const letters = JSON.parse((await ask("dead-letters", "list", "--json")).stdout);
  expect(letters.map(({ eventId }: { eventId: string }) => eventId)).toEqual(ids.toReversed());

  expect(await ask("dead-letters", "drop", letters[0].id)).toMatchObject({ code: 0 });
  expect(await ask("dead-letters", "drop", letters[0].id)).toMatchObject({ code: 1 });
  const shown = await ask("events", "show", ids[0]);
  expect(shown.stdout).toContain(`try again: webhooks dead-letters retry ${ids[0]}\n`);
  expect((await ask("dead-letters", "retry", ids[0])).stdout).toBe(`${letters[1].id}  will be retried\n`);
  await service.settled(ids[0]);
  expect((await ask("dead-letters", "retry", "--all")).stdout).toBe(`${letters[1].id}  will be retried\n`);
  await expect.poll(async () => (await service.api("/api/dead-letters")).deadLetters).toHaveLength(1);
});

test("without a service, or without its token, the error names the next step", async () => {
  const gone = await runWebhooks(service.folder, "events", "list", "--url", "http://127.0.0.1:9");
  expect(gone).toMatchObject({ code: 3, stderr: expect.stringContaining("webhooks serve") });
  const hooks = { enabled: true, token: HOOK_TOKEN };
  writeFileSync(path.join(service.folder, "no-token.json"), JSON.stringify({ hooks }));
  const off = await ask("events", "list", "--config", "no-token.json");
  expect(off).toMatchObject({ code: 1, stderr: expect.stringContaining("gateway.auth.token") });
});

test.each([
  ["a service with another JSON", 404, '{ "message": "no route" }'],
  ["a proxy's error page", 502, "<h1>Bad gateway</h1>"],
  ["a web page", 200, "<h1>Welcome</h1>"],
])("%s is not taken for the service", async (_what, status, body) => {
  const proxy = await startFaultProxy(service.url);
  proxy.inject({ kind: "answer", status, body });
  const { code, stderr } = await runWebhooks(service.folder, "dead-letters", "list", "--url", proxy.url);
  await proxy.close();
  expect(code).toBe(1);
  expect(stderr.trim()).toBe(
    `The server at ${new URL(proxy.url).origin} is not a Hookline service (status ${status}): name the service's address with --url.`,
  );
});

function ask(...args: string[]): Promise<CliResult> {
  return runWebhooks(service.folder, ...args, "--url", service.url);
}

/** Sends requests one after another. Returns the ids of their events. */
async function post(hook: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const { body } = await service.post(hook, { text: `${hook} ${index}` });
    ids.push(body.eventId);
  }
  return ids;
}
