import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createPostgresJournal } from "../../src/stores/postgres/postgres.ts";
import { silentTelemetry } from "../../src/core/telemetry/telemetry.ts";
import { CERTIFICATE } from "./certificate.ts";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";

export interface Databases {
  /** The URL of a new database. */
  createUrl(): Promise<string>;
  remove(): Promise<void>;
}

/**
 * For vitest's `globalSetup`: one PostgreSQL server for all tests of a run, which starts when the first test asks for a
 * database. See `postgres.ts`.
 */
export default function setup(): Promise<() => Promise<void>> {
  return serveDatabases({
    "/": async () => withTables(await startPostgres({ durable: false, certificate: CERTIFICATE })),
  });
}

/** Each path has a server. Returns the function that ends them. */
export async function serveDatabases(servers: Record<string, () => Promise<Databases>>): Promise<() => Promise<void>> {
  const started = new Map<string, Promise<Databases>>();
  const desk = createServer(({ url: path = "/" }, response) => {
    const start = servers[path] ?? (() => Promise.reject(new Error(`there is no server ${path}`)));
    const server = started.get(path) ?? start();
    started.set(path, server);
    server
      .then(({ createUrl }) => createUrl())
      .then(
        (url) => response.end(url),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
  });
  await new Promise<void>((resolve) => desk.listen(0, "127.0.0.1", resolve));
  desk.unref();
  process.env.HOOKLINE_TEST_POSTGRES = `http://127.0.0.1:${(desk.address() as AddressInfo).port}`;
  return async () => {
    desk.close();
    await Promise.all([...started.values()].map(async (server) => (await server).remove()));
  };
}

/** Its databases have the tables: a copy takes a tenth of the time. */
export async function withTables(server: PostgresServer): Promise<Databases> {
  const url = await server.createUrl();
  const journal = await createPostgresJournal({
    url,
    maxConnections: 1,
    commitTimeoutMs: 60_000,
    telemetry: silentTelemetry,
  });
  await journal.close();
  const template = new URL(url).pathname.slice(1);
  return { createUrl: () => server.createUrl(template), remove: () => server.remove() };
}
