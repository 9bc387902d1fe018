import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTemporaryFolder } from "./temporary-folder.ts";

let parent: string;
beforeEach(() => {
  parent = mkdtempSync(path.join(tmpdir(), "parent-"));
});
afterEach(() => rmSync(parent, { recursive: true }));

test("only the folders of ended processes are removed", async () => {
  const gone = spawn(process.execPath, ["--version"]);
  await once(gone, "exit");
  const mine = createTemporaryFolder(parent);
  const stale = mine.replace(`-${process.pid}-`, `-${gone.pid}-`);
  const elsewhere = mine.replace(/hookline-\d+-\d+(?=-\w+$)/, `hookline-1-${gone.pid}`);
  const strange = path.join(parent, "hookline-notes");
  for (const folder of [stale, elsewhere, strange]) mkdirSync(folder);

  const second = createTemporaryFolder(parent);
  expect([mine, second, elsewhere, strange, stale].map((folder) => existsSync(folder))).toEqual([
    true,
    true,
    true,
    true,
    false,
  ]);
});
