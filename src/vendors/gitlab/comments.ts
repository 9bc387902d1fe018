import type { FromSchema } from "json-schema-to-ts";
import type { ChannelDefinition } from "../../core/ports/driver.ts";
import { objectSchema } from "../../core/shared/json.ts";
import type { ChannelDriver } from "../../core/ports/channel.ts";
import { recipientCheck, requireId } from "../kit/http.ts";
import { orElse } from "../../core/shared/system/files.ts";
import { changeAtPath, createCommentChannel, findMarked, GONE, toMarkedText } from "../kit/comments/comment.ts";
import { createGitlabApi, toHost, toServer } from "./client.ts";
import { createGitlabPulls } from "./pulls.ts";
import { createGitlabReviews, readNewest, toMessageId } from "./reviews.ts";
import { commentOptions } from "../kit/comments/options.ts";

const schema = {
  description: "Notes on GitLab. A project or group access token needs the scope api and the role Reporter.",
  ...objectSchema(["token"], {
    ...commentOptions(
      "Access token of a project, a group or the agent's account.",
      "The server as people open it. Default: https://gitlab.com.",
    ),
  }),
} as const;

type GitlabOptions = Pick<FromSchema<typeof schema>, "token"> & Partial<FromSchema<typeof schema>>;

export const gitlab: ChannelDefinition<GitlabOptions> = {
  hasRepositories: true,
  schema,
  create: createGitlab,
  about: {
    to: "`acme/app#12` or `acme/app!12`, with `/d` and a discussion's id",
    needs: "scope `api`, role *Reporter*",
    testedAgainst: "a double, compared with GitLab's OpenAPI file",
  },
};

const RECIPIENT =
  /^(?<project>[A-Za-z0-9_][\w.-]*(?:\/[A-Za-z0-9_][\w.-]*){1,20})(?<kind>[#!])(?<number>[1-9]\d{0,15})(?:\/d(?<thread>[0-9a-f]{40}))?$/;

/** Notes on issues and merge requests, and replies in their discussions. */
export function createGitlab(options: GitlabOptions): ChannelDriver {
  const host = toHost(options.baseUrl);
  const api = createGitlabApi(options);
  const comments = createCommentChannel(
    {
      name: "gitlab",
      files: { service: "GitLab", locate: locateUpload },
      // GitLab accepts a million characters.
      limit: 20_000,
      addressOf: (to) => to.replace(/\/d[0-9a-f]+$/, ""),
      checkRecipient: recipientCheck(
        RECIPIENT,
        "an issue such as acme/app#12, a merge request such as acme/app!12, or one with /d and a discussion's id",
      ),
      render: ({ text }, toMark) => ({ body: toMarkedText(text, toMark, { ...options, host }) }),
      async add(to, body, call) {
        const { path, thread } = parseRecipient(to);
        const answer = await call("POST", `${path}${thread ? `/discussions/${thread}` : ""}/notes`, body);
        return toMessageId(answer.body["id"]);
      },
      ...changeAtPath("PUT", (to, messageId) => {
        const id = /^(?:note_)?(\d+)$/.exec(messageId)?.[1];
        return id && `${parseRecipient(to).path}/notes/${id}`;
      }),
      async find(to, mark, call) {
        const found = findMarked(await readNewest(parseRecipient(to).path, call), mark);
        return found && toMessageId(found["id"]);
      },
      reviews: createGitlabReviews((to) => {
        const { path, thread } = parseRecipient(to);
        return thread === undefined && path.includes("/merge_requests/") ? path : undefined;
      }),
      async startWorking(to, call) {
        const emoji = `${parseRecipient(to).path}/award_emoji`;
        const { body } = await call("POST", emoji, { name: "eyes" });
        const id = requireId(body["id"], "GitLab");
        return (again) => again("DELETE", `${emoji}/${id}`, undefined, GONE);
      },
    },
    api,
  );
  return { ...comments, ...createGitlabPulls(api, { ...options, host, server: toServer(options.baseUrl) }) };
}

function parseRecipient(to: string): { path: string; thread: string | undefined } {
  const { project = "", kind, number, thread } = RECIPIENT.exec(to)?.groups ?? {};
  const path = `/projects/${encodeURIComponent(project)}/${kind === "!" ? "merge_requests" : "issues"}/${number}`;
  return { path, thread };
}

const UPLOAD = /\/uploads\/(?<secret>[0-9a-f]{32})\/(?<name>[^/?#\\]{1,255})$/;

/** A picture in a text has the address of a page, which needs a sign-in; the API has the same file. */
function locateUpload({ url = "" }: { url?: string }, { to, baseUrl }: { to: string; baseUrl: string }): string {
  const { secret, name } = UPLOAD.exec(url)?.groups ?? {};
  if (!secret || !name || /^\.+$/.test(name)) return url;
  const project = encodeURIComponent(to.split(/[#!@]/, 1)[0] ?? "");
  return `${baseUrl}/projects/${project}/uploads/${secret}/${encodeURIComponent(decodeName(name))}`;
}

function decodeName(name: string): string {
  return orElse(name, () => decodeURIComponent(name));
}
