import { expect, test } from "vitest";
import type { PersonMessage, Vendors } from "../ports/vendor.ts";
import { silentLog } from "../telemetry/log.ts";
import { readAnswer } from "./chat-answer.ts";

const MESSAGE = { person: "222", to: "-100", at: 1767603600, messageId: "-100:12" };

function read(message: Partial<PersonMessage>, preset = "chat") {
  const vendors: Vendors = { chat: { service: "Chat", readMessage: () => ({ text: "", ...MESSAGE, ...message }) } };
  return readAnswer(preset, { payload: {}, headers: {} }, { vendors, log: silentLog });
}

test.each([
  ["approve 7f3k", { decision: "approve" }],
  ["Approve 7F3K\n", { decision: "approve", code: "7f3k" }],
  ["deny 7f3k", { decision: "deny", reason: undefined }],
  [
    "deny 7f3k because it is the wrong project:\nuse OPS",
    { decision: "deny", reason: "it is the wrong project:\nuse OPS" },
  ],
])("%j is an answer", (text, expected) => expect(read({ text })).toMatchObject({ ...MESSAGE, ...expected }));

test.each([
  "approve",
  "approve 7f3k please",
  "approve 7f3k 8g4m",
  "please approve 7f3k",
  "I approve 7f3k",
  "> approve 7f3k",
  "&gt; approve 7f3k",
  "`approve 7f3k`",
  "approve 7f3k\napprove 8g4m",
  "approve\u200B 7f3k",
  "аpprove 7f3k",
  "<@U0AGENT> approve 7f3k",
  "deny 7f3k because",
  "deny 7f3k, because no",
  "deny 7f3k nonsense",
])("%j is none, but a message like any other", (text) => {
  expect(read({ text })).toBeUndefined();
});

test.each<[string, Partial<PersonMessage>]>([
  ["no author", { person: "" }],
  ["no place", { to: "" }],
  ["no time", { at: Number.NaN }],
  ["no id", { messageId: "" }],
])("a message with %s is none", (_, message) => expect(read({ text: "approve 7f3k", ...message })).toBeUndefined());

test.each<[string, object]>([
  ["an author", { person: { id: 222 } }],
  ["a place", { to: ["-100"] }],
  ["a time", { at: "1767603600" }],
  ["an id", { messageId: 12 }],
])("a message with %s of another type is none", (_, message) =>
  expect(read({ text: "approve 7f3k", ...message })).toBeUndefined(),
);

test("a vendor of a plugin that throws costs no event: it is no answer, and the log says so without its message", () => {
  const lines: unknown[] = [];
  const vendors: Vendors = {
    chat: {
      service: "Chat",
      readMessage: () => {
        throw new TypeError("text of the event");
      },
    },
  };
  const log = { warn: (...line: unknown[]) => void lines.push(line) };
  expect(readAnswer("chat", { payload: {}, headers: {} }, { vendors, log })).toBeUndefined();
  expect(lines).toEqual([[expect.stringContaining("readMessage"), { step: "approvals", preset: "chat" }]]);
});

test.each(["other", "constructor"])("the preset %s has no vendor whose messages are answers", (preset) =>
  expect(read({ text: "approve 7f3k" }, preset)).toBeUndefined(),
);
