import { expect, test } from "vitest";
import { startComments } from "../../../test/support/comment-server.ts";
import { jira, shownJira } from "../../../test/support/comment-services.ts";
import { describeComments, TOKEN } from "../../../test/support/comment-suite.ts";
import { startJsonServer } from "../../../test/support/json-server.ts";
import { failureOf } from "../../contracts/harness.ts";
import { createJira } from "./jira.ts";

const never = new AbortController().signal;
const hello = { to: "SHOP-12", text: "Hello.", idempotencyKey: "d:0" };
const open = (baseUrl: string) => createJira({ token: TOKEN, email: "agent@acme.test", baseUrl });

describeComments("jira", {
  service: jira,
  open,
  to: "SHOP-12",
  thread: "SHOP-12/internal",
  unknown: "SHOP-99",
  malformed: ["", "shop-12", "SHOP", "SHOP-0", "10012", "SHOP-12/public", "SHOP-12/../SHOP-1", "S-1"],
  raw: expect.stringMatching(/"text":"\u2063\u2063[\u200B-\u200D\u2060]{32}"\},\{"type":"text","text":"Hello @ada\."/),
  toText: shownJira,
});

test("a reply's Markdown becomes a document, whose first text is the mark", async () => {
  const server = await startComments(jira);
  for (const text of ["It is **done**.", "```\ncode\n```"]) {
    await open(server.baseUrl).send({ ...hello, text, format: "markdown" }, never);
  }
  const mark = { type: "text", text: expect.stringMatching(/^\u2063\u2063/) };
  expect(server.texts().map((text) => JSON.parse(text).content)).toEqual([
    [
      {
        type: "paragraph",
        content: [
          mark,
          { type: "text", text: "It is " },
          { type: "text", text: "done", marks: [{ type: "strong" }] },
          { type: "text", text: "." },
        ],
      },
    ],
    [
      { type: "paragraph", content: [mark] },
      { type: "codeBlock", content: [{ type: "text", text: "code" }] },
    ],
  ]);
  await server.close();
});

test("a comment that customers do not see has the property of an internal one", async () => {
  const bodies: unknown[] = [];
  const server = await startJsonServer(({ body }) => {
    bodies.push(body["properties"]);
    return { status: 201, body: { id: "7" } };
  });
  for (const to of ["SHOP-12", "SHOP-12/internal"]) {
    expect(await open(server.url).send({ ...hello, to }, never)).toEqual({ messageId: "comment_7" });
  }
  expect(bodies).toEqual([undefined, [{ key: "sd.public.comment", value: { internal: true } }]]);
  await server.close();
});

test("without an address the token is a bearer, and the reason of a refusal is shown", async () => {
  const server = await startJsonServer(({ headers }) => ({
    status: 400,
    body: { errorMessages: [], errors: { comment: `No ${headers.authorization?.split(" ")[0]}.` } },
  }));
  const error = await failureOf(createJira({ token: "t", baseUrl: server.url }).send(hello, never));
  expect([error.message, error.retryable]).toEqual(["Jira answered 400: No Bearer.", false]);
  await server.close();
});
