/** A journal or mail store that a released version has written opens in each later one. */
import { hash } from "node:crypto";
import { expect, test } from "vitest";
import { FAILED_REQUEST, PENDING, READY, SUSPECT_DELIVERY, SUSPECT_RUN } from "../src/core/journal/tables.ts";
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
