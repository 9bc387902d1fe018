import { existsSync, mkdirSync, mkdtempSync, rmSync, statfsSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { DriverError } from "../../core/errors.ts";
import { openHome, watchRoom } from "./home.ts";

let folder: string;
beforeEach(() => void (folder = mkdtempSync(path.join(tmpdir(), "hookline-home-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (key: string, { runId = "run", isNew = false, idleMs = Infinity } = {}): ReturnType<typeof openHome> =>
  openHome(folder, key, { runId, isNew, keepsWork: false, idleMs });

test("homes that nobody used for so long are removed, and those in use are not", async () => {
  const [old, used, young] = await Promise.all(["old", "used", "young"].map((key) => open(key)));
  for (const home of [old!, used!]) utimesSync(path.join(home.folder, "tmp"), 1, 1);
  for (const home of [old!, young!]) {
    home.keep({});
    home.close();
  }
  const another = await open("another", { idleMs: 60_000 });
  expect([old, used, young].map((home) => existsSync(home!.folder))).toEqual([false, true, true]);
  another.close();
  used!.close();
});

test.each([
  ["ends well", {}, { isNew: false }, true],
  ["ends well, and the session is new", {}, { isNew: true }, false],
  ["ends well, and whose result was lost: the same run begins again", { runId: "run" }, {}, false],
  ["ends well, before another run", { runId: "run" }, { runId: "other" }, true],
  ["waits, and goes on", { runId: "run", waiting: { calls: 1 } }, { isNew: true }, true],
  ["waits, and another run begins", { runId: "run", waiting: { calls: 1 } }, { runId: "other" }, false],
  ["does not end", undefined, {}, false],
])("what a turn leaves that %s", async (_, state, next, isKept) => {
  const first = await open("a");
  first.begin();
  writeFileSync(path.join(first.folder, "home/word"), "heron");
  if (state) first.keep(state);
  first.close();
  const second = await open("a", next);
  expect(existsSync(path.join(second.folder, "home/word"))).toBe(isKept);
  second.close();
});

const { bavail, bsize } = statfsSync(tmpdir());
const FREE = bavail * bsize;

test.each([
  ["the disk is nearly full", { free: 2 * FREE, used: Infinity }, "under 1 GB of the disk is free"],
  ["the session has used its share", { free: 0, used: 50_000 }, "its files have over 2 GiB"],
])("a turn is ended once %s", async (_, room, reason) => {
  mkdirSync(path.join(folder, "work/deep"), { recursive: true });
  writeFileSync(path.join(folder, "work/deep/a"), Buffer.alloc(100_000, "x"));
  const ended = Promise.withResolvers<DriverError>();
  const stop = watchRoom(folder, ended.resolve, { ...room, everyMs: 1 });
  const error = await ended.promise;
  stop();
  expect(error).toBeInstanceOf(DriverError);
  expect(error).toMatchObject({ retryable: false, message: expect.stringContaining(reason) });
});

test("a turn within its room is not ended, nor one whose watch was stopped", async () => {
  const room = { free: 0, used: Infinity, everyMs: 1 };
  const ended: DriverError[] = [];
  watchRoom(folder, (error) => ended.push(error), room)();
  const stop = watchRoom(folder, (error) => ended.push(error), room);
  await new Promise((resolve) => setTimeout(resolve, 20));
  stop();
  expect(ended).toEqual([]);
});
