import { createServer } from "node:http";
import { createMCPClient, experimental_createMCPEventWebhook } from "@ai-sdk/mcp";

// Keep these in a database: they hold the secrets of the subscriptions.
const saved = new Map();
const store = {
  get: async (key) => saved.get(key),
  getById: async (id) => [...saved.values()].find((one) => one.id === id),
  set: async (one) => void saved.set(one.key, one),
  update: async (key, patch) => void saved.set(key, { ...saved.get(key), ...patch }),
  delete: async (key) => void saved.delete(key),
};
const handle = experimental_createMCPEventWebhook({
  store,
  async onEvent({ event }) {
    console.log(event.name, JSON.stringify(event.data));
  },
});
const server = createServer(async (request, response) => {
  const body = Buffer.concat(await Array.fromAsync(request));
  const url = new URL(request.url, "http://127.0.0.1");
  const answer = await handle(new Request(url, { method: "POST", headers: request.headers, body }));
  response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

const client = await createMCPClient({
  transport: {
    type: "http",
    url: "http://127.0.0.1:18790/mcp",
    headers: { Authorization: `Bearer ${process.env.MCP_TOKEN}` },
  },
  experimental_events: { store },
});
await client.experimental_events.subscribe({
  name: "deploys",
  arguments: { env: "production" },
  delivery: { mode: "webhook", url: `http://127.0.0.1:${server.address().port}/events`, allowInsecureLocalhost: true },
});
console.log("subscribed");
