import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { readRegularFile } from "./regular-file.ts";

const folder = mkdtempSync(path.join(tmpdir(), "hookline-files-"));
afterAll(() => rmSync(folder, { recursive: true }));

const pipe = path.join(folder, "pipe");
const link = path.join(folder, "link");
execFileSync("mkfifo", [pipe]);
symlinkSync(pipe, link);

test.each([pipe, link, "/dev/zero", "/dev/null", folder])("%s is refused at once", (file) => {
  expect(() => readRegularFile(file, 10)).toThrow("it is not a regular file");
});

test("a file of the limit's size is read, one byte more is refused", () => {
  const file = path.join(folder, "text");
  writeFileSync(file, "0123456789");
  expect(readRegularFile(file, 10).toString()).toBe("0123456789");
  expect(() => readRegularFile(file, 9)).toThrow("it is over 9 bytes");
});

test.runIf(existsSync("/proc/self/maps"))("a file is read whole that does not know its size", () => {
  expect(readRegularFile("/proc/self/maps", 10_000_000).toString()).toContain("[stack]");
});
