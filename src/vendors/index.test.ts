import { expect, test } from "vitest";
import { vendors } from "./index.ts";

const readers = Object.entries(vendors).flatMap(([name, { readMessage }]) =>
  readMessage ? [{ name, readMessage }] : [],
);
const OTHERS = [
  {},
  { event: "approve 7f3k" },
  { event: { type: "message" }, type: "event_callback" },
  { message: 5 },
  { message: { text: "approve 7f3k" } },
  { comment: null },
  { comment: { body: "approve 7f3k" }, action: "created" },
];

test.each(readers)("$name: another payload is no message of a person", ({ readMessage }) => {
  const headers = { "x-github-event": "issue_comment" };
  for (const payload of OTHERS) expect(readMessage({ payload, headers })).toBeUndefined();
});
