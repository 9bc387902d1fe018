import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createPostgresJournal } from "../../src/journal/postgres/postgres.ts";
import { silentTelemetry } from "../../src/telemetry/telemetry.ts";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";

/**
 * For vitest's `globalSetup`: one PostgreSQL server for all tests of a run, which starts when the first test asks for a
 * database. See `postgres.ts`.
 */
export default async function setup(): Promise<() => Promise<void>> {
  let server: Promise<PostgresServer> | undefined;
  let template: Promise<string> | undefined;
  const desk = createServer((_request, response) => {
    server ??= startPostgres({ durable: false });
    template ??= server.then(createTemplate);
    Promise.all([server, template])
      .then(([started, name]) => started.createUrl(name))
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
    await (await server)?.remove();
  };
}

/** A database with the tables: a copy of it takes a tenth of the time. */
async function createTemplate(server: PostgresServer): Promise<string> {
  const url = await server.createUrl();
  const journal = await createPostgresJournal({
    url,
    maxConnections: 1,
    commitTimeoutMs: 5000,
    telemetry: silentTelemetry,
  });
  await journal.close();
  return new URL(url).pathname.slice(1);
}
