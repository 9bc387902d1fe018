import { expect, test } from "vitest";
import type { Entry, Journal } from "../journal/port.ts";
import { readHistory } from "./history.ts";

test("a session's turns are given oldest first", async () => {
  expect(await readHistory(sessionOf(["q1", "a1", "q2", "a2"]), "s")).toEqual([
    { role: "user", text: "q1" },
    { role: "assistant", text: "a1" },
    { role: "user", text: "q2" },
    { role: "assistant", text: "a2" },
  ]);
});

test("of a long session the latest are", async () => {
  const texts = Array.from({ length: 500 }, (_, index) => String(index));
  const history = await readHistory(sessionOf(texts), "s");
  expect(history).toHaveLength(64);
  expect(history[0]).toEqual({ role: "user", text: "436" });
  expect(history.at(-1)?.text).toBe("499");
});

test("of long entries as many as fit, and never an answer without its question", async () => {
  const long = "x".repeat(40_000);
  const history = await readHistory(sessionOf([long, long, long, "a"]), "s");
  expect(history).toEqual([
    { role: "user", text: long },
    { role: "assistant", text: "a" },
  ]);
});

test("blank entries are left out", async () => {
  expect(await readHistory(sessionOf(["q", " "]), "s")).toEqual([{ role: "user", text: "q" }]);
});

test("few are read of a session whose entries are long", async () => {
  const limits: number[] = [];
  const session = sessionOf(Array.from({ length: 64 }, () => "x".repeat(50_000)));
  const counted: Pick<Journal, "history"> = {
    history(key, limit) {
      limits.push(limit);
      return session.history(key, limit);
    },
  };
  await readHistory(counted, "s");
  expect(limits).toEqual([8]);
});

/** Questions and answers in turn. */
function sessionOf(texts: string[]) {
  const entries = texts.map((text, seq): Entry => ({
    seq,
    sessionKey: "s",
    role: seq % 2 === 0 ? "user" : "assistant",
    text,
    at: seq,
  }));
  return { history: async (_key: string, limit: number) => entries.slice(-limit) };
}
