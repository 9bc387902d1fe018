/**
 * `kill -9` during turns whose calls change something: no call is executed twice, and none is lost silently. Short here;
 * `KILLS=500 SEED=7 npx vitest run --config test/vitest.config.ts test/faults/effects.test.ts` is as long as one likes.
 */
import { execFile } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createClient, waitFor } from "../support/client.ts";
import { createGate } from "../support/gate.ts";
import { createPostgresUrl } from "../support/postgres.ts";
import { type ServiceProcess, startProcess } from "../support/process.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN } from "../support/service.ts";
import { killAtRandom } from "./effects/random-kills.ts";
import { type EffectTurn, finishTurn, postTurn, prepareTurn, type TurnReport } from "./effects/turn.ts";

const { KILLS, SEED = 1 } = process.env;
const kills = Number(KILLS ?? 2);
/** What is sent between two commits is done when a kill comes before the second, and not yet when it comes after the first. */
const SIDES = KILLS === undefined ? (["before"] as const) : (["before", "after"] as const);
const TIMEOUT_MS = 1_800_000 + kills * 60_000;
const TOKENS = { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN };
const PRELOAD = path.join(import.meta.dirname, "effects/kill-at-commit.mjs");

/** More than a turn has. */
const MAX_COMMITS = 100;

/** True if the turn ends before the commit that kills the service. */
async function isDoneBefore(service: ServiceProcess, turn: EffectTurn, eventId: string): Promise<boolean> {
  let isDead = false;
  service.child.once("exit", () => (isDead = true));
  const kill = waitFor(() => isDead, "the kill");
  // It fails with the kill.
  const survived = finishTurn(createClient(service.url, TOKENS), turn, eventId).catch(() => kill);
  const isDone = (await Promise.race([survived, kill])) !== true;
  if (isDone) await service.end("SIGKILL");
  rmSync(toKillFile(turn));
  return isDone;
}

const toKillFile = ({ folder }: EffectTurn): string => path.join(folder, "kill");

test.each(SIDES)("a kill %s each commit", { timeout: TIMEOUT_MS }, async (side) => {
  const turn = await prepareTurn("http");
  const env = { NODE_OPTIONS: `--import=${PRELOAD}`, HOOKLINE_KILL_AT: toKillFile(turn) };
  const reports: TurnReport[] = [];
  // The service that finishes a turn begins the next one.
  let service = await startProcess(turn.configFile, env);
  for (let commit = 1; commit < MAX_COMMITS; commit++) {
    // The commits are counted once the file is there, so the turn stops at its model until then.
    const { passed, open } = createGate();
    turn.modelWaitsFor = passed;
    const { body } = await postTurn(createClient(service.url, TOKENS));
    writeFileSync(toKillFile(turn), `${commit} ${side}`);
    open();
    if (await isDoneBefore(service, turn, body.eventId)) break;
    service = await startProcess(turn.configFile, env);
    const report = await finishTurn(createClient(service.url, TOKENS), turn, body.eventId);
    reports.push(report);
    expect([commit, side, report]).toEqual([commit, side, { twice: 0, wrong: 0, unknown: report.unknown }]);
  }
  await turn.close();
  const unknown = reports.reduce((sum, report) => sum + report.unknown, 0);
  console.log(
    `${reports.length} kills ${side} a commit: nothing twice or lost, ${unknown} outcomes that a person said`,
  );
  expect(reports.length).toBeGreaterThan(5);
  expect(unknown).toBeGreaterThan(0);
});

/** The short form has only PostgreSQL: on SQLite, the test above kills at each commit. */
const STORES = KILLS === undefined ? ["PostgreSQL"] : ["SQLite", "PostgreSQL"];

test.each(STORES)("kills at any moment, on %s", { timeout: TIMEOUT_MS }, async (name) => {
  const store = name === "SQLite" ? undefined : { url: await createPostgresUrl() };
  const report = await killAtRandom({ store, nodes: store ? 2 : 1, kills, seed: Number(SEED) });
  console.log(`${kills} kills at any moment on ${name}: ${JSON.stringify(report)}`);
  expect(report).toMatchObject({ turns: kills, twice: 0, wrong: 0 });
});

test("the same turn as a plain loop, which starts again after a kill, repeats what it has done", async () => {
  const turn = await prepareTurn("http");
  const record = path.join(turn.folder, "calls");
  const program = fileURLToPath(import.meta.resolve("./effects/plain-loop.ts"));
  const runLoop = (killAfter: number) =>
    promisify(execFile)(process.execPath, [program, turn.models.baseUrl, record, `${killAfter}`]);
  await expect(runLoop(1)).rejects.toMatchObject({ signal: "SIGKILL" });
  expect(await runLoop(0)).toEqual({ stdout: "All done.\n", stderr: "" });
  expect(readFileSync(record, "utf8").trim().split("\n")).toHaveLength(4);
  await turn.close();
});
