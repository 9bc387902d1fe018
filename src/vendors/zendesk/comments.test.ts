import { expect, test } from "vitest";
import { describeComments, TOKEN } from "../../../test/support/comment-suite.ts";
import { shownHtml, zendesk } from "../../../test/support/comment-services.ts";
import { type JsonRequest, startJsonServer } from "../../../test/support/json-server.ts";
import { createZendesk } from "./comments.ts";

const open = (baseUrl: string) => createZendesk({ token: TOKEN, baseUrl });

describeComments("zendesk", {
  service: zendesk,
  open,
  to: "12",
  unknown: "13",
  malformed: ["", "0", "#12", "12/comments", "../12", "private:12", "public:", "public:0", "public:public:12"],
  // The groups of a chat stay apart from plain words.
  toText: (stored) => shownHtml(stored.replaceAll("@\u200Beveryone", "@ everyone")),
  raw: expect.stringMatching(/^\u2063\u2063[\u200B-\u200D\u2060]{32}Hello @\u200Bada\.$/),
});

test.each([
  ["12", false],
  ["public:12", true],
])("%s: a comment is public only if the recipient says so", async (to, isPublic) => {
  const requests: JsonRequest[] = [];
  const server = await startJsonServer((request) => {
    requests.push(request);
    return {
      status: 200,
      body: {
        audit: {
          events: [
            { type: "Change", id: 1 },
            { type: "Comment", id: 2 },
          ],
        },
      },
    };
  });
  const text =
    "**Hello** {{ticket.requester.email}} {*{*x}} {% if a %} https://x.test/{{b}}\n\n```\n{{dc.secret}}\n```";
  const message = { to, text, format: "markdown", idempotencyKey: "d:0" } as const;
  expect(await open(server.url).send(message, new AbortController().signal)).toEqual({ messageId: "2" });
  await server.close();
  const html: unknown = expect.stringMatching(
    /<p><strong>Hello<\/strong> \{\u200B\{ticket\.requester\.email\}\}(?![^]*\{(?:<[^>]*>)*[{%])/,
  );
  const body = { ticket: { comment: { html_body: html, public: isPublic } } };
  expect(requests).toMatchObject([{ method: "PUT", path: "/api/v2/tickets/12", body }]);
});
