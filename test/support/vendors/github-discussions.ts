import { schema as published } from "@octokit/graphql-schema";
import { buildSchema, GraphQLError, type GraphQLSchema, graphqlSync } from "graphql";
import { startJsonServer } from "../json-server.ts";

interface Comment {
  id: string;
  databaseId: number;
  url: string;
  body: string;
  replyTo?: string;
}

export interface GithubDiscussions {
  /** For `channels.github.baseUrl`. */
  baseUrl: string;
  /** The comments of the discussion acme/app/discussions/12, oldest first. */
  comments: Comment[];
  /** The ids that reactions are on. */
  reactions: string[];
  /** Adds a comment as a person does. */
  write(body: string, replyTo?: string): Comment;
  /** The comment that is added next is kept, and the answer about it is lost. */
  loseAnswer(): void;
  close(): Promise<void>;
}

/** GitHub's own schema, from its npm package. */
let schema: GraphQLSchema | undefined;
function readSchema(): GraphQLSchema {
  schema ??= buildSchema(published.idl, { assumeValid: true });
  return schema;
}

/** A double of GitHub's GraphQL API for discussions: it takes what GitHub's schema takes. */
export async function startDiscussions(token: string): Promise<GithubDiscussions> {
  const comments: Comment[] = [];
  const reactions: string[] = [];
  let isLosing = false;
  const write = (body: string, replyTo?: string): Comment => {
    const databaseId = 1000 + comments.length;
    const url = `https://github.com/acme/app/discussions/12#discussioncomment-${databaseId}`;
    const comment = { id: `DC_${databaseId}`, databaseId, url, body, replyTo };
    comments.push(comment);
    return comment;
  };
  const find = (id: string): Comment => comments.find((comment) => comment.id === id) ?? refuse("NOT_FOUND");
  const discussion = {
    id: "D_12",
    comments: ({ last }: { last: number }) => ({
      nodes: comments
        .filter(({ replyTo }) => replyTo === undefined)
        .slice(-last)
        .map((comment) => ({
          ...comment,
          replies: (page: { last: number }) => ({
            nodes: comments.filter(({ replyTo }) => replyTo === comment.id).slice(-page.last),
          }),
        })),
    }),
  };
  const rootValue = {
    repository: ({ owner, name }: Record<string, string>) => ({
      discussion: ({ number }: { number: number }) =>
        `${owner}/${name}` === "acme/app" && number === 12 ? discussion : refuse("NOT_FOUND"),
    }),
    addDiscussionComment({ input }: { input: { discussionId: string; body: string; replyToId?: string } }) {
      if (input.discussionId !== discussion.id) refuse("NOT_FOUND");
      if (input.replyToId && find(input.replyToId).replyTo) refuse("UNPROCESSABLE");
      return { comment: write(input.body, input.replyToId) };
    },
    updateDiscussionComment({ input }: { input: { commentId: string; body: string } }) {
      return { comment: Object.assign(find(input.commentId), { body: input.body }) };
    },
    deleteDiscussionComment({ input }: { input: { id: string } }) {
      comments.splice(comments.indexOf(find(input.id)), 1);
      return {};
    },
    addReaction: ({ input }: { input: { subjectId: string } }) => void reactions.push(input.subjectId),
    removeReaction: ({ input }: { input: { subjectId: string } }) =>
      void reactions.splice(reactions.indexOf(input.subjectId), 1),
  };
  const server = await startJsonServer(({ method, path, headers, body }) => {
    if (method !== "POST" || path !== "/graphql") return { status: 404, body: { message: "Not Found" } };
    if (headers.authorization !== `Bearer ${token}`) return { status: 401, body: { message: "Bad credentials" } };
    const variableValues = body["variables"] as Record<string, unknown>;
    const count = comments.length;
    const { data, errors } = graphqlSync({
      schema: readSchema(),
      source: String(body["query"]),
      rootValue,
      variableValues,
    });
    if (isLosing && comments.length > count) {
      isLosing = false;
      return "lost";
    }
    const shown = errors?.map(({ message, extensions }) => ({ message, type: extensions["type"] ?? "INVALID" }));
    return { status: 200, body: { data, ...(shown && { errors: shown }) } };
  });
  return {
    baseUrl: server.url,
    comments,
    reactions,
    write,
    loseAnswer: () => void (isLosing = true),
    close: () => server.close(),
  };
}

function refuse(type: string): never {
  throw new GraphQLError("Could not resolve to a node.", { extensions: { type } });
}
