import { createSign } from "node:crypto";
import { DriverError } from "../../errors.ts";
import { toObject, toObjects } from "../../shared/json.ts";
import {
  type Call,
  createApi,
  type HttpAnswer,
  type OpenApi,
  type Refusal,
  request,
  requireId,
  type TokenSource,
  toLine,
  toRefusal,
  untilReset,
} from "../http.ts";
import { createTokenSource } from "../token.ts";
import { findMarked } from "./comment.ts";

interface GithubAccess {
  baseUrl: string;
  /** Either a token or an app. */
  token?: string;
  app?: GithubApp;
}

interface GithubApp {
  id: string;
  installation: string;
  /** PEM, with line ends or with `\n` for them. */
  key: string;
}

/** The permissions that an app's token needs to write, by the kind of place. The installation must have them. */
const PERMISSIONS = {
  issue: { issues: "write", pull_requests: "write" },
  commit: { contents: "read" },
  discussion: { discussions: "write" },
} as const;

export type Kind = keyof typeof PERMISSIONS;

/** Opens GitHub's API. `kindOf`: the kind of place that a recipient is. */
export function createGithubApi({ baseUrl, token, app }: GithubAccess, kindOf: (to: string) => Kind): OpenApi {
  const tokens = app && {
    issue: createAppTokens(app, baseUrl, "issue"),
    commit: createAppTokens(app, baseUrl, "commit"),
    discussion: createAppTokens(app, baseUrl, "discussion"),
  };
  return createApi({
    service: "GitHub",
    baseUrl,
    token: tokens ? (to) => tokens[kindOf(to)] : token,
    headers: toHeaders,
    explain,
  });
}

export function toHeaders(token: string): Record<string, string> {
  return {
    authorization: `Bearer ${token}`,
    accept: "application/vnd.github+json",
    "x-github-api-version": "2022-11-28",
    "user-agent": "hookline",
  };
}

/** The tokens of one installation of a GitHub App: each lasts an hour. */
function createAppTokens(app: GithubApp, baseUrl: string, kind: Kind): TokenSource {
  return createTokenSource("GitHub", async (signal) => {
    const answer = await request({
      service: "GitHub",
      url: `${baseUrl.replace(/\/$/, "")}/app/installations/${app.installation}/access_tokens`,
      headers: toHeaders(signToken(app, Math.floor(Date.now() / 1000))),
      body: { permissions: PERMISSIONS[kind] },
      signal,
    });
    const { token, expires_at: expiresAt, message } = answer.body;
    if (answer.status === 201 && typeof token === "string")
      return { value: token, endsAt: Date.parse(String(expiresAt)) };
    throw toRefusal("GitHub", answer, {
      reason: message,
      advice: "Check channels.github.app: its id, key, installation and permissions.",
    });
  });
}

/** The app's proof of itself, a JWT. Its times allow for a clock that is a minute off. */
function signToken({ id, key }: GithubApp, now: number): string {
  const claims = { iat: now - 60, exp: now + 540, iss: id };
  const signed = [{ alg: "RS256", typ: "JWT" }, claims].map(encode).join(".");
  try {
    return `${signed}.${createSign("RSA-SHA256").update(signed).sign(key.replaceAll("\\n", "\n"), "base64url")}`;
  } catch {
    // The cause may quote the key.
    throw new DriverError("channels.github.app.key is not a private key. Set the PEM file's whole text.", {
      retryable: false,
    });
  }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** Asks the GraphQL API. Resolves to the data of an answer. Rejects with a `DriverError`. */
export type Ask = (query: string, variables: object) => Promise<Record<string, unknown>>;

/** Statuses that say what the types of GraphQL's errors say. */
const STATUSES = new Map([
  ["NOT_FOUND", 404],
  ["FORBIDDEN", 403],
  ["INSUFFICIENT_SCOPES", 403],
  ["RATE_LIMITED", 429],
]);

export function createAsk(call: Call, baseUrl: string): Ask {
  // GitHub Enterprise Server has https://<host>/api/graphql beside https://<host>/api/v3.
  const path = /\/v3\/?$/.test(baseUrl) ? "/../graphql" : "/graphql";
  return async (query, variables) => {
    const answer = await call("POST", path, { query, variables });
    const [error] = toObjects(answer.body["errors"]);
    if (!error) return toObject(answer.body["data"]);
    const { type, message } = error;
    // Without a type, it is a failure of GitHub's own.
    const status = typeof type === "string" ? (STATUSES.get(type) ?? 422) : 500;
    const refused = { ...answer, status, body: { message } };
    throw toRefusal("GitHub", refused, explain(refused));
  };
}

const ADVICE = new Map([
  [401, "Check channels.github.token or app."],
  [403, "Give the token write access to the repository's issues and pull requests, or discussions."],
  [404, "Check the recipient, and that the token can see the repository."],
  [410, "The repository has no issues."],
]);

/** A rate limit is also answered by 403. */
function explain(answer: HttpAnswer): Refusal {
  const reason = answer.body["message"];
  const retryAfterMs = toRateLimit(answer);
  if (retryAfterMs !== undefined) return { reason, retryable: true, retryAfterMs };
  return { reason, advice: ADVICE.get(answer.status) };
}

/** GitHub's advice for a secondary limit without a time. */
const SECONDARY_LIMIT_MS = 60_000;

/** https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#exceeding-the-rate-limit */
function toRateLimit({ status, headers, body }: HttpAnswer): number | undefined {
  if (status !== 403 && status !== 429) return undefined;
  if (headers.has("retry-after") || headers.get("x-ratelimit-remaining") === "0") {
    return untilReset(headers, "x-ratelimit-reset") ?? SECONDARY_LIMIT_MS;
  }
  return /secondary rate limit|abuse/i.test(toLine(body["message"])) ? SECONDARY_LIMIT_MS : undefined;
}

/** Discussions are only in GitHub's GraphQL API: https://docs.github.com/en/graphql/guides/using-the-graphql-api-for-discussions */
export interface DiscussionPlace {
  owner: string;
  repo: string;
  number: number;
  /** The comment that begins the thread, as GitHub's events number it. */
  thread?: number;
}

/** Adds a comment, or a reply in a thread. Resolves to its address. */
export async function addToDiscussion(place: DiscussionPlace, body: string, ask: Ask): Promise<string> {
  const { id, thread } = await loadDiscussion(place, ask);
  const { addDiscussionComment } = await ask(ADD, { input: { discussionId: id, body, replyToId: thread } });
  return requireId(toObject(toObject(addDiscussionComment)["comment"])["url"], "GitHub");
}

/** Resolves to false if the comment is gone. */
export async function editInDiscussion(
  place: DiscussionPlace,
  { url, body }: { url: string; body: string },
  ask: Ask,
): Promise<boolean> {
  const { comments } = await loadDiscussion(place, ask);
  const comment = comments.find((each) => each["url"] === url);
  if (comment) await ask(EDIT, { input: { commentId: comment["id"], body } });
  return comment !== undefined;
}

/** Resolves to the address of the comment that ends with the mark. */
export async function findInDiscussion(place: DiscussionPlace, mark: string, ask: Ask): Promise<string | undefined> {
  const comment = findMarked((await loadDiscussion(place, ask)).comments, mark);
  return comment && requireId(comment["url"], "GitHub");
}

/** Shows eyes on the thread's comment or on the discussion. Resolves to what takes them away, with its own `Ask`. */
export async function addEyesReaction(place: DiscussionPlace, ask: Ask): Promise<(ask: Ask) => Promise<void>> {
  const { id, thread = id } = await loadDiscussion(place, ask);
  const input = { subjectId: thread, content: "EYES" };
  await ask(REACT, { input });
  return async (askAgain) => void (await askAgain(UNREACT, { input }));
}

interface Discussion {
  id: string;
  /** The id of the thread's first comment. Absent: none is named, or it is too old. */
  thread?: string;
  /** The newest comments and replies. */
  comments: Record<string, unknown>[];
}

async function loadDiscussion({ thread, ...variables }: DiscussionPlace, ask: Ask): Promise<Discussion> {
  const { repository } = await ask(LOAD, variables);
  const discussion = toObject(toObject(repository)["discussion"]);
  const first = toNodes(discussion["comments"]);
  const parent = first.find(({ databaseId }) => thread !== undefined && databaseId === thread);
  return {
    id: requireId(discussion["id"], "GitHub"),
    thread: parent && requireId(parent["id"], "GitHub"),
    comments: [...first, ...first.flatMap(({ replies }) => toNodes(replies))],
  };
}

function toNodes(connection: unknown): Record<string, unknown>[] {
  return toObjects(toObject(connection)["nodes"]);
}

const LOAD = `
  query ($owner: String!, $repo: String!, $number: Int!) {
    repository(owner: $owner, name: $repo) {
      discussion(number: $number) {
        id
        comments(last: 100) { nodes { ...comment replies(last: 50) { nodes { ...comment } } } }
      }
    }
  }
  fragment comment on DiscussionComment { id databaseId url body }`;
const ADD = "mutation ($input: AddDiscussionCommentInput!) { addDiscussionComment(input: $input) { comment { url } } }";
const EDIT =
  "mutation ($input: UpdateDiscussionCommentInput!) { updateDiscussionComment(input: $input) { comment { url } } }";
const REACT = "mutation ($input: AddReactionInput!) { addReaction(input: $input) { subject { id } } }";
const UNREACT = "mutation ($input: RemoveReactionInput!) { removeReaction(input: $input) { subject { id } } }";
