import type { FromSchema } from "json-schema-to-ts";
import type { ChannelDefinition } from "../../core/ports/driver.ts";
import { objectSchema } from "../../core/shared/json.ts";
import type { ChannelDriver } from "../../core/ports/channel.ts";
import { PAGE_ADDRESS, recipientCheck, requireId } from "../kit/http.ts";
import { changeAtPath, createCommentChannel, findMarked, GONE, toMarkedText } from "../kit/comments/comment.ts";
import { createGiteaApi } from "./client.ts";
import { createGiteaPulls } from "./pulls.ts";
import { commentOptions } from "../kit/comments/options.ts";

const schema = {
  description: "Comments on Gitea and Forgejo. The access token needs the permission issue: Read and Write.",
  ...objectSchema(["token", "baseUrl"], {
    ...commentOptions("Access token of the agent's account.", "The server as people open it: https://git.example.com."),
  }),
} as const;

type GiteaOptions = Pick<FromSchema<typeof schema>, "baseUrl" | "token"> & Partial<FromSchema<typeof schema>>;

export const gitea: ChannelDefinition<GiteaOptions> = {
  hasRepositories: true,
  schema,
  create: createGitea,
  about: {
    to: "`acme/app#12`",
    needs: "*issue*: read and write",
    testedAgainst: "a double, compared with Gitea's OpenAPI file",
  },
};

const RECIPIENT = /^(?<repo>(?!\.{1,2}\/)[\w.-]{1,100}\/(?!\.{1,2}#)[\w.-]{1,100})#(?<number>[1-9]\d{0,15})$/;

export function createGitea(options: GiteaOptions): ChannelDriver {
  const { host } = new URL(options.baseUrl);
  const api = createGiteaApi(options);
  const comments = createCommentChannel(
    {
      name: "gitea",
      limit: 20_000,
      checkRecipient: recipientCheck(RECIPIENT, "an issue or pull request such as acme/app#12"),
      render: ({ text }, toMark) => ({ body: toMarkedText(text, toMark, { ...options, host }) }),
      async add(to, body, call) {
        const answer = await call("POST", `${parseRecipient(to).issue}/comments`, body);
        return requireId(answer.body["html_url"], "Gitea", PAGE_ADDRESS);
      },
      ...changeAtPath("PATCH", (to, messageId) => {
        const id = /#issuecomment-(\d+)$/.exec(messageId)?.[1];
        return id && `${parseRecipient(to).repo}/issues/comments/${id}`;
      }),
      async find(to, mark, call) {
        // The answer has all comments, without pages.
        const { items } = await call("GET", `${parseRecipient(to).issue}/comments`);
        const found = findMarked(items, mark);
        return found && requireId(found["html_url"], "Gitea", PAGE_ADDRESS);
      },
      async startWorking(to, call) {
        const reactions = `${parseRecipient(to).issue}/reactions`;
        await call("POST", reactions, { content: "eyes" });
        return (again) => again("DELETE", reactions, { content: "eyes" }, GONE);
      },
    },
    api,
  );
  return { ...comments, ...createGiteaPulls(api, { ...options, host, server: options.baseUrl }) };
}

function parseRecipient(to: string): { repo: string; issue: string } {
  const { repo, number } = RECIPIENT.exec(to)?.groups ?? {};
  return { repo: `/repos/${repo}`, issue: `/repos/${repo}/issues/${number}` };
}
