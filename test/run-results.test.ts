/** The sender reads what became of its run: it waits for the answer, or asks later. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createGate } from "./support/gate.ts";
import { type ModelServer, startModels } from "./support/models.ts";
import { HOOK_TOKEN, type Service, startService } from "./support/service.ts";

const CI_TOKEN = "the-token-for-ci-0123456789";
const OWN_TOKEN = "the-token-of-one-mapping-01";
const WAIT = { prefer: "respond-async, wait=30" };

let models: ModelServer;
let service: Service;

beforeEach(async () => {
  models = await startModels();
  service = await startService({
    config: {
      hooks: {
        tokens: { ci: { secret: CI_TOKEN, hooks: ["ci"] } },
        mappings: [
          { match: { path: "ci" }, messageTemplate: "{{n}}", deliver: false },
          {
            match: { path: "own" },
            messageTemplate: "{{n}}",
            deliver: false,
            auth: { scheme: "token", secret: OWN_TOKEN },
          },
          { match: { path: "wakes" }, action: "wake", textTemplate: "{{n}}" },
          { match: { path: "both" }, forEach: "items", messageTemplate: "{{item}}", deliver: false },
        ],
      },
      agents: {
        providers: { local: { kind: "openai-compatible", baseUrl: models.baseUrl } },
        defaults: { model: "local/small", maxAttempts: 1 },
      },
    },
  });
});
afterEach(async () => {
  await service.close();
  await models.close();
});

function readRun(runId: string, token = HOOK_TOKEN, init: RequestInit = {}): Promise<Response> {
  return fetch(`${service.url}/hooks/runs/${runId}`, { headers: { authorization: `Bearer ${token}` }, ...init });
}

describe("Prefer: wait", () => {
  test("answers with the reply of the run", async () => {
    models.reply("The build is red.");
    const { status, headers, body } = await service.post("ci", { n: 1 }, WAIT);
    expect(status).toBe(200);
    expect(headers.get("preference-applied")).toBe("wait=30");
    expect(body).toEqual({
      ok: true,
      status: "done",
      reply: "The build is red.",
      runId: expect.any(String),
      sessionKey: expect.any(String),
      eventId: expect.any(String),
    });
  });

  test("answers with the error of a run that failed", async () => {
    models.fail(400, "The prompt is empty.");
    expect(await service.post("ci", { n: 1 }, WAIT)).toMatchObject({
      status: 200,
      body: { ok: false, status: "failed", error: expect.stringContaining("The prompt is empty.") },
    });
  });

  test("gets the usual answer when the time is up", async () => {
    const gate = createGate();
    models.reply("Late.", { hold: () => gate.passed });
    const { status, headers, body } = await service.post("ci", { n: 1 }, { prefer: "wait=1" });
    expect({ status, applied: headers.get("preference-applied") }).toEqual({ status: 202, applied: null });
    expect(await (await readRun(body.runId)).json()).toEqual({ ok: true, runId: body.runId, status: "running" });
    gate.open();
  });

  test("waits for the run of an earlier request with the same idempotency key", async () => {
    models.reply("Once.");
    const key = { "idempotency-key": "k-1" };
    const first = await service.post("ci", { n: 1 }, key);
    const second = await service.post("ci", { n: 1 }, { ...key, ...WAIT });
    expect(second).toMatchObject({ status: 200, body: { runId: first.body.runId, reply: "Once." } });
    expect(second.headers.get("idempotency-replayed")).toBe("true");
  });

  test.each(["wait=0", "wait=-1", "wait=x", "waiting=3", "wait", ""])("ignores %j", async (prefer) => {
    expect((await service.post("ci", { n: 1 }, { prefer })).status).toBe(202);
  });

  test("has no effect on a wake, several actions or a skipped event", async () => {
    expect((await service.post("wakes", { n: 1 }, WAIT)).body).toMatchObject({ mode: expect.any(String) });
    expect((await service.post("both", { items: [1, 2] }, WAIT)).status).toBe(202);
    expect((await service.post("both", { items: [] }, WAIT)).status).toBe(204);
  });

  test("ends when the service stops: the sender gets the usual answer", async () => {
    const [asked, gate] = [createGate(), createGate()];
    models.reply("Late.", {
      hold() {
        asked.open();
        return gate.passed;
      },
    });
    const waiting = service.post("ci", { n: 1 }, { prefer: "wait=60" });
    await asked.passed;
    const closing = service.hookline.close();
    expect((await waiting).status).toBe(202);
    gate.open();
    await closing;
  });
});

describe("GET /hooks/runs/<id>", () => {
  test("gives the result to the credential that created the run, also after a restart", async () => {
    models.reply("Green.");
    const { runId, eventId } = (await service.post("ci", { n: 1 }, { authorization: `Bearer ${CI_TOKEN}` })).body;
    await service.settled(eventId);
    service = await service.restart();
    const answer = await readRun(runId, CI_TOKEN);
    expect({ status: answer.status, body: await answer.json() }).toEqual({
      status: 200,
      body: { ok: true, runId, status: "done", reply: "Green." },
    });
    expect(answer.headers.get("cache-control")).toBe("no-store");
  });

  test("a mapping's own token is such a credential", async () => {
    models.reply("Done.");
    const { body } = await service.post("own", { n: 1 }, { ...WAIT, authorization: `Bearer ${OWN_TOKEN}` });
    expect(await (await readRun(body.runId, OWN_TOKEN)).json()).toMatchObject({ status: "done", reply: "Done." });
    expect(await readRun(body.runId)).toMatchObject({ status: 404 });
  });

  test("is a 404 for another credential and for an unknown run, and a 401 without one", async () => {
    const { runId } = (await service.post("ci", { n: 1 })).body;
    expect((await readRun(runId, CI_TOKEN)).status).toBe(404);
    expect((await readRun("01890000-0000-7000-8000-000000000000")).status).toBe(404);
    expect((await readRun(runId, "a-wrong-token-0123456789")).status).toBe(401);
    expect((await fetch(`${service.url}/hooks/runs/${runId}`)).status).toBe(401);
  });

  test("takes GET alone", async () => {
    const { runId } = (await service.post("ci", { n: 1 })).body;
    const { status, headers } = await readRun(runId, HOOK_TOKEN, { method: "DELETE" });
    // A mapping without `match.path` may take a POST there.
    expect([status, headers.get("allow")]).toEqual([405, "GET, POST"]);
  });
});
