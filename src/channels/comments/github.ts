import type { FromSchema } from "json-schema-to-ts";
import type { DriverError } from "../../errors.ts";
import type { DriverDefinition } from "../../plugin.ts";
import { parseRetryAfter } from "../../shared/network.ts";
import { HTTP_URL, NON_BLANK, toObject, toObjects } from "../../shared/json.ts";
import { type ChannelDriver, recipientCheck } from "../driver.ts";
import { type HttpAnswer, toLine, toRefusal } from "../http.ts";
import { type Call, createApi, createCommentChannel, isSuccess, requireId, withMark } from "./comment.ts";
import { createAppTokens, toHeaders } from "./github-app.ts";
import {
  addComment,
  addEyesReaction,
  type Ask,
  type DiscussionPlace,
  editComment,
  findComment,
} from "./github-discussions.ts";
import { ALLOWANCES, neutralize } from "./neutralize.ts";

const schema = {
  type: "object",
  additionalProperties: false,
  description:
    "Comments on GitHub. A fine-grained token or a GitHub App needs Issues and Pull requests: Read and write; for discussions Discussions: Read and write; for commits Contents: Read.",
  properties: {
    token: { ...NON_BLANK, description: "Personal access token, of an account of the agent's own." },
    app: {
      type: "object",
      additionalProperties: false,
      required: ["id", "installation", "key"],
      description: "A GitHub App instead of a token.",
      properties: {
        id: { ...NON_BLANK, description: "The app's client id or id." },
        installation: {
          type: "string",
          pattern: "^\\d+$",
          description: "The number at the end of the installation's URL.",
        },
        key: { ...NON_BLANK, description: "Its private key, PEM. \\n may stand for line ends." },
      },
    },
    ...ALLOWANCES,
    baseUrl: {
      ...HTTP_URL,
      description: "Of GitHub Enterprise Server: https://<host>/api/v3. Default: https://api.github.com.",
    },
  },
} as const;

type GithubOptions = Partial<FromSchema<typeof schema>>;

export const github: DriverDefinition<ChannelDriver, GithubOptions> = {
  schema,
  check: ({ token, app }) =>
    (token === undefined) === (app === undefined) ? [{ message: "Set either token or app." }] : [],
  create: createGithub,
};

const PLACE =
  /^(?<owner>[\w-]{1,100})\/(?<repo>(?!\.{1,2}[#/])[\w.-]{1,100})(?:#(?<number>[1-9]\d{0,15})(?:\/r(?<review>[1-9]\d{0,15}))?|\/commit\/(?<commit>[0-9a-f]{40})|\/discussions\/(?<discussion>[1-9]\d{0,8})(?:\/r(?<thread>[1-9]\d{0,15}))?)$/;

/** The permissions that a GitHub App's token needs to write. */
const PERMISSIONS = {
  issue: { issues: "write", pull_requests: "write" },
  commit: { contents: "read" },
  discussion: { discussions: "write" },
} as const;

/** Comments on issues, pull requests, commits and discussions, and replies in the threads of reviews and discussions. */
export function createGithub(options: GithubOptions): ChannelDriver {
  const { baseUrl = "https://api.github.com", token, app } = options;
  const tokens = app && {
    issue: createAppTokens(app, baseUrl, PERMISSIONS.issue),
    commit: createAppTokens(app, baseUrl, PERMISSIONS.commit),
    discussion: createAppTokens(app, baseUrl, PERMISSIONS.discussion),
  };
  let used = token ?? "";
  const open = createApi({
    service: "GitHub",
    baseUrl,
    async headers(signal, to) {
      used = (await tokens?.[parsePlace(to).kind].get(signal)) ?? used;
      return toHeaders(used);
    },
    toError(answer) {
      // An app's token may be revoked early. The next attempt gets a new one.
      const isRevoked = tokens !== undefined && answer.status === 401;
      if (isRevoked) for (const source of Object.values(tokens)) source.forget(used);
      return toDriverError(answer, isRevoked);
    },
  });
  const openGraphql = (call: Call): Ask => createAsk(call, baseUrl);
  return createCommentChannel(
    {
      name: "github",
      addressOf: (to) => to.replace(/\/r\d+$/, ""),
      // GitHub accepts 65,536 characters.
      limit: 20_000,
      checkRecipient: recipientCheck(
        PLACE,
        "an issue or pull request such as acme/app#12, a discussion such as acme/app/discussions/12, either with /r345 for " +
          "a thread, or acme/app/commit/ and the commit's whole hash",
      ),
      render: async ({ text }, mark) => ({
        body: withMark(await neutralize(text, { ...options, host: toHost(baseUrl) }), mark),
      }),
      async add(to, body, call) {
        const place = parsePlace(to);
        if (place.kind === "discussion") return addComment(place, body.body, openGraphql(call));
        const answer =
          place.review === undefined
            ? await call("POST", place.comments, body)
            : await call("POST", place.comments, { ...body, in_reply_to: place.review });
        return requireId(answer.body["html_url"], "GitHub");
      },
      async edit(to, messageId, body, call) {
        const place = parsePlace(to);
        if (place.kind === "discussion") {
          return editComment(place, { url: messageId, body: body.body }, openGraphql(call));
        }
        const comment = toCommentPath(place, messageId);
        return comment !== undefined && isSuccess(await call("PATCH", comment, body, "edit"));
      },
      async find(to, mark, call) {
        const place = parsePlace(to);
        return place.kind === "discussion"
          ? findComment(place, mark, openGraphql(call))
          : findMarked(place, mark, call);
      },
      async startWorking(to, signal) {
        const place = parsePlace(to);
        const openAgain = (): Promise<Call> => open(AbortSignal.timeout(REACTION_TIMEOUT_MS), to);
        if (place.kind === "discussion") {
          const stop = await addEyesReaction(place, openGraphql(await open(signal, to)));
          return async () => stop(openGraphql(await openAgain()));
        }
        const { reactions } = place;
        // A reaction on a commit needs a permission that could push code.
        if (reactions === undefined) return () => Promise.resolve();
        const { body } = await (await open(signal, to))("POST", reactions, { content: "eyes" });
        const id = requireId(body["id"], "GitHub");
        return async () => void (await (await openAgain())("DELETE", `${reactions}/${id}`, undefined, "edit"));
      },
    },
    open,
  );
}

const REACTION_TIMEOUT_MS = 10_000;

/** Where people open it. */
function toHost(baseUrl: string): string {
  return new URL(baseUrl).host.replace(/^api\.github\.com$/, "github.com");
}

/** The name in the REST API. */
interface RestPlace {
  kind: "commit" | "issue";
  /** The path of the repository. */
  repository: string;
  /** Where comments are listed and added. */
  comments: string;
  /** The comment that begins the thread of a review. */
  review?: number;
  reactions?: string;
}

type Place = RestPlace | (DiscussionPlace & { kind: "discussion" });

function parsePlace(to: string): Place {
  const { owner = "", repo = "", number, review, commit, discussion, thread } = PLACE.exec(to)?.groups ?? {};
  const repository = `/repos/${owner}/${repo}`;
  if (discussion !== undefined) {
    return { kind: "discussion", owner, repo, number: Number(discussion), thread: thread ? Number(thread) : undefined };
  }
  if (commit !== undefined) return { kind: "commit", repository, comments: `${repository}/commits/${commit}/comments` };
  if (review !== undefined) {
    const reactions = `${repository}/pulls/comments/${review}/reactions`;
    return {
      kind: "issue",
      repository,
      comments: `${repository}/pulls/${number}/comments`,
      review: Number(review),
      reactions,
    };
  }
  const issue = `${repository}/issues/${number}`;
  return { kind: "issue", repository, comments: `${issue}/comments`, reactions: `${issue}/reactions` };
}

/**
 * The id of a message is its address: https://github.com/acme/app/pull/12#discussion_r345. A comment on a commit is not
 * edited: that needs a permission that could push code.
 */
function toCommentPath({ repository }: RestPlace, messageId: string): string | undefined {
  const [, kind, id] = /#(issuecomment-|discussion_r)(\d+)$/.exec(messageId) ?? [];
  return id && `${repository}/${kind === "discussion_r" ? "pulls" : "issues"}/comments/${id}`;
}

const PAGE = 100;

/** Among the newest hundred or two. Comments of an issue come oldest first, so that the last page is asked for. */
async function findMarked({ comments, review }: RestPlace, mark: string, call: Call): Promise<string | undefined> {
  if (review !== undefined) {
    const newest = await call("GET", `${comments}?sort=created&direction=desc&per_page=${PAGE}`);
    return findIn(newest, mark);
  }
  const first = await call("GET", `${comments}?per_page=${PAGE}`);
  const last = /[?&]page=(\d+)[^>]*>;\s*rel="last"/.exec(first.headers.get("link") ?? "")?.[1];
  const found = findIn(first, mark);
  if (found !== undefined || last === undefined) return found;
  return findIn(await call("GET", `${comments}?per_page=${PAGE}&page=${last}`), mark);
}

function findIn({ items = [] }: HttpAnswer, mark: string): string | undefined {
  const found = items.find(({ body }) => typeof body === "string" && body.endsWith(mark));
  return found && requireId(found["html_url"], "GitHub");
}

/** Statuses that say what the types of GraphQL's errors say. */
const STATUSES = new Map([
  ["NOT_FOUND", 404],
  ["FORBIDDEN", 403],
  ["INSUFFICIENT_SCOPES", 403],
  ["RATE_LIMITED", 429],
]);

function createAsk(call: Call, baseUrl: string): Ask {
  // GitHub Enterprise Server has https://<host>/api/graphql beside https://<host>/api/v3.
  const path = /\/v3\/?$/.test(baseUrl) ? "/../graphql" : "/graphql";
  return async (query, variables) => {
    const answer = await call("POST", path, { query, variables });
    const [error] = toObjects(answer.body["errors"]);
    if (!error) return toObject(answer.body["data"]);
    const { type, message } = error;
    // Without a type, it is a failure of GitHub's own.
    const status = typeof type === "string" ? (STATUSES.get(type) ?? 422) : 500;
    throw toDriverError({ ...answer, status, body: { message } }, false);
  };
}

const ADVICE = new Map([
  [401, "Check channels.github.token or app."],
  [403, "Give the token write access to the repository's issues and pull requests, or discussions."],
  [404, "Check the recipient, and that the token can see the repository."],
  [410, "The repository has no issues."],
]);

/** GitHub's advice for a secondary limit without a time. */
const SECONDARY_LIMIT_MS = 60_000;

/** The error for an answer that is a refusal. A rate limit is also answered by 403. */
function toDriverError(answer: HttpAnswer, isRevoked: boolean): DriverError {
  const retryAfterMs = toRateLimit(answer);
  return toRefusal("GitHub", answer, {
    reason: answer.body["message"],
    advice: retryAfterMs === undefined ? ADVICE.get(answer.status) : undefined,
    ...((isRevoked || retryAfterMs !== undefined) && { retryable: true, retryAfterMs }),
  });
}

/** https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#exceeding-the-rate-limit */
function toRateLimit({ status, headers, body }: HttpAnswer): number | undefined {
  if (status !== 403 && status !== 429) return undefined;
  if (headers.has("retry-after")) return parseRetryAfter(headers.get("retry-after"));
  if (headers.get("x-ratelimit-remaining") === "0") {
    const reset = Number(headers.get("x-ratelimit-reset")) * 1000 - Date.now();
    return Number.isFinite(reset) ? Math.max(0, reset) : SECONDARY_LIMIT_MS;
  }
  return /secondary rate limit|abuse/i.test(toLine(body["message"])) ? SECONDARY_LIMIT_MS : undefined;
}
