import { codeOf } from "../../core/errors.ts";
import { silentLog } from "../../core/telemetry/log.ts";
import { integer, type Row, text } from "../../core/journal/columns.ts";
import { createDatabase } from "./database.ts";

/** The settings of the nodes that share a database. */
export interface PoolUse {
  url: string;
  leaseUrl: string | undefined;
  maxConnections: number;
}

/** PgBouncer's console. PostgreSQL has no database of this name. */
const CONSOLE = "pgbouncer";
/** The console's answer to a user who is in neither `admin_users` nor `stats_users`. */
const NOT_ALLOWED = "08P01";

/**
 * Whether renewals of a lease can wait behind the work of the nodes in a PgBouncer, and the fix. undefined: they cannot, or
 * nothing answers that is known to be one.
 */
export async function findPoolProblem(use: PoolUse): Promise<{ message: string; next: string } | undefined> {
  if (use.leaseUrl !== undefined && toPool(use.leaseUrl) !== toPool(use.url)) return undefined;
  const size = await readPoolSize(use.url);
  if (size === undefined) return undefined;
  if (size === "hidden") {
    const message =
      "PgBouncer does not tell this user how large its pool is: renewals of a lease may wait behind other work";
    return { message, next: "set store.leaseUrl past PgBouncer, or add the user to its stats_users" };
  }
  const nodes = await countNodes(use.url);
  const needed = nodes * (use.maxConnections + 1);
  if (size >= needed) return undefined;
  const those = nodes === 1 ? "a node may use" : `${nodes} nodes may use`;
  return {
    message: `PgBouncer's pool has ${size} connections, and ${those} ${needed}: a lease can end while its renewal waits behind other work`,
    next: `set store.leaseUrl past PgBouncer, or its default_pool_size to ${needed}`,
  };
}

/** A pool has connections of one user to one database. */
function toPool(url: string): string {
  const { host, username, pathname } = new URL(url);
  return [host, username, pathname].join(" ");
}

async function readPoolSize(url: string): Promise<number | "hidden" | undefined> {
  const database = createDatabase({ ...ONCE, url: Object.assign(new URL(url), { pathname: CONSOLE }).href });
  try {
    const console = await database.connect();
    try {
      const own = decodeURIComponent(new URL(url).pathname.slice(1));
      const databases = await console.query<Row>("SHOW DATABASES");
      const found = databases.rows.find((row) => row.name === own)?.pool_size;
      if (found !== undefined) return integer(found);
      const settings = await console.query<Row>("SHOW CONFIG");
      return Number(text(settings.rows.find(({ key }) => key === "default_pool_size")?.value));
    } finally {
      await console.end();
    }
  } catch (error) {
    return codeOf(error) === NOT_ALLOWED ? "hidden" : undefined;
  } finally {
    await database.close();
  }
}

/** The nodes that run, or one that is about to. */
async function countNodes(url: string): Promise<number> {
  const database = createDatabase({ ...ONCE, url });
  try {
    const row = await database.read(({ get }) => get(COUNT_NODES));
    return Math.max(1, integer(row?.nodes));
  } catch {
    // There are no tables before the first start.
    return 1;
  } finally {
    await database.close();
  }
}

const COUNT_NODES = "SELECT count(*) AS nodes FROM hookline.nodes WHERE until > hookline.now_ms()";

const ONCE = { maxConnections: 1, commitTimeoutMs: 0, log: silentLog };
