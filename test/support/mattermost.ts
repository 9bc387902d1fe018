import { startJsonServer, type JsonAnswer, type JsonRequest } from "./json-server.ts";

export interface MattermostServer {
  /** For `channels.mattermost.baseUrl`. */
  baseUrl: string;
  /** A bot's token that may post. */
  token: string;
  /** Id of the channel that the bot is in. */
  channel: string;
  /** The messages posted to the channel, oldest first. */
  messages(): string[];
  /** Their ids. */
  ids(): string[];
  /** The id of a post that people wrote, and of each message above the post that began its thread. */
  root: string;
  /** The id of a reply to it. */
  reply: string;
  roots(): unknown[];
  /** The same as the server stores them. */
  posts(): Record<string, unknown>[];
  /** A person answers in a thread; gives the id of the post. */
  answer(root: string): string;
  /** Deletes a post. */
  remove(id: string): void;
  typingCount(): number;
  close(): Promise<void>;
}

interface Post {
  id: string;
  channel_id: string;
  message: string;
  pending_post_id: string;
  root_id?: unknown;
  props?: unknown;
}

interface State {
  posts: Post[];
  /** Posts of people, by id. */
  people: Map<string, { id: string; channel_id: string; root_id: string; message: string }>;
  typing: number;
  count: number;
}

const TOKEN = "mattermost-test-token-0000";
const ROOT = "root".padEnd(26, "1");
const REPLY = "reply".padEnd(26, "1");
const CHANNEL = "4yfx3k5b7tgpxq9ncmwz1d8ora";

/**
 * A double of a Mattermost server, written from its API reference, "Create a post", "Get a post", "Patch a post", "Publish a user typing event" and "Errors":
 * https://developers.mattermost.com/api-documentation/#/operations/CreatePost. It was not compared with a Mattermost server.
 */
export async function startMattermost(): Promise<MattermostServer> {
  const people: State["people"] = new Map([
    [ROOT, { id: ROOT, channel_id: CHANNEL, root_id: "", message: "Once upon a time." }],
    [REPLY, { id: REPLY, channel_id: CHANNEL, root_id: ROOT, message: "And then?" }],
  ]);
  const state: State = { posts: [], people, typing: 0, count: 0 };
  const { posts } = state;
  const server = await startJsonServer((request) => answer(state, request));
  return {
    baseUrl: server.url,
    token: TOKEN,
    channel: CHANNEL,
    messages: () => posts.map(({ message }) => message),
    ids: () => posts.map(({ id }) => id),
    root: ROOT,
    reply: REPLY,
    roots: () => posts.map(({ root_id }) => root_id),
    posts: () => posts.map((post) => ({ ...post })),
    answer(root) {
      const id = `person${people.size}`.padEnd(26, "0");
      people.set(id, { id, channel_id: CHANNEL, root_id: root, message: "Why?" });
      return id;
    },
    remove: (id) =>
      void posts.splice(
        posts.findIndex((post) => post.id === id),
        1,
      ),
    typingCount: () => state.typing,
    close: () => server.close(),
  };
}

/** An error in the API's format. */
export function mattermostError(status: number, id: string, message: string): JsonAnswer {
  return {
    status,
    body: { id, message, detailed_error: "", request_id: "ndhkyy51q7fw7m4xkzmf6tg8ie", status_code: status },
  };
}

function answer(state: State, { method, path, headers, body }: JsonRequest): JsonAnswer {
  if (headers.authorization !== `Bearer ${TOKEN}`) {
    return mattermostError(401, "api.context.session_expired.app_error", "Invalid or expired session.");
  }
  const { posts } = state;
  if (method === "POST" && path === "/api/v4/users/me/typing") {
    state.typing += 1;
    return { status: 200, body: { status: "OK" } };
  }
  const [, edited] = /^\/api\/v4\/posts\/(\w+)\/patch$/.exec(path ?? "") ?? [];
  if (method === "PUT" && edited) return patchPost(posts, edited, body);
  const [, deleted] = /^\/api\/v4\/posts\/(\w+)$/.exec(path ?? "") ?? [];
  if (method === "DELETE" && deleted) {
    const at = posts.findIndex(({ id }) => id === deleted);
    if (at === -1) return mattermostError(404, "app.post.get.app_error", "Unable to get the post.");
    posts.splice(at, 1);
    return { status: 200, body: { status: "OK" } };
  }
  const [, read] = /^\/api\/v4\/posts\/(\w+)$/.exec(path ?? "") ?? [];
  const own = posts.find(({ id }) => id === read) ?? state.people.get(read ?? "");
  if (method === "GET" && own) return { status: 200, body: { ...own, root_id: own.root_id ?? "" } };
  if (method !== "POST" || path !== "/api/v4/posts") {
    return mattermostError(404, "api.context.404.app_error", "Sorry, we could not find the page.");
  }
  return createPost(posts, {
    id: `post${String((state.count += 1)).padStart(5, "0")}`.padEnd(26, "0"),
    channel_id: String(body["channel_id"]),
    message: String(body["message"]),
    pending_post_id: String(body["pending_post_id"]),
    root_id: body["root_id"],
    props: body["props"],
  });
}

function patchPost(posts: Post[], id: string, { message, props }: JsonRequest["body"]): JsonAnswer {
  const post = posts.find((other) => other.id === id);
  if (!post) return mattermostError(404, "app.post.get.app_error", "Unable to get the post.");
  post.message = String(message);
  if (props !== undefined) post.props = props;
  return { status: 200, body: post };
}

function createPost(posts: Post[], post: Post): JsonAnswer {
  if (post.channel_id !== CHANNEL) {
    return mattermostError(403, "api.context.permissions.app_error", "You do not have the appropriate permissions.");
  }
  const isRoot = post.root_id === ROOT || posts.some(({ id, root_id: above }) => id === post.root_id && !above);
  if (post.root_id !== undefined && !isRoot) {
    return mattermostError(400, "api.post.create_post.root_id.app_error", "Invalid RootId parameter.");
  }
  if (Array.from(post.message).length > 16_383) {
    return mattermostError(400, "model.post.is_valid.message_length.app_error", "Post message is too long.");
  }
  const repeated = posts.find((other) => other.pending_post_id === post.pending_post_id);
  if (!repeated) posts.push(post);
  return { status: 201, body: repeated ?? post };
}
