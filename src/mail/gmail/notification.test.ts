import { expect, test } from "vitest";
import { parseNotification } from "./notification.ts";

const encode = (said: unknown): string => Buffer.from(JSON.stringify(said)).toString("base64");

test("which mailbox has changed", () => {
  const data = encode({ emailAddress: "ann@example.com", historyId: 5 });
  expect(parseNotification({ data, messageId: "1" })).toEqual({ emailAddress: "ann@example.com" });
  expect(
    parseNotification({ data: data.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "") }),
  ).toBeDefined();
});

test.each([
  undefined,
  null,
  "text",
  {},
  { data: 5 },
  { data: "" },
  { data: "%%%" },
  { data: encode(null) },
  { data: encode([]) },
  { data: encode({ emailAddress: {} }) },
])("anything else is none: %o", (message) => {
  expect(parseNotification(message)).toBeUndefined();
});
