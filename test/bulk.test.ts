/** Actions on everything that a filter chooses, through the API and the terminal. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { runWebhooks } from "./support/cli.ts";
import { type ModelServer, startModels } from "./support/models.ts";
import { type Service, startService } from "./support/service.ts";

type Json = ReturnType<typeof JSON.parse>;

const BROKEN = "export default ({ payload }) => payload.missing.status;";
const FIXED = "export default ({ payload }) => ({ message: payload.text });";

let models: ModelServer;
let service: Service;

beforeAll(async () => {
  models = await startModels();
  const usual = { subject: "{{text}}", deliver: false, wakeMode: "next-heartbeat" } as const;
  service = await startService({
    config: {
      agents: {
        providers: { house: { kind: "openai-compatible", baseUrl: models.baseUrl } },
        defaults: { model: "house/large", heartbeat: { every: "24h" }, maxAttempts: 1 },
      },
      hooks: {
        mappings: [
          { id: "ci", match: { path: "ci" }, ...usual, transform: { module: "ci.ts" } },
          { id: "asked", match: { path: "asked" }, ...usual, messageTemplate: "{{text}}" },
        ],
      },
    },
    files: { "transforms/ci.ts": BROKEN },
  });
});
afterAll(async () => {
  await service.close();
  await models.close();
});

const bulk = async (action: string, filter: object, token?: string): Promise<Json> =>
  (await service.operate("POST", "/api/bulk", { action, filter, token })).body;

/** Fixes the transform, or breaks it. */
async function write(code: string): Promise<void> {
  service.write("transforms/ci.ts", code);
  await service.hookline.reload();
}

async function send(hook: string, texts: readonly string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const text of texts) {
    const { body, headers } = await service.post(hook, { text });
    ids.push(body.eventId ?? headers.get("x-request-id"));
  }
  return ids;
}

/** Drops what other tests have left. */
beforeEach(async () => {
  models.answer(() => ({ text: "Fine." }));
  await write(BROKEN);
  const { token } = await bulk("drop", {});
  await bulk("drop", {}, token);
});

test("failed requests are replayed from their item after a fix, each once, and a double press is one", async () => {
  const ids = await send("ci", ["one", "two", "three"]);
  const findItem = async (): Promise<Json> =>
    (await service.api("/api/inbox")).items.find(({ title }: Json) => /requests? by the transform of ci/.test(title));
  const item = await findItem();
  const replay = item.actions.find(({ id }: Json) => id === "replay");
  expect(item.actions.map(({ label }: Json) => label)).toEqual(["Replay 3", "Drop 3"]);

  // The second failure: nothing is lost, and nothing is counted twice.
  const act = ({ method, path, body }: Json): Promise<Json> => service.operate(method, path, body);
  expect((await act(replay)).body).toMatchObject({ count: 3, changed: 0, failed: 3, error: expect.any(String) });
  expect((await findItem()).count).toBe(3);
  await write(FIXED);
  const again = (await findItem()).actions.find(({ id }: Json) => id === "replay");
  const answers = await Promise.all([act(again), act(again)]);
  expect(answers.map(({ body }) => body)).toMatchObject([
    { count: 3, changed: 3, failed: 0 },
    { count: 3, changed: 3, failed: 0 },
  ]);
  expect(await findItem()).toBeUndefined();
  const events = await Promise.all(ids.map((id) => service.api(`/api/events/${id}`)));
  const replays = events.map(({ replayedBy }) => replayedBy);
  expect(events.map(({ status }) => status)).toEqual(["failed", "failed", "failed"]);
  const settled = await Promise.all(replays.map((id) => service.settled(id)));
  expect(settled.map(({ replayOf, subject }) => [replayOf, subject])).toEqual(
    ids.map((id, index) => [id, ["one", "two", "three"][index]]),
  );
  const { events: all } = await service.api("/api/events?hook=ci&limit=50");
  expect(all.filter(({ replayOf, status }: Json) => ids.includes(replayOf) && status !== "failed")).toHaveLength(3);
});

test("a preview counts and changes nothing; the action leaves what comes later", async () => {
  await send("ci", ["a", "b", "c", "d"]);
  const filter = { hook: "ci", status: "failed", from: new Date(0).toISOString() };
  const preview = await bulk("replay", { ...filter, kind: "request" });
  expect(preview).toMatchObject({ ok: true, action: "replay", more: false, subjects: [], sent: 0 });
  const dropped = await bulk("drop", { kind: "request", hook: "ci" });
  expect(dropped).toMatchObject({ count: 4 });
  expect(dropped.changed).toBeUndefined();
  const [late] = await send("ci", ["late"]);
  expect(await bulk("drop", { kind: "request", hook: "ci" }, dropped.token)).toMatchObject({ changed: 4, failed: 0 });
  expect((await service.operate("GET", `/api/bulk/${dropped.token}`)).body).toMatchObject({
    count: 4,
    changed: 4,
    isDone: true,
  });
  expect((await bulk("drop", { hook: "ci" })).count).toBe(1);
  expect((await service.api(`/api/events/${late}`)).status).toBe("failed");
});

test("a replay by a filter takes requests without a turn, and retries those whose turn has failed", async () => {
  models.fail(400, "no");
  const [turn = ""] = await send("asked", ["turn"]);
  expect((await service.settled(turn)).status).toBe("failed");
  const [request = ""] = await send("ci", ["request"]);
  models.answer(() => ({ text: "Fine." }));
  await write(FIXED);
  const since = (await service.api(`/api/events/${turn}`)).receivedAt;
  const filter = ["--status", "failed", "--since", since];
  const { stdout } = await runWebhooks(service.folder, "events", "replay", ...filter, "--url", service.url);
  expect(stdout).toMatch(/2 of 2 replayed\.\n$/);
  expect(await service.settled(turn)).toMatchObject({ status: "done", runs: [{ reply: "Fine." }] });
  const { replayedBy } = await service.api(`/api/events/${request}`);
  expect(await service.settled(replayedBy)).toMatchObject({ status: "done", replayOf: request });
  expect(await bulk("replay", { status: "failed", from: since })).toMatchObject({ count: 0 });
});

test("unfinished turns are canceled by any filter, and failed ones retried by the model that answers again", async () => {
  models.fail(400, "no");
  const failed = await send("asked", ["xylophone", "yacht", "yak", "yam"]);
  for (const id of failed) expect((await service.settled(id)).status).toBe("failed");
  models.answer(() => ({ text: "Fine." }));
  const choice = { hook: "asked", mapping: "asked", q: "xylophone" };
  expect((await bulk("retry", { hook: "asked" })).subjects).toEqual(["yam", "yak", "yacht"]);
  const { token, count, subjects } = await bulk("retry", choice);
  expect({ count, subjects }).toEqual({ count: 1, subjects: ["xylophone"] });
  expect(await bulk("retry", choice, token)).toMatchObject({ changed: 1 });
  expect(await service.settled(failed[0]!)).toMatchObject({ status: "done" });

  await service.operate("POST", "/api/mappings/asked/pause");
  const waiting = await send("asked", ["z", "z"]);
  const cli = (...more: string[]) =>
    runWebhooks(service.folder, "bulk", "cancel", "--hook", "asked", "--url", service.url, ...more);
  const counted = await cli("--dry-run", "--json");
  expect(JSON.parse(counted.stdout)).toMatchObject({ count: 2, sent: 0, subjects: ["z"] });
  expect((await cli()).stdout).toBe("2 things to cancel\n  z …\n2 of 2 done\n");
  await service.operate("POST", "/api/mappings/asked/resume");
  for (const id of waiting) expect(await service.settled(id)).toMatchObject({ status: "canceled" });
});

test.each([
  [{ action: "burn", filter: {} }, /action/],
  [{ action: "drop" }, /filter/],
  [{ action: "drop", filter: { hoook: "x" } }, /filter/],
  [{ action: "drop", filter: { from: "yesterday" } }, /from/],
  [{ action: "drop", filter: {}, token: "!" }, /token/],
])("%j is refused", async (body, error) => {
  const answer = await service.operate("POST", "/api/bulk", body);
  expect([answer.status, answer.body]).toEqual([400, expect.objectContaining({ error: expect.stringMatching(error) })]);
});
