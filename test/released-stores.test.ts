/** A journal or mail store that a released version has written opens in each later one. */
import { hash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { openMailStore } from "../src/mail/store.ts";
import { createPostgresUrl } from "./support/postgres.ts";
import { GATEWAY_TOKEN, type Service, startService } from "./support/service.ts";
import { FAILED_REQUEST, PENDING, READY, SUSPECT_DELIVERY, SUSPECT_RUN } from "../src/core/journal/conditions.ts";
import { VERSION_1 as MAIL } from "../src/mail/version-1.ts";
import { VERSION_1 as POSTGRES } from "../src/stores/postgres/version-1.ts";
import { VERSION_1 as SQLITE } from "../src/stores/sqlite/version-1.ts";

test.each([
  ["an SQLite journal", SQLITE, "ff31fd15e5544ab0c3f2177f82d65bbd7e49acb4a50bc7dbb42ba9a2c682f94a"],
  ["a PostgreSQL journal", POSTGRES, "eb5c1b30cbfce47b31d0e03fe44f734540dd3916b7566fa1b06fa44a5f51969d"],
  ["a mail store", MAIL, "0db40c5984065ce0bd8dc20f288de9c551ec1b41e8696045437fea7ce176f041"],
])("the tables of version 1 of %s are as 0.1.0 creates them: a later column is a migration", (_, version, digest) => {
  expect(hash("sha256", version)).toBe(digest);
});

test.each([
  ["SQLite", SQLITE],
  ["PostgreSQL", POSTGRES],
])("the partial indexes of %s have the conditions that statements name", (_, version) => {
  for (const condition of [FAILED_REQUEST, PENDING, READY, SUSPECT_DELIVERY, SUSPECT_RUN]) {
    expect(version).toContain(`WHERE ${condition}`);
  }
});

const FIXTURES = path.join(import.meta.dirname, "fixtures/journal-0.1.0");
const read = (name: string): Buffer => gunzipSync(readFileSync(path.join(FIXTURES, `${name}.gz`)));

/** Sessions whose turns had not ended. */
const CONTINUED = ["decided", "held", "joined", "running", "waiting"];

let service: Service;

test("an SQLite journal of 0.1.0 opens, shows each kind of row, and its work goes on", async () => {
  const done = await showAndContinue({}, (folder) => {
    mkdirSync(path.join(folder, "state"), { recursive: true });
    for (const name of ["journal.db", "mail.db"]) writeFileSync(path.join(folder, "state", name), read(name));
  });
  expect(done).toEqual(expect.arrayContaining(CONTINUED));
  const mails = await openMailStore({
    folder: path.join(service.folder, "state"),
    mailbox: "imap://ann@mail.example.com",
  });
  expect(await mails?.folder("INBOX")).toMatchObject({ position: "2", setAside: 1 });
  expect(await mails?.findKnown(["a", "b", "c"])).toEqual(new Set(["a", "b"]));
  expect(await mails?.refreshTokens.find("configured")).toBe("replaced");
  await mails?.close();
});

test("a PostgreSQL journal of 0.1.0 opens, shows each kind of row, and its work goes on", async () => {
  const url = await createPostgresUrl();
  const client = new Client(url);
  await client.connect();
  await client.query("DROP SCHEMA hookline CASCADE");
  await client.query(read("journal.sql").toString());
  await client.end();
  expect(await showAndContinue({ url })).toEqual(expect.arrayContaining(CONTINUED));
});

/** The sessions whose turns are done in the end. */
async function showAndContinue(store: object, prepare?: (folder: string) => void): Promise<unknown[] | undefined> {
  const command: [string, ...string[]] = ["sh", "-c", "cat > /dev/null; echo Done later."];
  const config: UserConfig = {
    store: { path: "state", retention: { maxAge: "36500d" }, ...store },
    agents: {
      defaults: { model: "own/program" },
      providers: { own: { kind: "command", sandbox: false, command } },
    },
  };
  service = await startService({ config, prepare });
  onTestFinished(() => service.close());
  const { events } = await list("events");
  expect(events).toHaveLength(22);
  expect(events?.map(({ status }) => status)).toEqual(
    expect.arrayContaining(["canceled", "failed", "refused", "skipped", "done"]),
  );
  const { approvals } = await list("approvals");
  expect(approvals).toMatchObject([{ state: "denied", reason: "Not now." }, { call: "tickets.create" }]);
  const { deliveries } = await list("deliveries");
  expect(deliveries?.at(-1)).toMatchObject({ state: "sent", to: "C1", partsSent: 1 });
  const { sessions } = await list("sessions");
  expect(sessions?.map(({ key }) => key).toSorted()).toEqual(
    expect.arrayContaining(["done", "main", "pieces", "wide"]),
  );
  const { entries } = await service.api("/api/sessions/done");
  expect(entries).toMatchObject([{ text: "Hello." }, { text: "Done." }]);
  const { runs } = await list("runs");
  const wide = runs?.find(({ sessionKey }) => sessionKey === "wide");
  const body = await fetch(`${service.url}/api/events/${String(wide?.["eventId"])}/body`, {
    headers: { authorization: `Bearer ${GATEWAY_TOKEN}` },
  });
  expect(await body.text()).toHaveLength(200_000);
  expect(await service.api("/api/spend?since=2025-01-01")).toMatchObject({
    spend: expect.arrayContaining([expect.objectContaining({ model: "local/small" })]),
  });
  const open = async () => {
    const all = (await list("runs")).runs ?? [];
    return all.filter(({ state }) => !["done", "failed", "canceled"].includes(String(state)));
  };
  await expect.poll(open).toEqual([]);
  const done = (await list("runs")).runs?.filter(({ state }) => state === "done");
  return done?.map(({ sessionKey }) => sessionKey);
}

type Row = Record<string, unknown>;

async function list(name: string): Promise<Record<string, Row[]>> {
  return service.api(`/api/${name}?limit=100`);
}
