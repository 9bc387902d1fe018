/** The sender reads what became of its run: it waits for the answer, or asks later. */
import { createHmac } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createGate } from "./support/gate.ts";
import { type ModelServer, startModels } from "./support/models.ts";
import { HOOK_TOKEN, type Service, startService } from "./support/service.ts";

const CI_TOKEN = "the-token-for-ci-0123456789";
const OWN_TOKEN = "the-token-of-one-mapping-01";
const SIGNING_SECRET = "the-secret-of-one-sender-01";
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
          { match: { path: "ci" }, messageTemplate: "{{n}}", deliver: false, timeoutSeconds: 2 },
          {
            match: { path: "own" },
            messageTemplate: "{{n}}",
            deliver: false,
            auth: { scheme: "token", secret: OWN_TOKEN },
          },
          {
            match: { path: "signed" },
            messageTemplate: "{{n}}",
            deliver: false,
            auth: { scheme: "hmac", secret: SIGNING_SECRET, header: "x-signature" },
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

  test("of a failure, a sender learns what kind it was, now and later, and nothing else", async () => {
    const gate = createGate();
    const own = { runId: expect.any(String), sessionKey: expect.any(String), eventId: expect.any(String) };
    const learns = async (n: number, code: string, error: string, meanwhile = async () => {}): Promise<void> => {
      const waiting = service.post("ci", { n }, WAIT);
      await meanwhile();
      const { status, body } = await waiting;
      const result = { ok: false, status: "failed", code, error };
      expect([status, body]).toEqual([200, { ...result, ...own }]);
      expect(await (await readRun(body.runId)).json()).toEqual({ ...result, runId: body.runId });
    };
    models.fail(400, "The prompt is empty.");
    await learns(1, "turn_failed", "The agent's turn failed.");
    models.reply("Late.", { hold: () => gate.passed });
    await learns(2, "turn_timed_out", "The agent's turn took too long.");
    models.reply("Late.", { hold: () => gate.passed });
    await learns(3, "canceled", "The turn was canceled.", async () => {
      const running = async () => (await service.api("/api/runs?state=running")).runs;
      await expect.poll(running).toHaveLength(1);
      const [{ id }] = await running();
      await service.operate("POST", `/api/runs/${id}/cancel`);
    });
    gate.open();
  });

  test("has no effect for a sender that signs: it cannot read runs", async () => {
    models.reply("Secret.");
    const body = JSON.stringify({ n: 1 });
    const signature = createHmac("sha256", SIGNING_SECRET).update(body).digest("hex");
    const headers = { "x-signature": signature, "content-type": "application/json", ...WAIT };
    const answer = await fetch(`${service.url}/hooks/signed`, { method: "POST", headers, body });
    expect([answer.status, answer.headers.get("preference-applied")]).toEqual([202, null]);
    expect(await answer.json()).not.toHaveProperty("reply");
    const token = { authorization: `Bearer ${OWN_TOKEN}` };
    expect((await service.post("own", { n: 1 }, { ...token, ...WAIT })).status).toBe(200);
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
