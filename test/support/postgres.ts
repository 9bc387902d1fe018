import { Client } from "pg";

/** The URL of a new, empty database of the server that all tests share, or of the one that the environment names. */
export async function createPostgresUrl(): Promise<string> {
  const desk = process.env.HOOKLINE_TEST_POSTGRES;
  if (desk === undefined) throw new Error("there is no PostgreSQL: vitest's globalSetup has not run");
  const response = await fetch(new URL(process.env.HOOKLINE_TEST_POSTGRES_SERVER ?? "/", desk));
  const text = await response.text();
  if (!response.ok) throw new Error(`PostgreSQL did not start: ${text}`);
  return text;
}

/** The id of the node that was seen last, of those that are not known. */
export async function findNewNode(url: string, known: string[] = []): Promise<string> {
  const sql = "SELECT id FROM hookline.nodes WHERE id <> ALL($1::text[]) ORDER BY seen_at DESC LIMIT 1";
  return String((await query(url, sql, known))[0]?.id);
}

/** For a node that was killed: the others would wait up to 15 seconds for its lease to end. */
export async function endLease(url: string, node: string): Promise<void> {
  await query(url, "UPDATE hookline.nodes SET until = 0 WHERE id = ANY($1::text[])", [node]);
}

async function query(url: string, sql: string, nodes: string[]): Promise<{ id: string }[]> {
  const client = new Client(url);
  await client.connect();
  try {
    return (await client.query(sql, [nodes])).rows;
  } finally {
    await client.end();
  }
}
