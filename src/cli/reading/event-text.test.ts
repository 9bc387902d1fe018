import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import type { EventTimeline } from "../../operator/views.ts";
import { formatEvent } from "./event-text.ts";

test("a delivery to the last route shows where it went", () => {
  const route = { channel: "slack", to: "C1" };
  expect(show({ deliveries: [delivery({ state: "sent", route })] })).toContain("to C1 on slack");
  expect(show({ deliveries: [delivery({ state: "pending" })] })).toContain("on last");
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
