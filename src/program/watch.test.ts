import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { silentLog } from "../telemetry/log.ts";
import { createWatcher, type Watcher } from "./watch.ts";

const folder = mkdtempSync(path.join(tmpdir(), "hookline-watch-"));
let watcher: Watcher;

afterEach(async () => {
  await watcher.close();
  rmSync(folder, { recursive: true });
});

test("changes in the state folder are ignored, even inside a followed folder", async () => {
  const stateDir = path.join(folder, ".webhooks");
  mkdirSync(stateDir);
  writeFileSync(path.join(stateDir, "journal.db"), "one");
  const changed = vi.fn();
  watcher = createWatcher({ since: () => Infinity, changed, stateDir, log: silentLog });
  watcher.follow([folder]);
  await sleep(300);
  appendFileSync(path.join(stateDir, "journal.db"), "two");
  await sleep(300);
  expect(changed).not.toHaveBeenCalled();
});
