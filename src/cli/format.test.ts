import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import type { EventTimeline } from "../operator/views.ts";
import { formatActions, formatEvent, formatTable } from "./format.ts";

test("columns are aligned, long cells cut, control characters shown as what they are", () => {
  const rows = [
    { name: "a", n: 1, text: undefined },
    { name: "longer", n: 22, text: "two\nlines \u001b[2J" },
    { name: "x", n: 3, text: "y".repeat(100) },
  ];
  expect(formatTable(rows).map((line) => stripVTControlCharacters(line))).toEqual([
    "name    n   text",
    "a       1",
    "longer  22  two lines \\u001b[2J",
    `x       3   ${"y".repeat(71)}…`,
  ]);
});

test("in a terminal, each row is one line: the widest cells are cut", () => {
  const rows = [
    { id: "019ad2f0", subject: "s".repeat(60), outcome: { styled: `\u001b[31m${"o".repeat(60)}\u001b[0m` } },
  ];
  const lines = formatTable(rows, "", 60).map((line) => stripVTControlCharacters(line));
  expect(lines[1]).toBe(`019ad2f0  ${"s".repeat(23)}…  ${"o".repeat(23)}…`);
  expect(formatTable(rows).map((line) => stripVTControlCharacters(line))[1]).toHaveLength(8 + 60 + 60 + 4);
});

test("a table that is too wide for its terminal shows times without year and seconds, and cuts no short id", () => {
  const row = {
    run: "01a227b1-677e",
    created: "2026-11-29T14:24:27Z",
    event: "01a227b1-6750",
    hook: "heartbeat",
    reply: "r".repeat(60),
  };
  const [, line] = formatTable([row], "", 60).map((shown) => stripVTControlCharacters(shown));
  expect(line).toBe(`01a227b1-677e  11-29 14:24  01a227b1-6750  heartb…  rrrrrrr…`);
  expect(formatTable([row])[1]).toContain("2026-11-29T14:24:27Z");
});

test("a column without a value is left out", () => {
  const rows = [
    { id: "one", state: undefined, hook: "x" },
    { id: "two", state: undefined, hook: undefined },
  ];
  const lines = formatTable(rows);
  expect(lines.map((line) => stripVTControlCharacters(line))).toEqual(["id   hook", "one  x", "two"]);
});

test("a field a line, a text of several lines below its name", () => {
  const action = {
    kind: "agent",
    message: "one\n\ntwo",
    deliver: false,
    to: undefined,
    channel: "slack",
  };
  expect(formatActions([action])).toEqual([
    "agent",
    "  message:",
    "    one",
    "",
    "    two",
    "  deliver: false",
    "  channel: slack",
  ]);
});

test("no action is said in words", () => {
  expect(formatActions([])).toEqual(["skipped: no action"]);
});

test("a delivery to the last route shows where it went", () => {
  const route = { channel: "slack", to: "C1" };
  expect(show({ deliveries: [delivery({ state: "sent", route })] })).toContain("to C1 on slack");
  expect(show({ deliveries: [delivery({ state: "waiting" })] })).toContain("on last");
});

test("each failed attempt is a line with its end, its duration and the first line of its error", () => {
  const [startedAt, endedAt] = ["2026-11-20T14:00:00.000Z", "2026-11-20T14:00:00.340Z"];
  const failedAttempts = [
    { n: 3, startedAt, endedAt, error: "slack answered 500\nwith a page" },
    { n: 4, startedAt, error: "the service ended during this attempt" },
  ];
  const lines = show({ deliveries: [delivery({ failedAttempts })] });
  expect(lines).toContain(`attempt 3 failed  ${endedAt}  340 ms  slack answered 500`);
  expect(lines).toContain(`attempt 4 failed  ${startedAt}  the service ended during this attempt`);
});

test.each<[string, Partial<EventTimeline["deliveries"][number]>]>([
  ["failed", { state: "failed" }],
  ["waits after an attempt", { state: "waiting", failedAttempts: [attempt("slack answered 500")] }],
  ["waits for a model", { state: "waiting", attempts: 0 }],
  ["was canceled", { state: "canceled", attempts: 0 }],
])("the error of work that %s is said once", (_, part) => {
  const work = { ...delivery({ error: "slack answered 500", ...part }), sessionKey: "s", entries: [] };
  for (const parts of [{ deliveries: [work] }, { runs: [work as never] }]) {
    const lines = show(parts);
    expect(lines.filter((line) => line.includes("slack answered 500"))).toHaveLength(1);
    expect(lines.join("\n")).not.toContain("0 attempts");
    expect(lines.some((line) => line.startsWith("try again: "))).toBe(part.state === "failed");
  }
});

test("an error that is longer than the line of its attempt is said whole", () => {
  const error = `slack answered 500\n${"x".repeat(200)}`;
  const lines = show({ deliveries: [delivery({ state: "waiting", error, failedAttempts: [attempt(error)] })] });
  expect(lines).toContain("x".repeat(200));
});

function attempt(error: string): { n: number; startedAt: string; error: string } {
  return { n: 1, startedAt: "2026-11-20T14:00:00.000Z", error };
}

test("a delivery shows its warnings", () => {
  expect(show({ deliveries: [delivery({ warnings: ["It was cut."] })] })).toContain("It was cut.");
});

test("a hook's name and a recipient cannot move the cursor", () => {
  const lines = formatEvent(event({ hook: "a\u001B[2J", deliveries: [delivery({ to: "C\u001B[2J" })] }));
  expect(lines.join("\n")).not.toContain("\u001B[2J");
});

function show(part: Partial<EventTimeline>): string[] {
  return formatEvent(event(part)).map((line) => stripVTControlCharacters(line).trim());
}

function delivery(part: Partial<EventTimeline["deliveries"][number]>): EventTimeline["deliveries"][number] {
  const time = "2026-11-20T14:00:00.000Z";
  const times = { createdAt: time, dueAt: time };
  return {
    id: "d-1",
    runId: "r-1",
    text: "x",
    state: "sent",
    attempts: 1,
    partsSent: 1,
    channel: "last",
    warnings: [],
    ...times,
    ...part,
  };
}

function event(part: Partial<EventTimeline>): EventTimeline {
  return {
    id: "e-1",
    hook: "build",
    receivedAt: "2026-11-20T14:00:00.000Z",
    status: "done",
    outcome: "turn 1.0 s",
    request: {
      method: "POST",
      path: "/hooks/build",
      query: {},
      headers: {},
      contentType: "json",
      client: "127.0.0.1",
      payload: {},
    },
    warnings: [],
    log: [],
    runs: [],
    actions: [],
    entries: [],
    deliveries: [],
    ...part,
  };
}
