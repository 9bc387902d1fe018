/** The thread of searches: with a separate connection that only reads, so that no request waits for it. */
import { parentPort, workerData } from "node:worker_threads";
import { countByMapping } from "../../core/journal/reads/events.ts";
import { createTextTest, searchEvents } from "../../core/journal/search.ts";
import { openDatabase } from "./database.ts";
import { createReader } from "./read.ts";
import type { SearchCall } from "./search.ts";

let isInText: (value: string) => boolean = () => false;

const database = openDatabase(workerData.file, {
  busyTimeoutMs: 5000,
  readOnly: true,
  functions: {
    has_text: (value) => Number(typeof value === "string" && isInText(value)),
    has_bytes: (value) => Number(value instanceof Uint8Array && isInText(toSearchable(value))),
  },
});

const reader = {
  ...createReader(database),
  toValuesSql: () => ({ sql: "true", parameters: [] }),
  toTextSql(text: string) {
    isInText = createTextTest(text);
    isAscii = !/[^\x20-\x7e]/.test(text);
    return {
      ofText: (column: string) => `has_text(${column})`,
      ofBytes: (column: string) => `has_bytes(${column})`,
      values: [],
    };
  },
};

let isAscii = true;

/** Bytes become characters one by one where that makes no difference: it is several times as fast. */
function toSearchable({ buffer, byteOffset, byteLength }: Uint8Array): string {
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  return bytes.toString(isAscii ? "latin1" : "utf8");
}

parentPort?.on("message", ({ id, call }: { id: number; call: SearchCall }) => {
  const work =
    call.name === "search" ? searchEvents(reader, call.search, call.before) : countByMapping(reader, call.from);
  work.then(
    (result) => parentPort?.postMessage({ id, result }),
    (error: unknown) => parentPort?.postMessage({ id, error: String(error) }),
  );
});
