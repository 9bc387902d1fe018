import { type JsonAnswer, type JsonRequest, startJsonServer } from "./json-server.ts";

export interface CommentServer {
  baseUrl: string;
  /** The raw texts of the comments, oldest first. */
  texts(): string[];
  /** The requests so far: method and path. */
  requests: string[];
  /** The next comment is written, and the answer about it is lost. */
  loseAnswer(): void;
  /** Adds a comment as a person does. */
  write(text: string): Comment;
  /** Calls the listener for each new comment from now on. */
  subscribe(listener: (comment: Comment) => unknown): void;
  close(): Promise<void>;
}

export interface Comment {
  id: string;
  text: string;
}

/** One service's routes, tried in order. The first group of `path` is a comment's id. Written from the vendor's reference. */
interface CommentRoute {
  method: string;
  path: RegExp;
  /** The effect of the route on the comments. */
  kind: "add" | "edit" | "list" | "react";
  /** The comment's text; undefined: the service refuses such a body. */
  textOf(body: Record<string, unknown>): unknown;
  /** `group`: the first group of `path`. */
  toAnswer(comments: Comment[], url: string, group?: string): JsonAnswer;
}

export interface CommentService {
  isAuthorized(headers: JsonRequest["headers"]): boolean;
  routes: CommentRoute[];
  refuse(status: number): JsonAnswer;
}

/** A double of a service that takes comments. */
export async function startComments({ isAuthorized, routes, refuse }: CommentService): Promise<CommentServer> {
  const comments: Comment[] = [];
  const requests: string[] = [];
  let written = 0;
  let isLosing = false;
  let listener: ((comment: Comment) => unknown) | undefined;
  const write = (text: string): Comment => {
    written += 1;
    const comment = { id: String(written), text };
    comments.push(comment);
    listener?.(comment);
    return comment;
  };
  const server = await startJsonServer((request) => {
    const { method = "", path = "", headers, body } = request;
    requests.push(`${method} ${path}`);
    if (!isAuthorized(headers)) return refuse(401);
    for (const { kind, textOf, toAnswer, ...route } of routes) {
      // A comment that can be edited can be deleted.
      const deleted = method === "DELETE" && kind === "edit" ? route.path.exec(path)?.[1] : undefined;
      if (deleted !== undefined) {
        const at = comments.findIndex(({ id }) => id === deleted);
        return comments.splice(at, at === -1 ? 0 : 1).length > 0 ? { status: 204, body: undefined } : refuse(404);
      }
      const found = method === route.method ? route.path.exec(path) : null;
      if (!found) continue;
      const text = textOf(body);
      if (typeof text !== "string") return refuse(400);
      const edited = comments.find(({ id }) => id === found[1]);
      if (kind === "edit" && !edited) return refuse(404);
      if (kind === "edit" && edited) edited.text = text;
      if (kind === "add") write(text);
      if (kind === "add" && isLosing) {
        isLosing = false;
        return "lost";
      }
      const affected = kind === "edit" && edited ? [edited] : kind === "add" ? comments.slice(-1) : comments;
      return toAnswer(affected, server.url, found[1]);
    }
    return refuse(404);
  });
  return {
    baseUrl: server.url,
    texts: () => comments.map(({ text }) => text),
    requests,
    loseAnswer: () => void (isLosing = true),
    write,
    subscribe: (given) => void (listener = given),
    close: () => server.close(),
  };
}
