/**
 * `kill -9` during turns whose calls change something: no call is executed twice, and none is lost silently. Short here;
 * `KILLS=500 SEED=7 npx vitest run --config test/vitest.config.ts test/faults/effects.test.ts` is as long as one likes.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createGate } from "../support/gate.ts";
import { createPostgresUrl } from "../support/postgres.ts";
import { openService } from "../support/service.ts";
import { copyAtCommits } from "./effects/copy-at-commit.ts";
import { killAtRandom } from "./effects/random-kills.ts";
import { finishTurn, postTurn, prepareTurn } from "./effects/turn.ts";

const { KILLS, SEED = 1 } = process.env;
const kills = Number(KILLS ?? 1);
const TIMEOUT_MS = 1_800_000 + kills * 60_000;

/** A message between two commits is sent when a kill comes before the second, and not yet when it comes after the first. */
test("what a kill leaves before and after each commit", async () => {
  const turn = await prepareTurn("http");
  const copies = `${turn.folder}-copies`;
  const copying = copyAtCommits(turn.folder, copies);
  const service = await openService(turn.folder);
  // The turn stops at its model until copies are made.
  const { passed, open } = createGate();
  turn.modelWaitsFor = passed;
  const { body } = await postTurn(service);
  copying.begin();
  open();
  await finishTurn(service, turn, body.eventId);
  copying.end();
  await service.hookline.close();

  // Where nothing happens between a commit and the next one, a kill leaves the same after the first and before the second.
  const states = new Map(readdirSync(copies).map((moment) => [hashFiles(path.join(copies, moment)), moment]));
  const moments = [...states.values()].toSorted();
  let unknown = 0;
  for (const moment of moments) {
    const copy = path.join(copies, moment);
    turn.continueFrom(copy);
    const next = await openService(copy);
    const report = await finishTurn(next, turn, body.eventId);
    await next.close();
    expect([moment, report]).toEqual([moment, { twice: 0, wrong: 0, unknown: report.unknown }]);
    unknown += report.unknown;
  }
  await turn.close();
  rmSync(copies, { recursive: true });
  console.log(`${moments.length} moments: nothing twice or lost, ${unknown} outcomes that a person said`);
  expect(moments.length).toBeGreaterThan(10);
  expect(unknown).toBeGreaterThan(0);
});

/** Hashes all files except the one in which the processes of a database share their locks. */
function hashFiles(folder: string): string {
  const hash = createHash("sha256");
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted()) {
    const file = path.join(folder, name);
    if (statSync(file).isFile() && !name.endsWith("-shm")) hash.update(`${name}\0`).update(readFileSync(file));
  }
  return hash.digest("hex");
}

/** The short form has only PostgreSQL: on SQLite, the test above has each commit. */
const STORES = KILLS === undefined ? ["PostgreSQL"] : ["SQLite", "PostgreSQL"];

test.each(STORES)("kills at any moment, on %s", { timeout: TIMEOUT_MS }, async (name) => {
  const store = name === "SQLite" ? undefined : { url: await createPostgresUrl() };
  const report = await killAtRandom({ store, nodes: store ? 2 : 1, kills, seed: Number(SEED) });
  console.log(`${kills} kills at any moment on ${name}: ${JSON.stringify(report)}`);
  expect(report).toMatchObject({ turns: kills, twice: 0, wrong: 0 });
});

/** The control: it says only what the others prevent. */
test.runIf(KILLS !== undefined)(
  "the same turn as a plain loop, which starts again after a kill, repeats what it has done",
  async () => {
    const turn = await prepareTurn("http");
    const record = path.join(turn.folder, "calls");
    const program = fileURLToPath(import.meta.resolve("./effects/plain-loop.ts"));
    const runLoop = (killAfter: number) =>
      promisify(execFile)(process.execPath, [program, turn.models.baseUrl, record, `${killAfter}`]);
    await expect(runLoop(1)).rejects.toMatchObject({ signal: "SIGKILL" });
    expect(await runLoop(0)).toEqual({ stdout: "All done.\n", stderr: "" });
    expect(readFileSync(record, "utf8").trim().split("\n")).toHaveLength(4);
    await turn.close();
  },
);
