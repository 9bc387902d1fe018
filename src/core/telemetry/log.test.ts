import { spawnSync, type StdioOptions } from "node:child_process";
import { openSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { createLog, toPrintable, toTerminalLine } from "./log.ts";

const at = new Date(2026, 10, 20, 12, 30, 1);

function lineOf(level: "info" | "warn" | "error", msg: string, fields: Record<string, unknown> = {}): string {
  const time = at.toISOString();
  return stripVTControlCharacters(toTerminalLine({ level, time, msg, ...fields }));
}

test("a line is the time here, the level, the message and the fields", () => {
  const fields = { folder: "INBOX", state: "watching", waiting: 2, well: true, error: "" };
  expect(lineOf("info", "mail watch", fields)).toBe(
    '12:30:01 INFO  mail watch folder=INBOX state=watching waiting=2 well=true error=""\n',
  );
});

test("a value of several words is quoted", () => {
  expect(lineOf("warn", "sweep failed", { error: "no space", rule: "a=b" })).toBe(
    '12:30:01 WARN  sweep failed error="no space" rule="a=b"\n',
  );
});

test("a text with quotes is printed below", () => {
  expect(lineOf("warn", "configuration", { warning: '"a" is never reached', generation: 2 })).toBe(
    '12:30:01 WARN  configuration generation=2\n    "a" is never reached\n',
  );
});

test("a text of several lines is printed below, and cannot look like a log line", () => {
  const excerpt = "1 | a\n  | ^\n12:30:01 INFO  all is well";
  expect(lineOf("error", "reload refused", { excerpt, file: "x.ts" })).toBe(
    "12:30:01 ERROR reload refused file=x.ts\n    1 | a\n      | ^\n    12:30:01 INFO  all is well\n",
  );
});

test("no control character of a value reaches the terminal", () => {
  const line = toTerminalLine({
    level: "info",
    time: at.toISOString(),
    msg: "m",
    hook: "a\u001b[2Jb\u009bc\r",
  });
  expect(line).toContain("a\\u001b[2Jb\\u009bc\\u000d");
});

test("an escape sequence cannot reach the terminal", () => {
  expect(toPrintable("a\u001b[2Jb\u009bc\rd\u202ee")).toBe("a\\u001b[2Jb\\u009bc\\u000dd\\u202ee");
});

test("other text is left as it is", () => {
  expect(toPrintable("Zeile 1\n\tline 2, ☃")).toBe("Zeile 1\n\tline 2, ☃");
});

test("beside a live view, a terminal leaves out the results of steps", () => {
  const written = ({ isTTY, hasLiveView }: { isTTY: boolean; hasLiveView: boolean }): string[] => {
    const lines: string[] = [];
    const log = createLog("info", { output: { isTTY, write: (line) => lines.push(line) }, hasLiveView });
    log.info("run done", { step: "turn" });
    log.warn("a reply was too long");
    return lines.flatMap((line) => /run done|too long/.exec(line)?.[0] ?? []);
  };
  expect(written({ isTTY: true, hasLiveView: true })).toEqual(["too long"]);
  expect(written({ isTTY: true, hasLiveView: false })).toEqual(["run done", "too long"]);
  expect(written({ isTTY: false, hasLiveView: true })).toEqual(["run done", "too long"]);
});

/** Two lines, so that one waits while the first is written. */
const LOG_AND_EXIT = `
  import { createLog } from ${JSON.stringify(new URL("log.ts", import.meta.url).href)};
  const log = createLog("info");
  log.info("first");
  log.info("second");
  process.exit();`;

test("a log that cannot be written does not keep the process from its exit", () => {
  const stdio: StdioOptions = ["ignore", "ignore", openSync("/dev/full", "w")];
  const args = ["--input-type=module", "--eval", LOG_AND_EXIT];
  expect(spawnSync(process.execPath, args, { stdio, timeout: 60_000 })).toMatchObject({ status: 0 });
});

test("what is not yet written at the exit is written then", () => {
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", LOG_AND_EXIT]);
  expect(status).toBe(0);
  expect(String(stderr)).toContain("second");
});
