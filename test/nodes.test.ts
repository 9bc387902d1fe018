import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client } from "pg";
import { afterEach, describe, expect, test } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { type RunningCommand, startWebhooks } from "./support/cli.ts";
import { type Client as HttpClient, createClient, waitFor } from "./support/client.ts";
import { startExternalServices } from "./support/external-services.ts";
import { startImapServer } from "./support/imap-server.ts";
import { folderStatus, idsOfRuns, toBytes, toMailConfig } from "./support/mail-service.ts";
import { createPostgresUrl } from "./support/postgres.ts";
import { openStream } from "./support/sse.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, type Service, startService, withTokens } from "./support/service.ts";

const started: Service[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((service) => service.close()));
});

async function startNode(url: string, role: "all" | "ingress" | "worker", config: UserConfig = {}): Promise<Service> {
  const store = { url, commitTimeout: "60s" };
  const service = await startService({ config: { ...config, gateway: { ...config.gateway, role }, store } });
  started.push(service);
  return service;
}

describe("nodes that share a database", () => {
  test("an ingress answers, a worker executes, every node shows everything, also in its stream, and no change is recorded while nobody watches", async () => {
    const url = await createPostgresUrl();
    const ingress = await startNode(url, "ingress");
    const accepted = await ingress.post("agent", { message: "Hello.", sessionKey: "s" });
    expect(accepted.status).toBe(202);
    const { eventId } = accepted.body;
    expect((await ingress.api(`/api/events/${eventId}`)).runs).toMatchObject([{ state: "waiting" }]);

    const worker = await startNode(url, "worker");
    const settled = await worker.settled(eventId);
    expect(settled).toMatchObject({ status: "done", runs: [{ state: "done" }] });
    expect(await ingress.api(`/api/events/${eventId}`)).toMatchObject({ status: "done" });
    expect((await ingress.api("/api/sessions/s")).entries).toHaveLength(2);
    expect((await worker.post("agent", { message: "Hello." })).status).toBe(404);

    const client = new Client(url);
    await client.connect();
    const read = async (sql: string) => (await client.query(sql)).rows;
    expect(await read("SELECT * FROM hookline.changes WHERE changes <> '[]'")).toEqual([]);
    expect(await read("SELECT watches FROM hookline.nodes")).toEqual([{ watches: false }, { watches: false }]);
    await client.end();

    const answer = await ingress.post("agent", { message: "Hello." }, { prefer: "wait=60" });
    expect(answer).toMatchObject({ status: 200, body: { status: "done" } });

    const roles = (nodes: { role: string }[]) => nodes.map(({ role }) => role).toSorted();
    await expect.poll(async () => roles((await ingress.api("/api/status")).nodes)).toEqual(["ingress", "worker"]);
    expect(await worker.api("/api/status")).toMatchObject({
      nodesDiffer: [],
      nodes: [{ isAlive: true }, { isAlive: true }],
    });
    const other = await startNode(url, "all", { agents: { defaults: { maxAttempts: 7 } } });
    await expect.poll(async () => (await ingress.api("/api/status")).nodesDiffer).toEqual(["config"]);

    const { messages, cut } = await openStream(ingress.url);
    // The other node first has to learn that somebody watches.
    const posted: string[] = [];
    const post = async (): Promise<boolean> => {
      posted.push((await other.post("agent", { message: "Hello." })).body.eventId);
      return posted.some((id) => JSON.stringify(messages).includes(id));
    };
    await expect.poll(post, { interval: 200 }).toBe(true);
    cut();
  });

  test("a mailbox moves to another node when its node stops, and each mail is posted once", async () => {
    const url = await createPostgresUrl();
    const server = await startImapServer();
    const [a, b] = [
      await startNode(url, "worker", toMailConfig(server)),
      await startNode(url, "worker", toMailConfig(server)),
    ];
    const states = () => Promise.all([a, b].map(async (node) => String((await folderStatus(node)).state)));
    await expect.poll(async () => (await states()).toSorted()).toEqual(["locked", "watching"]);
    const [watching, waiting] = (await states())[0] === "watching" ? [a, b] : [b, a];
    server.append("INBOX", toBytes("first"));
    await expect.poll(() => idsOfRuns(waiting)).toEqual(["first"]);
    await watching.hookline.close();
    server.append("INBOX", toBytes("second"));
    await expect.poll(() => idsOfRuns(waiting)).toEqual(["first", "second"]);
    // The watcher counts it once it has read the answer.
    await expect.poll(() => folderStatus(waiting)).toMatchObject({ state: "watching", posted: 1 });
    await waiting.hookline.close();
    await server.close();
  });

  test("a node without the provider or channel of a hook leaves both to a node that has them, and no attempt counts", async () => {
    const url = await createPostgresUrl();
    const external = await startExternalServices({ hold: async () => undefined });
    const model = (name: string): UserConfig["agents"] => ({
      providers: { [name]: { kind: "openai-compatible", baseUrl: external.modelUrl } },
      defaults: { model: `${name}/double` },
    });
    const slack = { slack: { token: "xoxb-000000000000-test", baseUrl: external.slackUrl } };
    const ingress = await startNode(url, "ingress", { agents: model("right"), channels: slack });
    const old = await startNode(url, "worker", { agents: model("other") });
    const hook = {
      message: "Hello.",
      model: "right/double",
      channel: "slack",
      to: "C00000001",
      wakeMode: "next-heartbeat",
    };
    const { body } = await ingress.post("agent", hook);
    const lastRun = async () => (await ingress.api(`/api/events/${body.eventId}`)).runs[0];
    await expect.poll(lastRun).toMatchObject({ error: expect.stringContaining("No provider") });

    const withProvider = await startNode(url, "worker", { agents: model("right") });
    await old.hookline.close();
    const lastDelivery = async () => (await ingress.api(`/api/events/${body.eventId}`)).deliveries[0];
    await expect.poll(lastDelivery).toMatchObject({ error: expect.stringContaining("the channel slack") });
    await startNode(url, "worker", { agents: model("right"), channels: slack });
    await withProvider.hookline.close();
    expect(await ingress.settled(body.eventId)).toMatchObject({
      status: "done",
      runs: [{ state: "done", attempts: 1 }],
      deliveries: [{ state: "sent", attempts: 1 }],
    });
    expect(external.turns.filter(({ text }) => !text.startsWith("Heartbeat."))).toHaveLength(1);
    await external.close();
  });

  test("serve shows the requests to its own node, and tail those to all", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "hookline-"));
    const store = { url: await createPostgresUrl() };
    writeFileSync(path.join(folder, "webhooks.json5"), JSON.stringify(withTokens({ store })));
    const [a, b] = [await serve(folder), await serve(folder)];
    const tail = startWebhooks(folder, ["tail", "--json", "--url", b.url]);
    await expect.poll(tail.stderr).toContain("Following");

    const ofA: string[] = [];
    // The other node first has to learn that somebody watches.
    const post = async (): Promise<boolean> => {
      ofA.push((await a.client.post("agent", { message: "To a." })).body.eventId);
      return ofA.some((id) => tail.stdout().includes(id));
    };
    await expect.poll(post, { interval: 200 }).toBe(true);
    const ofB = (await b.client.post("agent", { message: "To b." })).body.eventId;
    for (const shown of [tail, b.terminal]) await expect.poll(shown.stdout).toContain(ofB);
    await expect.poll(() => ofA.every((id) => a.terminal.stdout().includes(id))).toBe(true);
    expect(ofA.filter((id) => b.terminal.stdout().includes(id))).toEqual([]);
    expect(a.terminal.stdout()).not.toContain(ofB);

    for (const command of [tail, a.terminal, b.terminal]) command.stop();
    await Promise.all([tail.ended, a.terminal.ended, b.terminal.ended]);
    rmSync(folder, { recursive: true });
  });
});

async function serve(folder: string): Promise<{ terminal: RunningCommand; url: string; client: HttpClient }> {
  const terminal = startWebhooks(folder, ["serve", "--json", "--port", "0"]);
  const url = await waitFor(() => /"url":"([^"]+)"/.exec(terminal.stdout())?.[1]);
  return { terminal, url, client: createClient(url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN }) };
}

test("a role needs a database", async () => {
  const config: UserConfig = { gateway: { role: "ingress" } };
  await expect(startService({ config })).rejects.toThrow("gateway.role");
});
