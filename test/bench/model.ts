import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const COMPLETION = JSON.stringify({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 0,
  model: "double",
  choices: [{ index: 0, message: { role: "assistant", content: "Nothing to do." }, finish_reason: "stop" }],
  usage: { prompt_tokens: 300, completion_tokens: 4, total_tokens: 304 },
});

/** An OpenAI-compatible model in this process that gives one answer to everything. Its CPU counts for nobody. */
export async function startModel(): Promise<{ baseUrl: string; close(): void }> {
  const server = createServer((request, response) => {
    request.resume().on("end", () => response.setHeader("content-type", "application/json").end(COMPLETION));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, close: () => server.close() };
}
