import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { rootCertificates } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { createDatabase, type Sql } from "../src/stores/postgres/database.ts";
import { silentLog } from "../src/core/telemetry/log.ts";
import { CERTIFICATE } from "./support/certificate.ts";
import { createPostgresUrl } from "./support/postgres.ts";
import { startService } from "./support/service.ts";

let folder: string;
let database: URL;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-tls-"));
  write("ca.pem", CERTIFICATE.cert);
  write("other-ca.pem", rootCertificates[0]!);
  write("password", "secret\n");
  database = new URL(await createPostgresUrl());
  // The name in the certificate.
  database.hostname = "localhost";
});
afterAll(() => rmSync(folder, { recursive: true }));

function write(name: string, text: string): void {
  writeFileSync(path.join(folder, name), text);
  chmodSync(path.join(folder, name), 0o600);
}

function toUrl(query: Record<string, string>, change: Partial<URL> = {}): string {
  const url = Object.assign(new URL(database), change);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url.href;
}

const verified = (): Record<string, string> => ({ sslmode: "verify-full", sslrootcert: path.join(folder, "ca.pem") });

async function start(store: UserConfig["store"]) {
  return startService({ config: { store } });
}

test("the service stores its state over TLS, with a password from a file", async () => {
  const service = await start({
    url: toUrl(verified(), { password: "" }),
    password: `\${file:${path.join(folder, "password")}}`,
  });
  const { body } = await service.post("agent", { message: "Hello.", deliver: false });
  expect(await service.settled(body.eventId)).toMatchObject({ status: "done" });
  const plain = createDatabase({ url: toUrl({}), maxConnections: 1, commitTimeoutMs: 60_000, log: silentLog });
  const rows = await plain.read(({ all }) =>
    all(`SELECT ssl, version FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
         WHERE application_name = 'hookline' AND pid <> pg_backend_pid() AND datname = current_database()`),
  );
  expect(rows.length).toBeGreaterThan(0);
  for (const row of rows) expect(row).toEqual({ ssl: true, version: "TLSv1.3" });
  await plain.close();
  await service.close();
});

describe("the service does not start", () => {
  test.each([
    ["with the certificate of another authority", { sslrootcert: "other-ca.pem" }, {}],
    ["without sslrootcert", { sslrootcert: "" }, {}],
  ])("%s", async (_, change, url) => {
    const { sslrootcert } = change;
    const query = { ...verified(), sslrootcert: sslrootcert && path.join(folder, sslrootcert) };
    await expect(start({ url: toUrl(query, url) })).rejects.toThrow(
      "store.url: the database's certificate is not trusted (self-signed certificate): " +
        "set sslrootcert to a file with the certificate of its authority",
    );
  });

  test("if the certificate is of another host", async () => {
    await expect(start({ url: toUrl(verified(), { hostname: "127.0.0.1" }) })).rejects.toThrow(
      /store\.url: the database's certificate is of another host \(.*127\.0\.0\.1 is not in the cert's list/,
    );
  });

  test("with a file for sslrootcert that does not exist", async () => {
    const query = { ...verified(), sslrootcert: path.join(folder, "none.pem") };
    await expect(start({ url: toUrl(query) })).rejects.toThrow(
      /store\.url: the database cannot be used: ENOENT: no such file or directory, open '.*none\.pem'/,
    );
  });

  test("with a wrong password, and the error does not show it", async () => {
    const started = start({ url: toUrl(verified(), { password: "" }), password: "wrong-password" });
    await expect(started).rejects.toThrow(/store\.url: the database cannot be used: password authentication failed/);
    await expect(started).rejects.not.toThrow("wrong-password");
  });
});

test("a connection that is opened later needs no file that the URL names", async () => {
  write("gone.pem", CERTIFICATE.cert);
  const url = toUrl({ ...verified(), sslrootcert: path.join(folder, "gone.pem") });
  const opened = createDatabase({ url, maxConnections: 1, commitTimeoutMs: 0, log: silentLog });
  const ask = ({ get }: Pick<Sql, "get">) => get("SELECT pg_backend_pid() AS pid");
  const first = await opened.transact(ask);
  rmSync(path.join(folder, "gone.pem"));
  const admin = createDatabase({ url: database.href, maxConnections: 1, commitTimeoutMs: 0, log: silentLog });
  await admin.transact(({ run }) => run("SELECT pg_terminate_backend($1, 10000)", [Number(first?.["pid"])]));
  await admin.close();
  // The pool learns only by the first that the connection is gone.
  const later = await opened.transact(ask).catch(() => opened.transact(ask));
  expect(later?.["pid"]).not.toBe(first?.["pid"]);
  await opened.close();
});

test("a database that refuses the service later is unavailable, not an internal error", async () => {
  const admin = createDatabase({ url: database.href, maxConnections: 1, commitTimeoutMs: 60_000, log: silentLog });
  const role = "hookline_later";
  await admin.transact(async ({ run }) => {
    await run(`CREATE ROLE ${role} LOGIN SUPERUSER PASSWORD 'first'`);
  });
  const url = toUrl(verified(), { username: role, password: "first" });
  const service = await start({ url });
  await admin.transact(async ({ run }) => {
    await run(`ALTER ROLE ${role} PASSWORD 'second'`);
  });
  // In another transaction: until the first is committed, the service could connect again.
  await admin.transact(async ({ run }) => {
    await run("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = $1", [role]);
  });
  expect(await service.post("agent", { message: "Hello." })).toMatchObject({
    status: 503,
    headers: expect.anything(),
  });
  await admin.transact(async ({ run }) => {
    await run(`ALTER ROLE ${role} PASSWORD 'first'`);
  });
  await expect.poll(async () => (await service.post("agent", { message: "Hello.", deliver: false })).status).toBe(202);
  await service.close();
  await admin.close();
});
