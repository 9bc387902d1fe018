/** The inbox, as the API and the terminal show it. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { runWebhooks } from "./support/cli.ts";
import { waitFor } from "./support/client.ts";
import { type ModelServer, startModels } from "./support/models.ts";
import { HOOK_TOKEN, type Service, startService } from "./support/service.ts";
import { startToolServer, type ToolServer } from "./support/tool-server.ts";

type Json = ReturnType<typeof JSON.parse>;

let models: ModelServer;
let tickets: ToolServer;
let service: Service;

beforeAll(async () => {
  models = await startModels();
  tickets = await startToolServer();
  models.answer((messages) =>
    messages.some(({ role }) => role === "assistant")
      ? { text: "Done." }
      : { text: "It is full.", calls: [{ name: "tickets__create", arguments: { title: "OPS-7" } }] },
  );
  const agent = {
    messageTemplate: "{{text}}",
    subject: "{{text}}",
    deliver: false,
    wakeMode: "next-heartbeat",
  } as const;
  service = await startService({
    config: {
      channels: { http: { targets: { gone: { url: `${tickets.url}gone` } } } },
      alerts: [{ on: ["no-event-for"], hook: "quiet", after: "1s", channel: "http", to: "gone" }],
      agents: {
        providers: { house: { kind: "openai-compatible", baseUrl: models.baseUrl } },
        defaults: { model: "house/large", heartbeat: { every: "24h" }, maxAttempts: 1 },
        tools: {
          tickets: {
            kind: "http",
            baseUrl: tickets.url,
            private: true,
            calls: { create: { description: "Opens a ticket.", post: "/ok/create", input: { title: "string" } } },
          },
        },
      },
      hooks: {
        mappings: [
          { id: "ask", match: { path: "ask" }, ...agent, grants: { "tickets.create": "ask" } },
          {
            id: "plain",
            match: { path: "plain" },
            ...agent,
            agent: "none",
            deliver: true,
            channel: "http",
            to: "gone",
          },
          { id: "broken", match: { path: "broken" }, ...agent, transform: { module: "broken.ts" } },
          {
            id: "members",
            match: { path: "members" },
            ...agent,
            agent: "none",
            from: { value: "{{user}}", is: ["ann"] },
          },
        ],
      },
    },
    files: { "transforms/broken.ts": "export default ({ payload }) => payload.missing.status" },
  });
});
afterAll(async () => {
  await service.close();
  await Promise.all([tickets.close(), models.close()]);
});

const inbox = async (): Promise<Json[]> => (await service.api("/api/inbox")).items;

async function findItem(id: RegExp): Promise<Json> {
  return waitFor(async () => (await inbox()).find((item) => id.test(item.id)), String(id));
}

test("says that nothing waits", async () => {
  const items = await inbox();
  expect(items.filter(({ part }) => part !== "down")).toEqual([]);
});

test("has an item for each cause, in their order, which goes when it is over", async () => {
  await service.post("ask", { text: "Disk full on db-7" });
  for (const text of ["one", "two"]) {
    await service.post("broken", { text });
    await fetch(`${service.url}/hooks/metrics`, {
      method: "POST",
      headers: { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({ text }),
    });
  }
  await service.post("members", { text: "Let me in", user: "eve" });
  await service.operate("POST", "/api/mappings/plain/pause");
  await service.post("plain", { text: "Waits" });
  const asked = await findItem(/^[\da-f-]{36}$/);
  await findItem(/^silent:/);
  await findItem(/^failed:/);
  await findItem(/^unknown:/);
  const items = await inbox();
  expect(items.map(({ part, id, title, subject, count }) => [part, id, title, subject, count])).toEqual([
    ["decide", asked.id, "tickets.create OPS-7", "Disk full on db-7", undefined],
    ["down", "silent:quiet", "No event of quiet", "alerts[0]", undefined],
    [
      "failed",
      expect.stringMatching(/^failed:/),
      "2 requests by the transform of broken",
      expect.stringContaining("status"),
      2,
    ],
    ["waiting", "paused:plain", "plain is paused", "1 turn waits · Waits", 1],
    ["unknown", "unknown:metrics", "metrics has no mapping", "2 requests from 127.0.0.1", 2],
    ["left", "left:members", "members", expect.stringContaining("is not in from: ann"), 1],
  ]);
  expect(await service.api(`/api/inbox/${asked.id}`)).toEqual(asked);
  expect(await service.api("/api/inbox/left:members")).toMatchObject({ part: "left" });

  const { stdout } = await runWebhooks(service.folder, "inbox", "--url", service.url);
  expect(stdout).toMatch(/^Decide\n {2}tickets\.create OPS-7 · Disk f/);
  // By its code, a question fits on a line, and is shown with the commands that decide it.
  const [, code = ""] = / {2}([a-z\d]{4})\n/.exec(stdout) ?? [];
  const { stdout: card } = await runWebhooks(service.folder, "inbox", code, "--url", service.url);
  expect(card).toMatch(new RegExp(`approvals approve ${code}\n.*approvals deny ${code} `));
  for (const text of [stdout, card])
    expect(Math.max(...text.split("\n").map(({ length }) => length))).toBeLessThanOrEqual(80);

  // Each action is a call of the API.
  const act = ({ actions }: Json, id: string): Promise<Json> => {
    const { method, path, body } = actions.find((action: Json) => action.id === id);
    return service.operate(method, path, body);
  };
  await act(asked, "approve");
  await act(
    items.find(({ id }) => id === "paused:plain"),
    "resume",
  );
  const failed = await findItem(/^failed:(?!.*broken)/);
  await waitFor(async () => (await inbox()).some(({ title }) => title === "1 message of plain"), "the failed message");
  const message = (await inbox()).find(({ title }) => title === "1 message of plain");
  expect(message.id).not.toBe(failed.id);
  await act(message, "drop");
  await waitFor(async () => {
    const parts = (await inbox()).map(({ part, title }) => `${part} ${title}`);
    return !parts.some((part) => /^decide|^waiting|of plain$/.test(part));
  }, "their end");
  expect(await service.api(`/api/inbox/${asked.id}`)).toMatchObject({ ended: { word: "approved", by: "operator" } });
  await expect(service.api("/api/inbox/paused:plain")).rejects.toThrow("404");

  // Failures that were treated keep their item.
  expect(await service.api(`/api/inbox/${message.id}`)).toMatchObject({
    title: "1 message of plain",
    actions: [],
    ended: { word: "canceled", by: "operator" },
  });
  const requests = await findItem(/^failed:/);
  expect(requests).not.toHaveProperty("ended");
  service.write("transforms/broken.ts", "export default () => ({ message: 'fine' })");
  await service.hookline.reload();
  await act(requests, "replay");
  expect(await service.api(`/api/inbox/${requests.id}`)).toMatchObject({ ended: { word: "replayed" } });
});
