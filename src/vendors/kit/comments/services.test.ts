import { expect, test } from "vitest";
import { gitea, gitlab } from "../../../../test/support/comment-services.ts";
import { startComments } from "../../../../test/support/comment-server.ts";
import { type CommentSubject, describeComments, TOKEN } from "../../../../test/support/comment-suite.ts";
import { createGitea } from "../../gitea/comments.ts";
import { createGitlab } from "../../gitlab/comments.ts";

const subjects: Record<string, CommentSubject> = {
  gitlab: {
    service: gitlab,
    open: (baseUrl) => createGitlab({ token: TOKEN, baseUrl }),
    to: "acme/app#12",
    raw: "Hello @\u200Bada.\n\n<!-- hookline:d:0 -->",
    unknown: "acme/other!1",
    malformed: ["", "acme#1", "acme/app", "acme/../app#1", "acme/app#12/d1", "/acme/app#1", "acme/app#0"],
  },
  gitea: {
    service: gitea,
    open: (baseUrl) => createGitea({ token: TOKEN, baseUrl }),
    to: "acme/app#12",
    raw: "Hello @\u200Bada.\n\n<!-- hookline:d:0 -->",
    unknown: "acme/other#1",
    malformed: ["", "acme/app", "acme/..#1", "../app#1", "a/b/c#1", "acme/app!1"],
  },
};

for (const [name, subject] of Object.entries(subjects)) describeComments(name, subject);

test("gitlab replies in a discussion", async () => {
  const server = await startComments(gitlab);
  const channel = createGitlab({ token: TOKEN, baseUrl: server.baseUrl });
  const discussion = "6a9c1750b37d513a43987b574953fceb50b03ce7";
  const message = { to: `acme/app!12/d${discussion}`, text: "Yes.", idempotencyKey: "d:0" };
  await channel.send(message, new AbortController().signal);
  expect(server.requests).toEqual([
    `POST /api/v4/projects/acme%2Fapp/merge_requests/12/discussions/${discussion}/notes`,
  ]);
  await server.close();
});
