import { describe, expect, test } from "vitest";
import type { HistoryEntry } from "../ports/agent.ts";
import type { Entry, Journal } from "../journal/journal.ts";
import { joinMessages, readHistory } from "./execute-run.ts";

test("a message that nothing joined is unchanged", () => {
  expect(joinMessages("one", undefined)).toBe("one");
});

test("all messages are included, numbered and in order", () => {
  expect(joinMessages("one", { messages: ["two", "three"], leftOut: 0 })).toBe(
    "3 related messages, in order of arrival:\n\n[1 of 3]\none\n\n[2 of 3]\ntwo\n\n[3 of 3]\nthree",
  );
});

test("messages that the journal did not store are mentioned", () => {
  const text = joinMessages("one", { messages: ["two"], leftOut: 7 });
  expect(text).toContain("[2 of 9]\ntwo");
  expect(text).toMatch(/\n\n\[The last 7 messages are omitted .*\]$/);
});

test("messages over the limit are omitted from the end, never the first", () => {
  const long = "x".repeat(150_000);
  const text = joinMessages(long, { messages: ["short", long, "fourth"], leftOut: 0 });
  expect(text).toContain("[2 of 4]\nshort");
  expect(text).not.toContain("fourth");
  expect(text).toContain("[The last 2 messages are omitted");
  expect(joinMessages(long + long, { messages: ["b"], leftOut: 0 })).toContain(`[1 of 2]\n${long}${long}\n`);
});

test("turns are oldest first", async () => {
  expect(await read(sessionOf(["q1", "a1", "q2", "a2"]))).toEqual([
    { role: "user", text: "q1" },
    { role: "assistant", text: "a1" },
    { role: "user", text: "q2" },
    { role: "assistant", text: "a2" },
  ]);
});

test("a long session gives the latest turns", async () => {
  const texts = Array.from({ length: 500 }, (_, index) => String(index));
  const history = await read(sessionOf(texts));
  expect(history).toHaveLength(64);
  expect(history[0]).toEqual({ role: "user", text: "436" });
  expect(history.at(-1)?.text).toBe("499");
});

test("long entries are included as far as they fit, never an answer without its question", async () => {
  const long = "x".repeat(40_000);
  const history = await read(sessionOf([long, long, long, "a"]));
  expect(history).toEqual([
    { role: "user", text: long },
    { role: "assistant", text: "a" },
  ]);
});

test("blank entries are left out", async () => {
  expect(await read(sessionOf(["q", " "]))).toEqual([{ role: "user", text: "q" }]);
});

test("few entries are read if they are long", async () => {
  const limits: number[] = [];
  const session = sessionOf(Array.from({ length: 64 }, () => "x".repeat(50_000)));
  const counted: History = {
    history(key, limit) {
      limits.push(limit);
      return session.history(key, limit);
    },
  };
  await read(counted);
  expect(limits).toEqual([8]);
});

test.each([
  [1, ["q2", "a2"]],
  [0, []],
])("of %i turns at most", async (maxTurns, expected) => {
  expect(await textsOf(sessionOf(["q1", "a1", "q2", "a2"]), { maxTurns })).toEqual(expected);
});

test("the budget counts four characters per token", async () => {
  const session = sessionOf(["four", "five", "four", "five"]);
  expect(await textsOf(session, { maxTokens: 4 })).toHaveLength(4);
  expect(await textsOf(session, { maxTokens: 3 })).toEqual(["four", "five"]);
});

describe("an idle session", () => {
  const idleAfterMs = 100;

  test("starts without history", async () => {
    const session = sessionOf(["q1", "a1"], [0, 10]);
    expect(await textsOf(session, { idleAfterMs }, 109)).toEqual(["q1", "a1"]);
    expect(await textsOf(session, { idleAfterMs }, 110)).toEqual([]);
  });

  test("does not return to earlier turns", async () => {
    const session = sessionOf(["q1", "a1", "q2", "a2"], [0, 10, 110, 120]);
    expect(await textsOf(session, { idleAfterMs }, 130)).toEqual(["q2", "a2"]);
  });

  test("is not one with a slow answer", async () => {
    const session = sessionOf(["q1", "a1"], [0, 500]);
    expect(await textsOf(session, { idleAfterMs }, 510)).toEqual(["q1", "a1"]);
  });
});

type Budget = Parameters<typeof readHistory>[0]["budget"];
type History = Pick<Journal, "history">;

function read(journal: History, budget: Partial<Budget> = {}, now = 1000): Promise<HistoryEntry[]> {
  const defaults = { maxTurns: 32, maxTokens: 25_000, idleAfterMs: 10_000 };
  return readHistory({ journal, budget: { ...defaults, ...budget } }, "s", now);
}

async function textsOf(...session: Parameters<typeof read>): Promise<string[]> {
  return (await read(...session)).map(({ text }) => text);
}

/** Questions and answers in turn. */
function sessionOf(texts: string[], at = texts.map((_, index) => index)): History {
  const entries = texts.map((text, seq): Entry => ({
    seq,
    sessionKey: "s",
    role: seq % 2 === 0 ? "user" : "assistant",
    text,
    at: at[seq] ?? 0,
  }));
  return { history: async (_key, limit) => (limit === 0 ? [] : entries.slice(-limit)) };
}
