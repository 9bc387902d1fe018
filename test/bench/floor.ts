/** The minimal webhook service: a bearer check, the body, JSON.parse, with MODEL a question to that model, an answer. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const expected = `Bearer ${process.env.TOKEN}`;

const model = process.env.MODEL;

async function ask(url: string, content: string): Promise<string> {
  const response = await fetch(`${url}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "double", messages: [{ role: "user", content }] }),
  });
  const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
  return choices[0]?.message.content ?? "";
}

const server = createServer((request, response) => {
  if (request.headers.authorization !== expected) {
    response.writeHead(401).end();
    return;
  }
  const chunks: Buffer[] = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", async () => {
    const { id, title } = JSON.parse(Buffer.concat(chunks).toString());
    if (model) await ask(model, title);
    response.setHeader("content-type", "application/json").end(JSON.stringify({ ok: true, id }));
  });
});
server.listen(0, "127.0.0.1", () => {
  console.log(`Listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
