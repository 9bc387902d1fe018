import {
  appendFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { silentLog } from "../../core/telemetry/log.ts";
import { createWatcher, type Watcher } from "./watch.ts";

let folder: string;
let watcher: Watcher;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-watch-"));
});

afterEach(async () => {
  await watcher.close();
  rmSync(folder, { recursive: true });
});

test("changes in the state folder are ignored, even inside a followed folder", async () => {
  const stateDir = path.join(folder, ".webhooks");
  mkdirSync(stateDir);
  writeFileSync(path.join(stateDir, "journal.db"), "one");
  const changed = await follow([folder], { stateDir });
  appendFileSync(path.join(stateDir, "journal.db"), "two");
  await sleep(300);
  expect(changed).not.toHaveBeenCalled();
});

test("a link in a followed folder is not followed to a place outside", async () => {
  const [root, outside] = [path.join(folder, "root"), path.join(folder, "outside")];
  for (const made of [root, outside]) mkdirSync(made);
  writeFileSync(path.join(outside, "file"), "one");
  symlinkSync(outside, path.join(root, "folder"));
  symlinkSync(path.join(outside, "file"), path.join(root, "file"));
  const changed = await follow([root]);
  appendFileSync(path.join(outside, "file"), "two");
  writeFileSync(path.join(outside, "new"), "one");
  await sleep(300);
  expect(changed).not.toHaveBeenCalled();
  rmSync(path.join(root, "file"));
  writeFileSync(path.join(root, "file"), "a file of the folder now");
  await expect.poll(() => changed.mock.calls.length).toBeGreaterThan(0);
});

test("a followed file may itself be a link to any place", async () => {
  const [root, outside] = [path.join(folder, "root"), path.join(folder, "outside")];
  mkdirSync(root);
  writeFileSync(outside, "one");
  symlinkSync(outside, path.join(root, "file"));
  const changed = await follow([root, path.join(root, "file")]);
  appendFileSync(outside, "two");
  await expect.poll(() => changed.mock.calls.length).toBeGreaterThan(0);
});

test("a link on the way to a followed path may be replaced, in one step or two", async () => {
  for (const name of ["one", "two", "three"]) {
    mkdirSync(path.join(folder, name, "lib"), { recursive: true });
    writeFileSync(path.join(folder, name, "lib/file"), name);
  }
  const link = path.join(folder, "current");
  symlinkSync("one", link);
  const changed = await follow([path.join(link, "lib"), path.join(link, "lib/file")]);
  symlinkSync("two", path.join(folder, "next"));
  renameSync(path.join(folder, "next"), link);
  await expect.poll(() => changed.mock.calls.flat(2)).toContain(link);
  changed.mockClear();
  await sleep(300);
  appendFileSync(path.join(folder, "two/lib/file"), "more");
  await expect.poll(() => changed.mock.calls.length).toBeGreaterThan(0);
  changed.mockClear();
  rmSync(link);
  symlinkSync(path.join(folder, "three"), link);
  await expect.poll(() => changed.mock.calls.flat(2)).toContain(link);
});

test("so it may after its folder was deleted and created again", async () => {
  const app = path.join(folder, "app");
  const link = path.join(app, "current");
  const fill = (): void => {
    for (const name of ["one", "two"]) {
      mkdirSync(path.join(app, name, "lib"), { recursive: true });
      writeFileSync(path.join(app, name, "lib/file"), name);
    }
    symlinkSync("one", link);
  };
  fill();
  const paths = [path.join(link, "lib"), path.join(link, "lib/file")];
  const changed = await follow(paths);
  // At once, as a script does: a folder that is away for longer is watched from the one above it.
  rmSync(app, { recursive: true });
  fill();
  await expect.poll(() => changed.mock.calls.length).toBeGreaterThan(0);
  watcher.follow(paths);
  await sleep(300);
  changed.mockClear();
  symlinkSync("two", path.join(app, "next"));
  renameSync(path.join(app, "next"), link);
  await expect.poll(() => changed.mock.calls.flat(2)).toContain(link);
});

test("a rename is one change, with both names", async () => {
  const [before, after] = [path.join(folder, "before.ts"), path.join(folder, "after.ts")];
  writeFileSync(before, "one");
  const changed = await follow([folder, before]);
  renameSync(before, after);
  await expect.poll(() => changed.mock.calls.flat(2)).toEqual(expect.arrayContaining([before, after]));
  expect(changed).toHaveBeenCalledTimes(1);
});

test.each(["nowhere", "one.ts"])("a file in a followed folder may become a link to %s", async (target) => {
  const [one, other] = [path.join(folder, "one.ts"), path.join(folder, "other.ts")];
  for (const file of [one, other]) writeFileSync(file, "");
  const changed = await follow([folder, other]);
  symlinkSync(target, path.join(folder, "next"));
  renameSync(path.join(folder, "next"), one);
  await sleep(500);
  changed.mockClear();
  watcher.follow([folder, other]);
  await sleep(500);
  expect(changed).not.toHaveBeenCalled();
});

test("a file that was deleted after it was read is one change", async () => {
  const file = path.join(folder, "file");
  writeFileSync(file, "one");
  const changed = vi.fn();
  const since = Date.now();
  rmSync(file);
  watcher = createWatcher({ since: () => since, changed, log: silentLog });
  watcher.follow([file], { polls: true });
  await expect.poll(() => changed.mock.calls.flat(2)).toEqual([file]);
  watcher.follow([file], { polls: true });
  await sleep(1000);
  expect(changed).toHaveBeenCalledTimes(1);
});

test("a missing file of a missing folder is one change once it exists", async () => {
  const file = path.join(folder, "lib/deep/file");
  const changed = await follow([file], { polls: true });
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, "one");
  await expect.poll(() => changed.mock.calls.flat(2)).toEqual([file]);
  await sleep(1000);
  expect(changed.mock.calls).toEqual([[[file]]]);
});

test("a file that was cut is reported once it stands still", async () => {
  const [cut, beside] = [path.join(folder, "cut"), path.join(folder, "beside")];
  for (const file of [cut, beside]) writeFileSync(file, "the whole text");
  const found: string[] = [];
  const changed = vi.fn(() => void found.push(readFileSync(cut, "utf8")));
  // The second half is written as soon as the first was noticed.
  const isCut = (file: string): boolean => {
    if (file !== cut || readFileSync(cut, "utf8") !== "half") return false;
    setTimeout(appendFileSync, 100, cut, " and half");
    return true;
  };
  let since = Infinity;
  watcher = createWatcher({ since: () => since, changed, isCut, log: silentLog });
  watcher.follow([cut, beside]);
  await sleep(300);
  since = Date.now();
  for (const file of [cut, beside]) writeFileSync(file, "half");
  await expect.poll(() => changed.mock.calls.length).toBeGreaterThan(0);
  expect(found).not.toContain("half");
});

/** The ways in which editors, version control and deployments replace `lib/x.ts`. `at`: a name in the folder of the swap. */
const SWAPS: [string, (swap: Swap) => void | Promise<void>][] = [
  ["written in place", ({ write }) => write("lib/x.ts", "two")],
  ["written in two parts", ({ write, at }) => (write("lib/x.ts", "tw"), appendFileSync(at("lib/x.ts"), "o"))],
  ["renamed over", ({ write, move }) => (write("next", "two"), move("next", "lib/x.ts"))],
  ["deleted and created", ({ write, at }) => (rmSync(at("lib/x.ts")), write("lib/x.ts", "two"))],
  [
    "deleted, and created later",
    async ({ write, at }) => {
      rmSync(at("lib/x.ts"));
      await sleep(100);
      write("lib/x.ts", "two");
    },
  ],
  ["moved to a backup and created", ({ write, move }) => (move("lib/x.ts", "lib/x.ts~"), write("lib/x.ts", "two"))],
  [
    "written after a hard link as a backup",
    ({ write, at }) => (linkSync(at("lib/x.ts"), at("backup")), write("lib/x.ts", "two")),
  ],
  ["written behind a hard link", ({ write }) => write("hard.ts", "two")],
  [
    "copied with an older time",
    ({ write, move, at }) => (write("next", "two"), utimesSync(at("next"), 1, 1), move("next", "lib/x.ts")),
  ],
  ["its folder swapped", ({ write, move }) => (write("new/x.ts", "two"), move("lib", "old"), move("new", "lib"))],
  ["its folder deleted and created", ({ write, at }) => (remove(at("lib")), write("lib/x.ts", "two"))],
  [
    "its folder moved away, changed and moved back",
    ({ write, move }) => (move("lib", "away"), write("away/x.ts", "two"), move("away", "lib")),
  ],
  ["the folder above swapped", ({ write, swapAll }) => (write("../next/lib/x.ts", "two"), swapAll())],
  ["replaced by a link", ({ write, link }) => (write("real.ts", "two"), link("../real.ts", "lib/x.ts"))],
  [
    "its folder replaced by a link",
    ({ write, at, link }) => (write("new/x.ts", "two"), remove(at("lib")), link("new", "lib")),
  ],
  ["linked: the link renamed over", ({ write, link }) => (write("new/x.ts", "two"), link("new", "current"))],
  [
    "linked: the link deleted and created",
    ({ write, at, link }) => (write("new/x.ts", "two"), rmSync(at("current")), link("new", "current")),
  ],
  ["linked: the link becomes a folder", ({ write, at }) => (rmSync(at("current")), write("current/x.ts", "two"))],
  ["linked: the folder behind the link made anew", ({ write, at }) => (remove(at("lib")), write("lib/x.ts", "two"))],
  ["linked: the file behind the link renamed over", ({ write, move }) => (write("n", "two"), move("n", "lib/x.ts"))],
  ["chained: the last link", ({ write, link }) => (write("new/x.ts", "two"), link("new", "current"))],
  ["chained: the first link", ({ write, link }) => (write("new/x.ts", "two"), link("new", "chain"))],
  [
    "a ConfigMap: its version swapped and the old one deleted",
    ({ write, at, link }) => (write("new/x.ts", "two"), link("new", "current"), remove(at("lib"))),
  ],
];

test("a file is noticed however it is replaced, and once more after that", { timeout: 60_000 }, async () => {
  const swaps = SWAPS.map(([name, run], index) => ({ name, run, ...openSwap(name, path.join(folder, String(index))) }));
  watcher = createWatcher({ since: Date.now, changed() {}, log: silentLog });
  onTestFinished(async () => void (await Promise.all(swaps.map((swap) => swap.watcher.close()))));
  await sleep(500);
  const listUnnoticed = (text: string): string[] =>
    swaps.filter(({ noticed }) => noticed() !== text).map(({ name }) => name);
  await Promise.all(swaps.map(async ({ run, swap }) => run(swap)));
  await expect.poll(() => listUnnoticed("two"), { timeout: 20_000 }).toEqual([]);
  for (const { file } of swaps) writeFileSync(file, "three");
  await expect.poll(() => listUnnoticed("three"), { timeout: 20_000 }).toEqual([]);
});

interface Swap {
  at(name: string): string;
  write(name: string, text: string): void;
  move(from: string, to: string): void;
  /** Replaces what has the name by a link, in one step. */
  link(target: string, name: string): void;
  /** Replaces the whole folder by the one beside it. */
  swapAll(): void;
}

/** A folder with `lib/x.ts`, which is watched by the way that the name of the swap says. */
function openSwap(name: string, outer: string): { file: string; swap: Swap; watcher: Watcher; noticed(): string } {
  const at = (inner: string): string => path.join(outer, "app", inner);
  const move = (from: string, to: string): void => renameSync(at(from), at(to));
  const write = (inner: string, text: string): void => {
    mkdirSync(path.dirname(at(inner)), { recursive: true });
    writeFileSync(at(inner), text);
  };
  const link = (target: string, inner: string): void => {
    symlinkSync(target, at("next-link"));
    move("next-link", inner);
  };
  write("lib/x.ts", "one");
  linkSync(at("lib/x.ts"), at("hard.ts"));
  link("lib", "current");
  link("current", "chain");
  if (name.startsWith("a ConfigMap")) link("current/x.ts", "mounted.ts");
  const [kind = ""] = name.split(":");
  const way = { linked: "current/x.ts", chained: "chain/x.ts", "a ConfigMap": "mounted.ts" }[kind] ?? "lib/x.ts";
  const file = at(way);
  const paths = [path.dirname(file), file];
  let noticed = "";
  const own = createWatcher({
    since: Date.now,
    changed() {
      noticed = readFileSync(file, "utf8");
      // The service does so after each reload.
      own.follow(paths);
    },
    log: silentLog,
  });
  own.follow(paths);
  const swapAll = (): void => {
    renameSync(path.join(outer, "app"), path.join(outer, "old"));
    renameSync(path.join(outer, "next"), path.join(outer, "app"));
  };
  return { file, swap: { at, write, move, link, swapAll }, watcher: own, noticed: () => noticed };
}

function remove(folderOrFile: string): void {
  rmSync(folderOrFile, { recursive: true });
}

/** Follows these paths, and waits until their watches are set up. */
async function follow(
  paths: string[],
  { stateDir, polls = false }: { stateDir?: string; polls?: boolean } = {},
): Promise<ReturnType<typeof vi.fn>> {
  const changed = vi.fn();
  let since = Infinity;
  watcher = createWatcher({ since: () => since, changed, stateDir, log: silentLog });
  watcher.follow(paths, { polls });
  await sleep(300);
  since = Date.now();
  return changed;
}
