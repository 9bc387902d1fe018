/** Two nodes of PostgreSQL and one call: decided many times at once, and answered after its node was lost. */
import { createServer } from "node:http";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { UserConfig } from "../../src/core/config/schema/generated.ts";
import { createClient, waitFor } from "../support/client.ts";
import { type ModelServer, startModels } from "../support/models.ts";
import { createPostgresUrl, endLease, findNewNode } from "../support/postgres.ts";
import { startProcess } from "../support/process.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, type Service, startService, withTokens } from "../support/service.ts";

let models: ModelServer;
let release: () => void;
/** Resolves when the system has an answer to send. */
let answered: Promise<void>;
let calls: string[];
let paths: (string | undefined)[];
let server: ReturnType<typeof createServer>;
let database: string;
let toConfig: (mode: "ask" | "allow", path?: string) => UserConfig;
const services: Service[] = [];

beforeEach(async () => {
  calls = [];
  paths = [];
  const gate = Promise.withResolvers<void>();
  release = gate.resolve;
  const sent = Promise.withResolvers<void>();
  answered = sent.promise;
  server = createServer(({ headers, url }, response) => {
    calls.push(String(headers["idempotency-key"]));
    paths.push(url);
    void gate.promise.then(() => response.end("created OPS-7", sent.resolve));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  models = await startModels();
  models.answer((messages) =>
    messages.some(({ role }) => role === "tool")
      ? { text: "All done." }
      : { calls: [{ name: "tickets__create", arguments: {} }] },
  );
  database = await createPostgresUrl();
  toConfig = (mode, post = "/create") => ({
    store: { url: database },
    agents: {
      providers: { house: { kind: "openai-compatible", baseUrl: models.baseUrl } },
      defaults: { model: "house/large", heartbeat: { every: "24h" } },
      tools: {
        tickets: {
          kind: "http",
          baseUrl: `http://127.0.0.1:${port}`,
          private: true,
          calls: { create: { description: "Opens a ticket.", post } },
        },
      },
    },
    hooks: { agent: { grants: { "tickets.create": mode } } },
  });
});
afterEach(async () => {
  release();
  await Promise.all(services.splice(0).map((service) => service.close()));
  server.closeAllConnections();
  server.close();
  await models.close();
});

async function startNode(config: UserConfig): Promise<Service> {
  const service = await startService({ config });
  services.push(service);
  return service;
}

/** So many that both nodes claim some of their runs. */
const SESSIONS = Array.from({ length: 8 }, (_, index) => `session ${index}`);
const TURN = { message: "hello", deliver: false, wakeMode: "next-heartbeat" };

test("30 decisions at once on two nodes are one execution", async () => {
  const [one, other] = [await startNode(toConfig("ask")), await startNode(toConfig("ask"))];
  release();
  const { body } = await one.post("agent", TURN);
  const { id } = await waitFor(async () => (await other.api("/api/approvals?state=open")).approvals[0], "the question");
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, index) =>
      [one, other][index % 2]!.operate("POST", `/api/approvals/${id}`, { decision: "approve" }),
    ),
  );
  const statuses = Map.groupBy(answers, ({ status }) => status);
  expect([statuses.get(200)?.length, statuses.get(409)?.length]).toEqual([1, 29]);
  expect((await other.settled(body.eventId)).runs).toMatchObject([{ state: "done", reply: "All done." }]);
  expect(calls).toEqual([`${body.runId}/2`]);
});

test("a call that another node has in another form is executed in the form that was approved", async () => {
  const one = await startNode(toConfig("ask"));
  release();
  const turns = await Promise.all(SESSIONS.map((sessionKey) => one.post("agent", { ...TURN, sessionKey })));
  const listOpen = async () => (await one.api("/api/approvals?state=open")).approvals;
  const asked: { id: string }[] = await waitFor(async () => {
    const open = await listOpen();
    return open.length === SESSIONS.length ? open : undefined;
  }, "the questions");
  await startNode(toConfig("ask", "/elsewhere"));
  await Promise.all(asked.map(({ id }) => one.operate("POST", `/api/approvals/${id}`, { decision: "approve" })));
  for (const { body } of turns) {
    expect((await one.settled(body.eventId)).runs).toMatchObject([{ state: "done", reply: "All done." }]);
  }
  expect(paths).toEqual(SESSIONS.map(() => "/create"));
  expect(await listOpen()).toEqual([]);
});

test("a result that comes after its node was lost settles the call", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-late-"));
  const file = path.join(folder, "webhooks.json5");
  writeFileSync(file, JSON.stringify(withTokens(toConfig("allow"))));
  const lost = await startProcess(file);
  const client = createClient(lost.url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });
  const { body } = await client.post("agent", TURN);
  await waitFor(() => calls.length === 1, "the call");
  lost.child.kill("SIGSTOP");
  await endLease(database, await findNewNode(database));
  const other = await startNode(toConfig("allow"));
  const open = async () => (await other.api("/api/approvals?state=open")).approvals;
  const [asked] = await waitFor(async () => ((await open()).length > 0 ? open() : undefined), "the other node to ask");
  expect(asked).toMatchObject({ kind: "outcome", call: "tickets.create" });
  release();
  // Else the node may learn that it has lost the run before the answer reaches it.
  await answered;
  lost.child.kill("SIGCONT");
  const event = await other.settled(body.eventId);
  expect(event.runs).toMatchObject([{ state: "done", reply: "All done." }]);
  const { steps } = await other.api(`/api/runs/${body.runId}`);
  expect(steps[1]).toMatchObject({ state: "done", text: "created OPS-7" });
  expect(await other.api(`/api/approvals/${asked.id}`)).toMatchObject({ state: "withdrawn" });
  expect(calls).toHaveLength(1);
  await lost.end("SIGTERM");
  rmSync(folder, { recursive: true, force: true });
});
