import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

const CALLS = 3;

interface Request {
  tools?: { function: { name: string } }[];
  messages: { role: string }[];
}

/**
 * An OpenAI-compatible model in this process, whose CPU counts for nobody. It asks for three calls one after another if it is
 * given a tool, and answers those of the tool too, at `/tickets/<id>`.
 */
export async function startModel(): Promise<{ baseUrl: string; close(): void }> {
  const server = createServer(async (request, response) => {
    response.setHeader("content-type", "application/json");
    if (request.method === "GET") {
      response.end(JSON.stringify({ url: request.url, status: "open" }));
      return;
    }
    const { tools: [tool] = [], messages } = (await json(request)) as Request;
    const made = messages.filter(({ role }) => role === "tool").length;
    response.end(JSON.stringify(toCompletion(made < CALLS ? tool?.function.name : undefined, made)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, close: () => server.close() };
}

/** An answer, or a call of this tool. */
function toCompletion(tool: string | undefined, made: number): object {
  const call = { name: tool, arguments: JSON.stringify({ id: made + 1 }) };
  const message = tool
    ? { role: "assistant", content: null, tool_calls: [{ id: `call-${made}`, type: "function", function: call }] }
    : { role: "assistant", content: "Nothing to do." };
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 0,
    model: "double",
    choices: [{ index: 0, message, finish_reason: tool ? "tool_calls" : "stop" }],
    usage: { prompt_tokens: 300, completion_tokens: 4, total_tokens: 304 },
  };
}
