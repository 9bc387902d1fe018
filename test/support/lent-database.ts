import { onTestFinished } from "vitest";
import { createPostgresUrl } from "./postgres.ts";
import { empty, findPool, type Pool } from "./postgres-pool.ts";

export interface LentDatabase {
  url: string;
  pool: Pool;
}

/** The nodes of a test use so many at the same moment. */
const MAX_CONNECTIONS = 6;

const returned: string[] = [];

/**
 * An empty database for this test, with connections that stay open: it is the next test's afterwards. For tests that leave its
 * tables as they are.
 */
export async function lendDatabase(): Promise<LentDatabase> {
  const earlier = returned.pop();
  const url = earlier ?? (await createPostgresUrl());
  onTestFinished(() => void returned.push(url));
  const pool = findPool(url, MAX_CONNECTIONS);
  if (earlier !== undefined) await empty(pool);
  return { url, pool };
}
