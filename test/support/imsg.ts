import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Fault } from "../../src/contracts/fault-proxy.ts";

export interface Imsg {
  /** For `channels.imessage.command`. */
  command: string[];
  /** The methods called, oldest first. */
  calls(): { method: string; params: Record<string, unknown> }[];
  /** The texts sent, oldest first. */
  messages(): string[];
  /** From now on every call fails like this. The body of an answer is the JSON-RPC error. */
  inject(fault: Fault): void;
  close(): Promise<void>;
}

/** Creates a double of `imsg rpc`: see `imsg-stub.ts`. */
export async function startImsg(): Promise<Imsg> {
  const folder = await mkdtemp(path.join(tmpdir(), "imsg-"));
  return {
    command: [process.execPath, fileURLToPath(import.meta.resolve("./imsg-stub.ts")), folder],
    calls: () => readLines(path.join(folder, "calls")),
    messages: () => readLines(path.join(folder, "messages")),
    inject: (fault) => writeFileSync(path.join(folder, "fault"), JSON.stringify(fault)),
    close: () => rm(folder, { recursive: true }),
  };
}

function readLines<Line>(file: string): Line[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}
