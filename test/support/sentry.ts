import type { CommentService } from "./comment-server.ts";
import { TOKEN } from "./comment-suite.ts";

const toActivity = ({ id, text }: { id: string; text: string }): object => ({
  id,
  type: "note",
  data: { text },
  dateCreated: "2026-01-05T09:31:44.118160Z",
});

/** Written from Sentry's source, `sentry/issues/endpoints/group_notes.py`: its OpenAPI file does not name comments. */
export const sentry: CommentService = {
  isAuthorized: ({ authorization }) => authorization === `Bearer ${TOKEN}`,
  refuse: (status) => ({ status, body: { detail: "Refused." } }),
  routes: [
    {
      method: "POST",
      path: /^\/api\/0\/organizations\/acme\/issues\/(?:4501|SHOP-2F)\/comments\/$/,
      kind: "add",
      textOf: ({ text }) => text,
      toAnswer: (comments) => ({ status: 201, body: comments.map(toActivity)[0] }),
    },
    {
      method: "PUT",
      path: /^\/api\/0\/organizations\/acme\/issues\/4501\/comments\/(\d+)\/$/,
      kind: "edit",
      textOf: ({ text }) => text,
      toAnswer: (comments) => ({ status: 200, body: comments.map(toActivity)[0] }),
    },
    {
      method: "GET",
      path: /^\/api\/0\/organizations\/acme\/issues\/4501\/comments\/$/,
      kind: "list",
      textOf: () => "",
      toAnswer: (comments) => ({ status: 200, body: comments.toReversed().map(toActivity) }),
    },
  ],
};
