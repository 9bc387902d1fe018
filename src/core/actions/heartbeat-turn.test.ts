import { describe, expect, test } from "vitest";
import { toPrompt } from "../boundary/boundary.ts";
import type { WakeAction } from "../types.ts";
import { toSystemEvent } from "./heartbeat-turn.ts";

describe("toSystemEvent", () => {
  const context = { eventId: "event", hook: "wake", source: "webhook", at: 5 };
  const wake: WakeAction = { kind: "wake", text: "New mail", mode: "now", allowUnsafeExternalContent: false };

  test("a wake becomes a pending system event of the main session, its text inside the boundary", () => {
    const { text, boundary, ...entry } = toSystemEvent(wake, context);
    expect(entry).toEqual({
      sessionKey: "main",
      role: "system",
      at: 5,
      eventId: "event",
      pending: true,
      urgent: true,
    });
    expect(toPrompt({ text, boundary })).toMatch(
      /<<<EXTERNAL_UNTRUSTED_CONTENT id="[^]*Hook: wake\n---\nNew mail\n<<<END_/,
    );
  });

  test("for the next heartbeat it is not urgent", () => {
    expect(toSystemEvent({ ...wake, mode: "next-heartbeat" }, context).urgent).toBe(false);
  });

  test("is the plain text after the instructions if the mapping allows unsafe content", () => {
    const unsafe = { ...wake, allowUnsafeExternalContent: true };
    expect(toSystemEvent(unsafe, context).text).toBe("New mail");
    expect(toSystemEvent({ ...unsafe, instructions: "Read it." }, context).text).toBe("Read it.\n\nNew mail");
  });
});
