/** An operator cancels turns, pauses mappings and releases what is held, by the API and by commands. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { runWebhooks } from "./support/cli.ts";
import { GATEWAY_TOKEN, type Service, startService } from "./support/service.ts";

let service: Service;
beforeEach(async () => {
  const mappings = ["one", "two"].map((id) => ({
    id,
    match: { path: id },
    sessionKey: "{{session}}",
    messageTemplate: "{{text}}",
    deliver: false,
  }));
  service = await startService({
    config: {
      hooks: {
        presets: [
          { use: "argocd", with: { secret: "a-secret-of-good-length-1" } },
          { use: "argocd", with: { secret: "a-secret-of-good-length-2", path: "second" } },
        ],
        mappings: [
          ...mappings,
          {
            id: "each",
            match: { path: "each" },
            forEach: "items",
            messageTemplate: "{{item}}",
            sessionKey: "each:{{item}}",
            model: "{{item}}/x",
            deliver: false,
          },
          {
            id: "bell",
            match: { path: "bell" },
            action: "wake",
            textTemplate: "{{text}}",
          },
        ],
      },
      agents: {
        providers: {
          slow: { kind: "command", sandbox: false, command: ["sleep", "600"] },
          cat: { kind: "command", sandbox: false, command: ["cat"] },
        },
        defaults: { model: "cat/x" },
      },
    },
  });
});
afterEach(() => service.close());

test("an event of several turns counts those that were canceled, and is not done", async () => {
  const { body } = await service.post("each", { items: ["cat", "slow", "slow"] });
  const { eventId, runIds } = body;
  for (const id of runIds.slice(1)) expect((await post(`/api/runs/${id}/cancel`)).status).toBe(200);
  expect(await service.settled(eventId)).toMatchObject({ status: "canceled", outcome: "3 turns: 2 canceled" });
  expect((await service.api("/api/events?status=canceled")).events).toMatchObject([{ id: eventId }]);
});

const ARGOCD = ["argocd-failed", "argocd-other", "second-failed", "second-other"];

test("a canceled turn ends at once without a reply, and the main session says so", async () => {
  const { body: slow } = await service.post("agent", {
    message: "wait",
    model: "slow/x",
    sessionKey: "s",
  });
  await expect.poll(async () => (await service.api(`/api/runs/${slow.runId}`)).state).toBe("running");
  const { body: next } = await service.post("agent", {
    message: "next",
    sessionKey: "s",
  });
  expect((await service.api(`/api/events/${next.eventId}`)).outcome).toBe("waits for another turn of its session");

  expect(await ask("runs", "cancel", slow.runId, "--json")).toEqual({
    canceled: slow.runId,
  });
  expect(await service.settled(next.eventId)).toMatchObject({ status: "done" });
  const event = await service.settled(slow.eventId);
  expect(event).toMatchObject({
    status: "canceled",
    outcome: "turn canceled",
    deliveries: [],
  });
  expect(event.runs).toMatchObject([{ state: "canceled", error: "canceled" }]);
  const { entries } = await service.api("/api/sessions/main");
  expect(entries.map(({ text }: { text: string }) => text).join()).toContain("An operator canceled this turn.");

  const again = await post(`/api/runs/${slow.runId}/cancel`);
  expect(again).toMatchObject({ status: 409, body: { code: "run_ended" } });
  expect(await post(`/api/runs/${crypto.randomUUID()}/cancel`)).toMatchObject({
    status: 404,
  });
});

test("a paused mapping accepts requests, its turns wait and say so, and resuming keeps their order", async () => {
  expect(await ask("hooks", "pause", "one", "--json")).toEqual({ id: "one", mappings: ["one"] });
  const sent = [];
  for (const text of ["a", "b"]) sent.push((await service.post("one", { text, session: "s" })).body.eventId);
  const { body: other } = await service.post("two", {
    text: "c",
    session: "s",
  });
  const { body: free } = await service.post("two", { text: "d", session: "t" });
  await service.settled(free.eventId);
  const outcome = async (id: string): Promise<string> => (await service.api(`/api/events/${id}`)).outcome;
  expect(await outcome(sent[0])).toBe("waits: the mapping one is paused");
  expect(await outcome(other.eventId)).toBe("waits behind a turn of the paused mapping one");
  const { runs: waiting } = await service.api("/api/runs?state=waiting");
  const print = async (...args: string[]): Promise<string> =>
    (await runWebhooks(service.folder, "runs", ...args, "--url", service.url)).stdout;
  const list = await print("list");
  for (const { id, eventId } of waiting) {
    const why = await outcome(eventId);
    // The list shows the beginning of an id.
    expect(list).toMatch(new RegExp(`^${id.slice(0, 13)} .* ${why}$`, "m"));
    expect(await print("show", id)).toMatch(new RegExp(`^state +\\w+ \\(${why}\\)$`, "m"));
  }
  const { mappings } = await service.api("/api/mappings");
  expect(mappings.map(({ pausedSince }: { pausedSince?: string }) => pausedSince !== undefined)).toEqual([
    true,
    ...Array.from({ length: 7 }, () => false),
  ]);

  expect(await ask("hooks", "resume", "one", "--json")).toEqual({ id: "one", mappings: ["one"] });
  await service.settled(other.eventId);
  const runs = (await service.api("/api/runs")).runs.filter(
    ({ sessionKey }: { sessionKey: string }) => sessionKey === "s",
  );
  expect(runs.map(({ eventId }: { eventId: string }) => eventId)).toEqual([other.eventId, sent[1], sent[0]]);
  const starts = runs.map(({ startedAt }: { startedAt: string }) => startedAt);
  expect(starts).toEqual(starts.toSorted().toReversed());
  expect(await post("/api/mappings/nothing/pause")).toMatchObject({
    status: 404,
  });
});

test("the name of a preset pauses all its mappings, with --path those of one use", async () => {
  const { stdout } = await runWebhooks(service.folder, "hooks", "pause", "argocd", "--url", service.url);
  expect(stdout.split("\n")).toMatchObject([...ARGOCD.map((id) => expect.stringContaining(`${id} is paused`)), ""]);
  expect(await ask("hooks", "resume", "argocd", "--json")).toEqual({ id: "argocd", mappings: ARGOCD });
  for (const what of ["pause", "resume"]) {
    expect(await ask("hooks", what, "argocd", "--path", "second", "--json")).toEqual({
      id: "argocd",
      mappings: ARGOCD.slice(2),
    });
  }
  expect(
    await runWebhooks(service.folder, "hooks", "pause", "argocd", "--path", "third", "--url", service.url),
  ).toEqual({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining('"argocd" has no mapping with the path "third"'),
  });
  const { code, stderr } = await runWebhooks(service.folder, "hooks", "pause", "argo", "--url", service.url);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('did you mean "argocd"') });
});

async function ask(...args: string[]): Promise<unknown> {
  const { stdout } = await runWebhooks(service.folder, ...args, "--url", service.url);
  return JSON.parse(stdout);
}

async function post(path: string): Promise<{ status: number; body: unknown }> {
  const response = await fetch(service.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${GATEWAY_TOKEN}` },
  });
  return { status: response.status, body: await response.json() };
}
