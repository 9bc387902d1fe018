/** The minimal webhook service: a bearer check, the body, JSON.parse, an answer. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const expected = `Bearer ${process.env.TOKEN}`;

const server = createServer((request, response) => {
  if (request.headers.authorization !== expected) {
    response.writeHead(401).end();
    return;
  }
  const chunks: Buffer[] = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const { id } = JSON.parse(Buffer.concat(chunks).toString());
    response.setHeader("content-type", "application/json").end(JSON.stringify({ ok: true, id }));
  });
});
server.listen(0, "127.0.0.1", () => {
  console.log(`Listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
