import { toObject } from "../../src/core/shared/json.ts";
import type { CommentService } from "./comment-server.ts";
import { TOKEN } from "./comment-suite.ts";

const toNote = ({ id, text }: { id: string; text: string }): object => ({
  id: `PWL7QX${id}`,
  user: { id: "PXPGF42", type: "user_reference", summary: "Agent" },
  channel: { summary: "The PagerDuty website or APIs" },
  content: text,
  created_at: "2026-01-05T15:28:51-05:00",
});
const contentOf = ({ note }: Record<string, unknown>): unknown => toObject(note)["content"];

export const pagerduty: CommentService = {
  isAuthorized: ({ authorization, from, accept }) =>
    authorization === `Token token=${TOKEN}` &&
    (from === undefined || from === "agent@acme.test") &&
    accept === "application/vnd.pagerduty+json;version=2",
  refuse: (status) => ({ status, body: { error: { message: "Refused", code: 2100 } } }),
  routes: [
    {
      method: "POST",
      path: /^\/incidents\/Q02JTSNZWHSEKV\/notes$/,
      kind: "add",
      textOf: contentOf,
      toAnswer: (notes) => ({ status: 200, body: { note: notes.map(toNote)[0] } }),
    },
    {
      method: "PUT",
      path: /^\/incidents\/Q02JTSNZWHSEKV\/notes\/PWL7QX(\d)$/,
      kind: "edit",
      textOf: contentOf,
      toAnswer: (notes) => ({ status: 200, body: { note: notes.map(toNote)[0] } }),
    },
    {
      method: "GET",
      path: /^\/incidents\/Q02JTSNZWHSEKV\/notes$/,
      kind: "list",
      textOf: () => "",
      toAnswer: (notes) => ({ status: 200, body: { notes: notes.toReversed().map(toNote) } }),
    },
  ],
};
