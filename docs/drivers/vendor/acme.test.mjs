import { test } from "node:test";
import { testVendor } from "hookline/contracts";
import { acme } from "./acme.mts";

const author = { id: 5, isBot: false };
const comment = { id: 31, text: "Which browser?", time: 1767603600, isEdited: false, author };
const eventOf = (change = {}) => ({
  payload: { type: "comment.created", task: { key: "WEB-7" }, comment: { ...comment, ...change } },
  headers: {},
});

test("acme", () =>
  testVendor(acme, {
    channels: { acme: { to: "WEB-7", block: (baseUrl) => ({ token: "t", baseUrl }) } },
    hooks: { events: ["task.created"], id: "4" },
    limits: [{ status: 429, body: {} }],
    messages: [
      {
        event: eventOf(),
        message: { text: "Which browser?", person: "5", to: "WEB-7", at: 1767603600, messageId: "31" },
      },
    ],
    otherEvents: [
      eventOf({ isEdited: true }),
      eventOf({ author: { id: 6, isBot: true } }),
      { payload: {}, headers: {} },
    ],
  }));
