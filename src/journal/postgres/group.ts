import { JournalUnavailable } from "../../errors.ts";

/** Most operations in one commit: each can take a lock of the database's shared table. */
const MAX_GROUP = 128;

/** While one commit waits for the database's disk, the next is prepared. */
const MAX_IN_FLIGHT = 2;

export interface Group<Item, Result> {
  add(item: Item): Promise<Result>;
  /** Resolves when everything that was added is committed or refused; later items are refused. */
  close(): Promise<void>;
}

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** One commit for everything that arrives while others are in flight. An item that fails does so alone. */
export function createGroup<Item, Result>(commit: (items: Item[]) => Promise<Result[]>): Group<Item, Result> {
  const queue: Waiting<Item, Result>[] = [];
  const inFlight = new Set<Promise<void>>();
  let scheduled = false;
  let closed = false;

  return {
    add(item) {
      if (closed) return Promise.reject(new JournalUnavailable("the journal is closed"));
      return new Promise((resolve, reject) => {
        queue.push({ item, resolve, reject });
        schedule();
      });
    },
    async close() {
      closed = true;
      while (queue.length > 0 || inFlight.size > 0) {
        fill();
        await Promise.race(inFlight);
      }
    },
  };

  /** The end of this turn of the event loop, when all requests that arrived with it are read. */
  function schedule(): void {
    if (scheduled || inFlight.size === MAX_IN_FLIGHT) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      fill();
    });
  }

  function fill(): void {
    while (queue.length > 0 && inFlight.size < MAX_IN_FLIGHT) {
      const task = commitAll(queue.splice(0, MAX_GROUP)).finally(() => {
        inFlight.delete(task);
        if (queue.length > 0) fill();
      });
      inFlight.add(task);
    }
  }

  async function commitAll(group: Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await commit(group.map(({ item }) => item));
      for (const [index, { resolve }] of group.entries()) resolve(results[index]!);
    } catch (error) {
      if (error instanceof JournalUnavailable) for (const { reject } of [...group, ...queue.splice(0)]) reject(error);
      else if (group.length > 1) for (const waiting of group) await commitAll([waiting]);
      else group[0]?.reject(error);
    }
  }
}
