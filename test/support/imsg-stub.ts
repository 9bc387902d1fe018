/**
 * A double of `imsg rpc`, written from its documentation: https://github.com/openclaw/imsg/blob/main/docs/rpc.md. It reads
 * and writes one JSON object per line. Its argument is the folder that it shares with `imsg.ts`.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";

const folder = process.argv[2] ?? "";
const KEYS = new Set(["to", "chat_id", "chat_guid", "chat_identifier", "text"]);
const KNOWN = new Set(["+15551234567", "ada@example.org", 42, "iMessage;+;chat42", "chat42"]);

console.error("imsg speaks to people here");
write({ jsonrpc: "2.0", method: "message", params: { subscription: 1, message: {} } });
for await (const line of createInterface({ input: process.stdin })) {
  appendFileSync(path.join(folder, "calls"), `${line}\n`);
  const { id, method, params } = JSON.parse(line);
  const fault = readFault();
  if (fault?.kind === "hang") setInterval(() => {}, 1000);
  else if (fault?.kind === "cut") process.exit(1);
  else if (fault) write({ jsonrpc: "2.0", id, error: JSON.parse(fault.body) });
  else write({ jsonrpc: "2.0", id, ...(method === "send" ? send(params) : failure(-32_601)) });
}

function send({ text, ...target }: Record<string, unknown>): object {
  const [[key, to] = ["", ""], ...more] = Object.entries(target);
  if (typeof text !== "string" || !KEYS.has(key) || more.length > 0 || !KNOWN.has(to as string | number)) {
    return failure(-32_602);
  }
  appendFileSync(path.join(folder, "messages"), `${JSON.stringify(text)}\n`);
  return { result: { ok: true, transport: "applescript", guid: "3E5F1D0A-0000-4000-8000-000000000001" } };
}

function failure(code: number): object {
  return { error: { code, message: "Invalid params", data: "it did not work" } };
}

function readFault(): { kind: string; body: string } | undefined {
  const file = path.join(folder, "fault");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
}

function write(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
