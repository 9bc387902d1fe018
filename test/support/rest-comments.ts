import type { Comment, CommentService } from "./comment-server.ts";
import { TOKEN } from "./comment-suite.ts";

interface RestComments {
  /** A pattern: the path of a place's comments. That of a comment is below it. */
  path: string;
  /** Patterns: the query of the list, and the end of a comment's path. */
  query?: string;
  end?: string;
  isAuthorized?: CommentService["isAuthorized"];
  /** Default: the field `text`. */
  textOf?(body: Record<string, unknown>): unknown;
  /** Default: `id` and `text`. */
  show?(comment: Comment): object;
  /** An answer about one comment, and one with a list of them, newest first. Default: themselves. */
  wrap?(comment: object | undefined): object;
  wrapList?(comments: object[]): object;
}

/** The double of a service with the usual REST. */
export function createRestComments({
  path,
  query = "",
  end = "",
  isAuthorized = ({ authorization }) => authorization === `Bearer ${TOKEN}`,
  textOf = ({ text }) => text,
  show = ({ id, text }) => ({ id, text }),
  wrap = (comment = {}) => comment,
  wrapList = (comments) => comments,
}: RestComments): CommentService {
  const toOne = (comments: Comment[]): object => wrap(comments.map(show)[0]);
  return {
    isAuthorized,
    refuse: (status) => ({ status, body: { message: "Refused.", detail: "Refused.", error: { message: "Refused" } } }),
    routes: [
      {
        method: "POST",
        path: new RegExp(`^${path}$`),
        kind: "add",
        textOf,
        toAnswer: (comments) => ({ status: 201, body: toOne(comments) }),
      },
      {
        method: "PUT",
        path: new RegExp(`^${path.replace(/\/$/, "")}/(\\d+)${end}$`),
        kind: "edit",
        textOf,
        toAnswer: (comments) => ({ status: 200, body: toOne(comments) }),
      },
      {
        method: "GET",
        path: new RegExp(`^${path}${query}$`),
        kind: "list",
        textOf: () => "",
        toAnswer: (comments) => ({ status: 200, body: wrapList(comments.toReversed().map(show)) }),
      },
    ],
  };
}
