import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import type { DeadLetterView } from "../../operator/views.ts";
import { formatDeadLetter } from "./dead-letters.ts";

const letter: DeadLetterView = {
  id: "d-1",
  kind: "delivery",
  eventId: "e-1",
  hook: "build",
  error: `Slack refused the message: ${"why ".repeat(50)}`,
  group: "gone",
  attempts: 8,
  at: "2026-11-20T14:00:00.000Z",
};

test("the whole error is shown, and the event that it belongs to", () => {
  expect(show(letter)).toEqual([
    "d-1  delivery  build  8 attempts",
    "  given up 2026-11-20T14:00:00.000Z, event e-1",
    `  ${letter.error}`,
  ]);
});

test("a heartbeat's belongs to none", () => {
  expect(show({ ...letter, hook: undefined, eventId: undefined, attempts: 1 }).slice(0, 2)).toEqual([
    "d-1  delivery  1 attempt",
    "  given up 2026-11-20T14:00:00.000Z",
  ]);
});

test("an error cannot move the cursor", () => {
  const lines = formatDeadLetter({ ...letter, hook: "a\u001B[2J", error: "b\u001B[2J" });
  expect(lines.join("\n")).not.toContain("\u001B[2J");
});

function show(shown: DeadLetterView): string[] {
  return formatDeadLetter(shown).map((line) => stripVTControlCharacters(line));
}
