/** The minimal webhook service: a bearer check, the body, JSON.parse, with STORE a synced commit to that file, an answer. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";

const expected = `Bearer ${process.env.TOKEN}`;

const store = process.env.STORE ? openStore(process.env.STORE) : undefined;

function openStore(file: string): (text: string) => void {
  const database = new DatabaseSync(file);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE turns (text TEXT)");
  const insert = database.prepare("INSERT INTO turns (text) VALUES (?)");
  return (text) => void insert.run(text);
}

const server = createServer((request, response) => {
  if (request.headers.authorization !== expected) {
    response.writeHead(401).end();
    return;
  }
  const chunks: Buffer[] = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const { id, title } = JSON.parse(Buffer.concat(chunks).toString());
    store?.(title);
    response.setHeader("content-type", "application/json").end(JSON.stringify({ ok: true, id }));
  });
});
server.listen(0, "127.0.0.1", () => {
  console.log(`Listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
