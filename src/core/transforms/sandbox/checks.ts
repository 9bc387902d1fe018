import { createPool, type Pool, type PoolOptions } from "./pool.ts";

/** A reload is usually followed by others. */
const IDLE_MS = 60_000;

/** A process for checks alone, which is started when it is needed, and ended when it is not. */
export interface Checks {
  run<Answer>(job: (pool: Pool) => Promise<Answer>): Promise<Answer>;
  close(): Promise<void>;
}

export function createChecks(options: Omit<PoolOptions, "children">): Checks {
  let pool: Pool | undefined;
  let running = 0;
  let idle: NodeJS.Timeout | undefined;

  return {
    async run(job) {
      clearTimeout(idle);
      running++;
      try {
        return await job((pool ??= createPool({ ...options, children: 1 })));
      } finally {
        running--;
        if (running === 0) idle = setTimeout(() => void close(), IDLE_MS).unref();
      }
    },
    close,
  };

  async function close(): Promise<void> {
    clearTimeout(idle);
    const ending = pool;
    pool = undefined;
    await ending?.close();
  }
}
