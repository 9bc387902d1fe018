import { randomUUID } from "node:crypto";
import { buildSchema, GraphQLError, graphqlSync } from "graphql";
import type { Comment, CommentServer } from "./comment-server.ts";
import { startJsonServer } from "./json-server.ts";

export interface LinearServer extends Pick<CommentServer, "baseUrl" | "close" | "subscribe" | "texts" | "write"> {
  /** An API key of the account `agent`. */
  token: string;
  /** An OAuth application. */
  app: { id: string; secret: string };
  /** Ends the tokens that the application has got. */
  revoke(): void;
  /** The identifier of an issue. */
  issue: string;
  /** Comments of all issues, oldest first. */
  comments: LinearComment[];
  /** An agent session, and what the agent has said in it. */
  session: string;
  activities: LinearActivity[];
  /** The places of reactions: the ids of comments and the identifiers of issues. */
  reactions: string[];
}

interface LinearComment extends Comment {
  issueId: string;
  parentId?: string;
}

interface LinearActivity {
  id: string;
  content: { type: string; body: string };
  ephemeral: boolean;
}

/** The parts of https://linear.app/developers/graphql that the channel uses. */
const SCHEMA = `
  scalar JSONObject
  type Query {
    comment(id: String): Comment!
    agentActivity(id: String!): AgentActivity!
  }
  type Mutation {
    commentCreate(input: CommentCreateInput!): CommentPayload!
    commentUpdate(id: String!, input: CommentUpdateInput!): CommentPayload!
    agentActivityCreate(input: AgentActivityCreateInput!): AgentActivityPayload!
    commentDelete(id: String!): DeletePayload!
    reactionCreate(input: ReactionCreateInput!): ReactionPayload!
    reactionDelete(id: String!): DeletePayload!
  }
  input CommentCreateInput { id: String, issueId: String, parentId: String, body: String }
  input CommentUpdateInput { body: String }
  input AgentActivityCreateInput { id: String, agentSessionId: String!, content: JSONObject!, ephemeral: Boolean }
  input ReactionCreateInput { issueId: String, commentId: String, emoji: String! }
  type Comment { id: ID! }
  type AgentActivity { id: ID! }
  type Reaction { id: ID! }
  type CommentPayload { success: Boolean!, comment: Comment! }
  type AgentActivityPayload { success: Boolean!, agentActivity: AgentActivity! }
  type ReactionPayload { success: Boolean!, reaction: Reaction! }
  type DeletePayload { success: Boolean! }
`;
const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/**
 * A double of Linear's GraphQL API: it takes what Linear's own schema takes. It was not compared with Linear itself. The
 * Linear of `emulate` knows neither ids that a client chooses, nor threads, nor reactions.
 */
export async function startLinear(): Promise<LinearServer> {
  const schema = buildSchema(SCHEMA);
  const token = "lin_api_agent-000000";
  const app = { id: "app-1", secret: "secret-of-the-app-0000" };
  const appTokens = new Set<string>();
  const issue = "ENG-1";
  const comments: LinearComment[] = [];
  const session = randomUUID();
  const activities: LinearActivity[] = [];
  const reactions = new Map<string, string>();
  let listener: ((comment: Comment) => unknown) | undefined;

  const add = (comment: LinearComment): LinearComment => {
    comments.push(comment);
    listener?.(comment);
    return comment;
  };
  const toAnswer = ({ text, ...comment }: LinearComment): object => ({ ...comment, body: text });
  const findComment = (id: string): LinearComment =>
    comments.find((comment) => comment.id === id) ?? refuseUnknown("Comment");

  const root = {
    comment: ({ id }: { id: string }) => toAnswer(findComment(id)),
    commentCreate({ input }: { input: Partial<Record<"body" | "id" | "issueId" | "parentId", string>> }) {
      const { id = randomUUID(), body = "", issueId = "", parentId } = input;
      if (issueId !== issue) refuseUnknown("Issue");
      if (parentId && findComment(parentId).parentId) refuse("The parent is not the first comment of a thread.");
      if (!UUID_V4.test(id) || comments.some((comment) => comment.id === id)) refuse("The id is taken or not a UUID.");
      const comment = add({ id, text: body, issueId, parentId });
      return { success: true, lastSyncId: 1, comment: toAnswer(comment) };
    },
    commentUpdate({ id, input: { body } }: { id: string; input: { body: string } }) {
      const comment = Object.assign(findComment(id), { text: body });
      return { success: true, lastSyncId: 1, comment: toAnswer(comment) };
    },
    commentDelete({ id }: { id: string }) {
      comments.splice(comments.indexOf(findComment(id)), 1);
      return { success: true, lastSyncId: 1, entityId: id };
    },
    agentActivity: ({ id }: { id: string }) =>
      activities.find((activity) => activity.id === id) ?? refuseUnknown("AgentActivity"),
    agentActivityCreate({
      input,
    }: {
      input: Partial<LinearActivity> & Pick<LinearActivity, "content"> & { agentSessionId: string };
    }) {
      const { id = randomUUID(), agentSessionId, content, ephemeral = false } = input;
      if (agentSessionId !== session) refuseUnknown("AgentSession");
      if (!UUID_V4.test(id) || activities.some((activity) => activity.id === id))
        refuse("The id is taken or not a UUID.");
      const agentActivity = { id, content, ephemeral };
      activities.push(agentActivity);
      return { success: true, lastSyncId: 1, agentActivity };
    },
    reactionCreate({ input }: { input: { issueId?: string; commentId?: string; emoji: string } }) {
      const id = randomUUID();
      if (input.issueId !== issue) findComment(input.commentId ?? "");
      reactions.set(id, input.commentId ?? issue);
      return { success: true, lastSyncId: 1, reaction: { id, emoji: input.emoji } };
    },
    reactionDelete({ id }: { id: string }) {
      if (!reactions.delete(id)) refuseUnknown("Reaction");
      return { success: true, lastSyncId: 1, entityId: id };
    },
  };

  const server = await startJsonServer(({ path: at, headers, body }) => {
    if (at === "/oauth/token") {
      const { grant_type: grant, client_id: id, client_secret: secret, scope } = body;
      if (id !== app.id || secret !== app.secret) return { status: 401, body: { error: "invalid_client" } };
      if (grant !== "client_credentials" || scope !== "read,write") return { status: 400, body: { error: "invalid" } };
      const issued = `lin_oauth_${randomUUID()}`;
      appTokens.add(issued);
      return { status: 200, body: { access_token: issued, token_type: "Bearer", expires_in: 2_591_999, scope } };
    }
    if (at !== "/graphql") return { status: 404, body: {} };
    const isApp = appTokens.has(headers.authorization?.replace(/^Bearer /, "") ?? "");
    if (headers.authorization !== token && !isApp) {
      return { status: 401, body: { errors: [toError("Authentication required", "authentication error")] } };
    }
    const { query, variables } = body as { query: string; variables: Record<string, unknown> };
    const result = graphqlSync({ schema, source: query, rootValue: root, variableValues: variables });
    // Linear executes nothing that its schema does not have, and answers the refusals of what it executes by 200.
    return { status: result.data === undefined ? 400 : 200, body: result };
  });
  return {
    baseUrl: server.url,
    token,
    app,
    revoke: () => appTokens.clear(),
    issue,
    comments,
    session,
    activities,
    get reactions() {
      return [...reactions.values()];
    },
    texts: () => comments.map(({ text }) => text),
    write: (text) => add({ id: randomUUID(), text, issueId: issue }),
    subscribe: (given) => void (listener = given),
    close: () => server.close(),
  };
}

function toError(message: string, type: string): object {
  return { message, extensions: { type, userError: true, userPresentableMessage: `${message}.` } };
}

function refuseUnknown(entity: string): never {
  throw new GraphQLError(`Entity not found: ${entity}`, {
    extensions: { type: "invalid input", userPresentableMessage: `Could not find referenced ${entity}.` },
  });
}

function refuse(message: string): never {
  throw new GraphQLError(message, { extensions: { type: "invalid input", userPresentableMessage: message } });
}
