import type { FromSchema } from "json-schema-to-ts";
import type { ChannelDefinition } from "../../core/ports/driver.ts";
import { NON_BLANK, objectSchema } from "../../core/shared/json.ts";
import type { ChannelDriver } from "../../core/ports/channel.ts";
import { type Call, isSuccess, PAGE_ADDRESS, recipientCheck, requireId } from "../kit/http.ts";
import { createCommentChannel, GONE, toMarkedText } from "../kit/comments/comment.ts";
import { type Ask, createAsk, createGithubApi, toHost } from "./client.ts";
import {
  addEyesReaction,
  addToDiscussion,
  changeInDiscussion,
  type DiscussionRecipient,
  findInDiscussion,
} from "./discussions.ts";
import { createGithubPulls } from "./pulls.ts";
import { createGithubReviews, findNewest } from "./reviews.ts";
import { commentOptions } from "../kit/comments/options.ts";

const schema = {
  description:
    "Comments on GitHub. A fine-grained token or a GitHub App needs Issues and Pull requests: Read and write; for discussions Discussions: Read and write; for commits Contents: Read.",
  ...objectSchema([], {
    ...commentOptions(
      "Personal access token of the agent's account.",
      "The address of the API, for GitHub Enterprise Server: https://<host>/api/v3. Default: https://api.github.com.",
    ),
    app: {
      description: "A GitHub App instead of a token.",
      ...objectSchema(["id", "key"], {
        id: { ...NON_BLANK, description: "The app's client id or id." },
        installation: {
          type: "string",
          pattern: "^\\d+$",
          description:
            "The number at the end of the installation's URL. Default: that of the event, or of the repository that is written to.",
        },
        key: { ...NON_BLANK, description: "Its private key, PEM. \\n may stand for line ends." },
      }),
    },
  }),
} as const;

type GithubOptions = Partial<FromSchema<typeof schema>>;

export const github: ChannelDefinition<GithubOptions> = {
  hasRepositories: true,
  schema,
  check: ({ token, app }) =>
    (token === undefined) === (app === undefined) ? [{ message: "Set either token or app." }] : [],
  create: createGithub,
  about: {
    to: "`acme/app#12`, with `/r345` a review's thread; `acme/app/discussions/12`, with `/r345` a comment's thread; `acme/app/commit/` and the whole hash",
    needs:
      "*Issues* and *Pull requests*: read and write; for discussions *Discussions*: read and write; for commits *Contents*: read",
    testedAgainst: "the npm package `emulate`; discussions on GitHub's GraphQL schema",
  },
};

const RECIPIENT =
  /^(?<owner>[\w-]{1,100})\/(?<repo>(?!\.{1,2}[#/])[\w.-]{1,100})(?:#(?<number>[1-9]\d{0,15})(?:\/r(?<review>[1-9]\d{0,15}))?|\/commit\/(?<commit>[0-9a-f]{40})|\/discussions\/(?<discussion>[1-9]\d{0,8})(?:\/r(?<thread>[1-9]\d{0,15}))?)$/;

/** Comments on issues, pull requests, commits and discussions, and replies in the threads of reviews and discussions. */
export function createGithub(options: GithubOptions): ChannelDriver {
  const { baseUrl, token, app } = options;
  const host = toHost(baseUrl);
  const askBy = (call: Call): Ask => createAsk(call, baseUrl);
  const api = createGithubApi({ baseUrl, token, app }, (to) => {
    const { owner, repo } = RECIPIENT.exec(to)?.groups ?? {};
    // A read is about a repository.
    return owner === undefined
      ? { kind: "repository", repository: to }
      : { kind: parseRecipient(to).kind, repository: `${owner}/${repo}` };
  });
  const channel = createCommentChannel(
    {
      name: "github",
      files: {
        service: "GitHub",
        hosts: ["*.githubusercontent.com", "github-production-user-asset-6210df.s3.amazonaws.com"],
        withCredential: [host],
        isFile: ({ pathname }, to) => isAttachment(pathname, to),
      },
      addressOf: (to) => to.replace(/\/r\d+$/, ""),
      // GitHub accepts 65,536 characters.
      limit: 20_000,
      checkRecipient: recipientCheck(
        RECIPIENT,
        "an issue or pull request such as acme/app#12, a discussion such as acme/app/discussions/12, either with /r345 for " +
          "a thread, or acme/app/commit/ and the commit's whole hash",
      ),
      render: ({ text }, toMark) => ({
        body: toMarkedText(text, toMark, { ...options, host }),
      }),
      async add(to, { body }, call) {
        const recipient = parseRecipient(to);
        if (recipient.kind === "discussion") return addToDiscussion(recipient, body, askBy(call));
        const answer = await call("POST", recipient.comments, { body, in_reply_to: recipient.review });
        return requireId(answer.body["html_url"], "GitHub", PAGE_ADDRESS);
      },
      async edit(to, messageId, { body }, call) {
        const recipient = parseRecipient(to);
        if (recipient.kind === "discussion")
          return changeInDiscussion(recipient, { url: messageId, body }, askBy(call));
        const comment = toCommentPath(recipient, messageId);
        return comment !== undefined && isSuccess(await call("PATCH", comment, { body }, GONE));
      },
      async remove(to, messageId, call) {
        const recipient = parseRecipient(to);
        if (recipient.kind === "discussion") return changeInDiscussion(recipient, { url: messageId }, askBy(call));
        const comment = toCommentPath(recipient, messageId);
        return comment && call("DELETE", comment, undefined, GONE);
      },
      async find(to, mark, call) {
        const recipient = parseRecipient(to);
        if (recipient.kind === "discussion") return findInDiscussion(recipient, mark, askBy(call));
        const { comments, review } = recipient;
        return findNewest(comments, { mark, hasOrder: review !== undefined }, call);
      },
      reviews: createGithubReviews((to) => {
        const recipient = parseRecipient(to);
        return recipient.kind === "issue" && recipient.review === undefined ? recipient.pull : undefined;
      }),
      async startWorking(to, call) {
        const recipient = parseRecipient(to);
        if (recipient.kind === "discussion") {
          const stop = await addEyesReaction(recipient, askBy(call));
          return (again) => stop(askBy(again));
        }
        const { reactions } = recipient;
        // A reaction on a commit needs a permission that could push code.
        if (reactions === undefined) return undefined;
        const { body } = await call("POST", reactions, { content: "eyes" });
        const id = requireId(body["id"], "GitHub");
        return (again) => again("DELETE", `${reactions}/${id}`, undefined, GONE);
      },
    },
    api,
  );
  return { ...channel, ...createGithubPulls(api, { ...options, host }) };
}

/** The name in the REST API. */
interface RestRecipient {
  kind: "commit" | "issue";
  /** The path of the repository. */
  repository: string;
  /** The path of the pull request, if it is one. */
  pull?: string;
  /** Where comments are listed and added. */
  comments: string;
  /** The comment that begins the thread of a review. */
  review?: number;
  reactions?: string;
}

type Recipient = RestRecipient | (DiscussionRecipient & { kind: "discussion" });

function parseRecipient(to: string): Recipient {
  const { owner = "", repo = "", number, review, commit, discussion, thread } = RECIPIENT.exec(to)?.groups ?? {};
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
  const pull = `${repository}/pulls/${number}`;
  return { kind: "issue", repository, pull, comments: `${issue}/comments`, reactions: `${issue}/reactions` };
}

/**
 * The id of a message is its address: https://github.com/acme/app/pull/12#discussion_r345. A comment on a commit is not
 * edited: that needs a permission that could push code.
 */
function toCommentPath({ repository }: RestRecipient, messageId: string): string | undefined {
  const [, kind, id] = /#(issuecomment-|discussion_r)(\d+)$/.exec(messageId) ?? [];
  return id && `${repository}/${kind === "discussion_r" ? "pulls" : "issues"}/comments/${id}`;
}

/** A file that was dragged into a text: one of nobody's repository, or of that of the place. */
function isAttachment(pathname: string, to: string): boolean {
  const { owner = "", repo = "" } = RECIPIENT.exec(to)?.groups ?? {};
  const [, place = "", name, kind] = /^\/([^/]+)(?:\/([^/]+))?\/(assets|files)\/[^/]/.exec(pathname) ?? [];
  if (kind === undefined) return false;
  if (name === undefined) return place === "user-attachments";
  return `${place}/${name}`.toLowerCase() === `${owner}/${repo}`.toLowerCase();
}
