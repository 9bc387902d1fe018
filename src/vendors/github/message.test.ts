import { expect, test } from "vitest";
import { readMessage } from "./message.ts";

type Fields = Record<string, unknown>;

const ANN = { login: "ann", id: 11, type: "User" };

const COMMENT: Fields = {
  user: ANN,
  body: "approve 7f3k",
  html_url: "https://github.com/acme/ops/issues/1#issuecomment-5",
  created_at: "2026-01-05T09:00:00Z",
  updated_at: "2026-01-05T09:00:00Z",
  performed_via_github_app: null,
};

function read(comment: Fields = {}, payload: Fields = {}, event = "issue_comment") {
  const written = {
    action: "created",
    issue: { number: 1 },
    repository: { full_name: "acme/ops" },
    sender: ANN,
    comment: { ...COMMENT, ...comment },
    ...payload,
  };
  return readMessage({ payload: written, headers: { "x-github-event": event } });
}

test("a comment", () => {
  expect(read()).toEqual({
    text: "approve 7f3k",
    person: "11",
    to: "acme/ops#1",
    at: 1767603600,
    messageId: COMMENT["html_url"],
  });
});

test.each([
  ["a bot", { user: { ...ANN, type: "Bot" } }],
  ["an actor that ends in [bot]", { user: { ...ANN, login: "ann[bot]" } }],
  ["an app", { performed_via_github_app: { id: 1 } }],
  ["an edit", { updated_at: "2026-01-05T09:05:00Z" }],
])("%s is no message of a person", (_, comment) => expect(read(comment)).toBeUndefined());

test.each([
  ["an edited comment", { action: "edited" }],
  ["somebody else's", { sender: { ...ANN, id: 12 } }],
  ["a bot sent it", { sender: { ...ANN, type: "Bot" } }],
])("%s is no message of a person", (_, payload) => expect(read({}, payload)).toBeUndefined());

test("another event", () => expect(read({}, {}, "pull_request_review_comment")).toBeUndefined());
