import type { FromSchema } from "json-schema-to-ts";
import type { DriverError } from "../../errors.ts";
import type { DriverDefinition } from "../../plugin.ts";
import { parseRetryAfter } from "../../shared/http-status.ts";
import { HTTP_URL, NON_BLANK } from "../../shared/schema.ts";
import { type ChannelDriver, recipientCheck } from "../driver.ts";
import { type HttpAnswer, toLine, toRefusal } from "../http.ts";
import { type Call, createApi, createCommentChannel, isSuccess, requireId, withMark } from "./comment.ts";
import { createAppTokens, toHeaders } from "./github-app.ts";
import { ALLOWANCES, neutralize } from "./neutralize.ts";

const schema = {
  type: "object",
  additionalProperties: false,
  description:
    "Comments on GitHub. A fine-grained token needs Issues and Pull requests: Read and write; so does a GitHub App.",
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

const ADVICE = new Map([
  [401, "Check channels.github.token or app."],
  [403, "Give the token write access to the repository's issues and pull requests."],
  [404, "Check the recipient, and that the token can see the repository."],
  [410, "The repository has no issues."],
]);

const PLACE =
  /^(?<owner>[\w-]{1,100})\/(?<repo>(?!\.{1,2}#)[\w.-]{1,100})#(?<number>[1-9]\d{0,15})(?:\/r(?<review>[1-9]\d{0,17}))?$/;

/** Comments on issues and pull requests, and replies in the threads of a review. */
export function createGithub(options: GithubOptions): ChannelDriver {
  const { baseUrl = "https://api.github.com", token, app } = options;
  const tokens = app && createAppTokens(app, baseUrl);
  let used = token ?? "";
  const open = createApi({
    service: "GitHub",
    baseUrl,
    async headers(signal) {
      used = (await tokens?.get(signal)) ?? used;
      return toHeaders(used);
    },
    toError(answer) {
      // An app's token may be revoked early. The next attempt gets a new one.
      const isRevoked = tokens !== undefined && answer.status === 401;
      if (isRevoked) tokens.forget(used);
      return toDriverError(answer, isRevoked);
    },
  });
  return createCommentChannel(
    {
      name: "github",
      addressOf: (to) => to.replace(/\/r\d+$/, ""),
      // GitHub accepts 65,536 characters.
      limit: 20_000,
      checkRecipient: recipientCheck(
        PLACE,
        "an issue or pull request such as acme/app#12, or acme/app#12/r345 for a review thread",
      ),
      render: async ({ text }, mark) => ({
        body: withMark(await neutralize(text, { ...options, host: toHost(baseUrl) }), mark),
      }),
      async add(to, body, call) {
        const { path, review } = parsePlace(to);
        const answer = review
          ? await call("POST", `${path.pull}/comments`, { ...body, in_reply_to: Number(review) })
          : await call("POST", `${path.issue}/comments`, body);
        return requireId(answer.body["html_url"], "GitHub");
      },
      async edit(to, messageId, body, call) {
        const comment = toCommentPath(to, messageId);
        return comment !== undefined && isSuccess(await call("PATCH", comment, body, "edit"));
      },
      find: findMarked,
      async startWorking(to, signal) {
        const call = await open(signal);
        const { path, review } = parsePlace(to);
        const reactions = `${review ? `${path.repo}/pulls/comments/${review}` : path.issue}/reactions`;
        const { body } = await call("POST", reactions, { content: "eyes" });
        const id = requireId(body["id"], "GitHub");
        return async () => {
          const callAgain = await open(AbortSignal.timeout(REACTION_TIMEOUT_MS));
          await callAgain("DELETE", `${reactions}/${id}`, undefined, "edit");
        };
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

interface Place {
  path: { repo: string; issue: string; pull: string };
  review?: string;
}

function parsePlace(to: string): Place {
  const { owner, repo: name, number, review } = PLACE.exec(to)?.groups ?? {};
  const repo = `/repos/${owner}/${name}`;
  return { path: { repo, issue: `${repo}/issues/${number}`, pull: `${repo}/pulls/${number}` }, review };
}

/** The id of a message is its address: https://github.com/acme/app/pull/12#discussion_r345. */
function toCommentPath(to: string, messageId: string): string | undefined {
  const [, kind, id] = /#(issuecomment-|discussion_r)(\d+)$/.exec(messageId) ?? [];
  return id && `${parsePlace(to).path.repo}/${kind === "discussion_r" ? "pulls" : "issues"}/comments/${id}`;
}

const PAGE = 100;

/** Among the newest hundred or two. Comments of an issue come oldest first, so that the last page is asked for. */
async function findMarked(to: string, mark: string, call: Call): Promise<string | undefined> {
  const { path, review } = parsePlace(to);
  if (review) {
    const newest = await call("GET", `${path.pull}/comments?sort=created&direction=desc&per_page=${PAGE}`);
    return findIn(newest, mark);
  }
  const first = await call("GET", `${path.issue}/comments?per_page=${PAGE}`);
  const last = /[?&]page=(\d+)[^>]*>;\s*rel="last"/.exec(first.headers.get("link") ?? "")?.[1];
  const found = findIn(first, mark);
  if (found !== undefined || last === undefined) return found;
  return findIn(await call("GET", `${path.issue}/comments?per_page=${PAGE}&page=${last}`), mark);
}

function findIn({ items = [] }: HttpAnswer, mark: string): string | undefined {
  const found = items.find(({ body }) => typeof body === "string" && body.endsWith(mark));
  return found && requireId(found["html_url"], "GitHub");
}

/** GitHub's advice for a secondary limit without a time. */
const SECONDARY_LIMIT_MS = 60_000;

function toDriverError(answer: HttpAnswer, isRevoked: boolean): DriverError {
  const retryAfterMs = toRateLimit(answer);
  return toRefusal("GitHub", answer, {
    reason: answer.body["message"],
    advice: retryAfterMs === undefined ? ADVICE.get(answer.status) : undefined,
    // A rate limit is also answered by 403.
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
