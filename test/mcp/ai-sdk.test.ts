import {
  createMCPClient,
  experimental_createMCPEventWebhook as createMCPEventWebhook,
  type Experimental_MCPEventStore as MCPEventStore,
  type Experimental_MCPEventSubscription as MCPEventSubscription,
} from "@ai-sdk/mcp";
import { once } from "node:events";
import { createServer } from "node:http";
import { afterEach, expect, test } from "vitest";
import { MCP_TOKEN, publishing } from "../support/mcp.ts";
import { GATEWAY_TOKEN, startService } from "../support/service.ts";

/* Somebody else's client and webhook handler decide whether what the service says is right. */

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

function createStore(): MCPEventStore & { all: Map<string, MCPEventSubscription> } {
  const all = new Map<string, MCPEventSubscription>();
  return {
    all,
    get: async (key) => all.get(key),
    getById: async (id) => [...all.values()].find((one) => one.id === id),
    set: async (one) => void all.set(one.key, one),
    update: async (key, patch) => void all.set(key, { ...all.get(key)!, ...patch }),
    delete: async (key) => void all.delete(key),
  };
}

/** The handler behind a port of loopback. */
async function serve(handle: (request: Request) => Promise<Response>): Promise<string> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)]);
    const url = `http://127.0.0.1${request.url}`;
    const answer = await handle(new Request(url, { method: "POST", headers, body: Buffer.concat(chunks) }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(async () => server.closeAllConnections() ?? server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/events`;
}

test("the AI SDK's client lists and subscribes, and its webhook handler accepts what the service sends", async () => {
  const service = await startService({ config: publishing() });
  closing.push(service.close);
  const store = createStore();
  const events: unknown[] = [];
  const ended: unknown[] = [];
  const errors: unknown[] = [];
  const handle = createMCPEventWebhook({
    store,
    onEvent: async ({ event }) => void events.push(event.data),
    onTerminated: async ({ termination }) => void ended.push(termination.error),
    onError: (error) => errors.push(error),
  });
  const url = await serve(handle);
  const client = await createMCPClient({
    transport: { type: "http", url: `${service.url}/mcp`, headers: { Authorization: `Bearer ${MCP_TOKEN}` } },
    experimental_events: { store },
  });
  closing.push(() => client.close());
  const { experimental_events: sdk } = client;

  expect((await sdk.list()).events.map(({ name }) => name)).toEqual(["deploys"]);
  const delivery = { mode: "webhook" as const, url, allowInsecureLocalhost: true };
  const subscribed = await sdk.subscribe({ name: "deploys", arguments: { env: "production" }, delivery });
  await service.post("deploys", { env: "staging", n: 1 });
  await service.post("deploys", { env: "production", n: 2 });
  await expect.poll(() => events).toEqual([{ env: "production", n: 2 }]);
  const [saved] = store.all.values();
  expect(saved).toMatchObject({
    id: subscribed.id,
    cursor: expect.stringMatching(/^[\da-f]{12}\.\d+$/),
    status: "active",
  });

  const refreshed = await sdk.refresh({ id: subscribed.id });
  expect(refreshed).toMatchObject({ id: subscribed.id, truncated: false });
  await service.post("deploys", { env: "production", n: 3 });
  await expect.poll(() => events.length).toBe(2);

  const authorization = `Bearer ${GATEWAY_TOKEN}`;
  await fetch(`${service.url}/api/subscriptions/${subscribed.id}`, { method: "DELETE", headers: { authorization } });
  await expect.poll(() => ended).toEqual([{ code: -32012, message: "The operator has ended the subscription." }]);
  expect(store.all.size).toBe(0);
  await expect.poll(() => service.api("/api/subscriptions")).toEqual({ subscriptions: [] });

  const again = await sdk.subscribe({ name: "deploys", delivery, ttlMs: null });
  expect(again.refreshBefore).toBeNull();
  await sdk.unsubscribe({ id: again.id });
  await expect(sdk.subscribe({ name: "other", delivery })).rejects.toThrow("Unknown MCP event: other");
  expect(errors).toEqual([]);
});
