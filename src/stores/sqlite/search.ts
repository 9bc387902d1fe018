import path from "node:path";
import { Worker } from "node:worker_threads";
import { JournalUnavailable } from "../../core/errors.ts";
import { IS_CHECKOUT, PACKAGE_ROOT } from "../../core/shared/system/package.ts";
import type { Journal } from "../../core/journal/journal.ts";
import type { EventSearch } from "../../core/journal/records/event-search.ts";

/** A call of the thread. */
export type SearchCall =
  | { name: "search"; search: EventSearch; before?: string }
  | { name: "countByMapping"; from: number };

/** Relative to the package's root. The build writes the second from the first. */
const PROGRAM = IS_CHECKOUT ? "src/stores/sqlite/search-worker.ts" : "dist/stores/sqlite/search-worker.js";

interface Waiting {
  resolve(result: never): void;
  reject(error: unknown): void;
}

export interface Searcher extends Pick<Journal, "searchEvents" | "countByMapping"> {
  close(): Promise<void>;
}

/** Reads in another thread, which starts with the first search. */
export function createSearcher(file: string): Searcher {
  const waiting = new Map<number, Waiting>();
  let worker: Worker | undefined;
  let last = 0;

  return {
    searchEvents: (search, before) => ask({ name: "search", search, before }),
    countByMapping: (from) => ask({ name: "countByMapping", from }),
    async close() {
      await worker?.terminate();
    },
  };

  function ask<Result>(call: SearchCall): Promise<Result> {
    worker ??= start();
    const id = ++last;
    return new Promise<Result>((resolve, reject) => {
      waiting.set(id, { resolve, reject });
      worker?.ref();
      worker?.postMessage({ id, call });
    });
  }

  function start(): Worker {
    const started = new Worker(path.join(PACKAGE_ROOT, PROGRAM), { workerData: { file } });
    started.on("message", ({ id, result, error }: { id: number; result: never; error?: string }) => {
      const call = waiting.get(id);
      waiting.delete(id);
      if (waiting.size === 0) started.unref();
      if (error === undefined) call?.resolve(result);
      else call?.reject(new JournalUnavailable(error));
    });
    started.on("error", (error) => end(started, error.message));
    started.on("exit", () => end(started, "the search has ended"));
    started.unref();
    return started;
  }

  /** The next search starts another one. */
  function end(ended: Worker, message: string): void {
    if (worker === ended) worker = undefined;
    for (const { reject } of waiting.values()) reject(new JournalUnavailable(message));
    waiting.clear();
  }
}
