import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
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
  // Strip the types once: that takes longer than the rest of a start, and there are many starts.
  const program = path.join(folder, "imsg.mjs");
  writeFileSync(program, stripTypeScriptTypes(readFileSync(new URL(import.meta.resolve("./imsg-stub.ts")), "utf8")));
  return {
    command: [process.execPath, program, folder],
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
