/**
 * A turn as a program makes it without this service: a bearer check, JSON.parse, `generateText` of the AI SDK, with CALLS its
 * loop with a tool, an answer.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, isStepCount, jsonSchema } from "ai";

const baseURL = process.env.MODEL ?? "";
const model = createOpenAICompatible({ name: "own", baseURL })("double");

const show = {
  description: "One ticket.",
  inputSchema: jsonSchema<{ id: number }>({
    type: "object",
    properties: { id: { type: "integer" } },
    required: ["id"],
  }),
  execute: async ({ id }: { id: number }) => (await fetch(`${baseURL}/tickets/${id}`)).text(),
};

const server = createServer(async (request, response) => {
  if (request.headers.authorization !== `Bearer ${process.env.TOKEN}`) {
    response.writeHead(401).end();
    return;
  }
  const { id, title } = (await json(request)) as { id: number; title: string };
  await generateText({
    model,
    prompt: title,
    ...(process.env.CALLS && { tools: { show }, stopWhen: isStepCount(20) }),
  });
  response.setHeader("content-type", "application/json").end(JSON.stringify({ ok: true, id }));
});
server.listen(0, "127.0.0.1", () => {
  console.log(`Listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
