/**
 * The service watches a real Dovecot during all kinds of failures. `HOOKLINE_LONG=1` uses 10,000 mails,
 * `HOOKLINE_SEED` changes them.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestBed, type TestBed } from "./mail/test-bed.ts";
import { createTracker, type Tracker } from "./mail/tracker.ts";
import * as phases from "./mail/phases.ts";

const SEED = Number(process.env.HOOKLINE_SEED ?? 1);
const SCALE = process.env.HOOKLINE_LONG ? 14 : 1;
const NOTHING_WRONG = { lost: 0, double: 0 };

const rows: Record<string, object> = {};
let testBed: TestBed;
let tracker: Tracker;

beforeAll(async () => {
  testBed = await createTestBed(SEED);
  await testBed.service.start();
  await testBed.service.mailIs("watching");
  tracker = createTracker(testBed);
});

afterAll(async () => {
  console.table(rows);
  await testBed.close();
});

test.for([
  { name: "it runs", phase: phases.whileItRuns, mails: 150, times: 1 },
  { name: "it is down", phase: phases.whileItIsDown, mails: 100, times: 1 },
  { name: "connections are cut", phase: phases.whileConnectionsAreCut, mails: 80, times: 3 },
  { name: "the mail server is down", phase: phases.whileTheServerIsDown, mails: 50, times: 1 },
  { name: "it is killed", phase: phases.whileItIsKilled, mails: 100, times: 4 },
  { name: "the login is refused", phase: phases.whileTheLoginIsRefused, mails: 50, times: 1 },
  { name: "a folder is missing", phase: phases.whileAFolderIsGone, mails: 50, times: 1 },
  { name: "uids change", phase: phases.whileUidsChange, mails: 80, times: 2 },
  { name: "mail run and it are killed", phase: phases.whileMailRunIsKilled, mails: 80, times: 3 },
])("mails sent while $name arrive once each", async ({ name, phase, mails, times }) => {
  const startedAt = performance.now();
  const cutsBefore = testBed.proxy.cuts();
  const finish = await phase(testBed, mails * SCALE, times * SCALE);
  const result = await tracker.waitUntilDone();
  rows[name] = {
    times: times * SCALE,
    "connections cut": testBed.proxy.cuts() - cutsBefore,
    ...result,
    seconds: Math.round((performance.now() - startedAt) / 1000),
  };
  expect(result).toMatchObject(NOTHING_WRONG);
  await finish?.();
});

test("in total, each mail has arrived once, and none was set aside", async () => {
  const result = await tracker.auditAll();
  rows["in total"] = result;
  expect(result).toMatchObject(NOTHING_WRONG);
  const { mail } = await testBed.service.client.api("/api/status");
  expect(mail[0].folders).toMatchObject([{ setAside: 0 }, { setAside: 0 }]);
});
