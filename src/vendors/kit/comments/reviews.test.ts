import { createHmac, hash } from "node:crypto";
import { afterEach, describe, expect, test } from "vitest";
import { shownText } from "../../../../test/support/comments.ts";
import { startGithubReviews } from "../../../../test/support/vendors/github-reviews.ts";
import { BASE, START, startGitlabReviews } from "../../../../test/support/gitlab-reviews.ts";
import { parseHunks } from "../../../core/shared/text/diff.ts";
import type { ReviewVerdict, ChannelDriver, OutgoingMessage } from "../../../core/ports/channel.ts";
import { createGithub } from "../../github/comments.ts";
import { createGitlab } from "../../gitlab/comments.ts";
import { hasOwnMark } from "./mark.ts";

const never = new AbortController().signal;
const token = "token-for-tests-0000";
const head = "a".repeat(40);
const earlier = "e".repeat(40);
const PATCH = "@@ -1,2 +1,3 @@\n one\n-two\n+2 @ada\n+3\n";
const [same, removed, added, second] = parseHunks(PATCH);
if (!same || !removed || !added || !second) throw new Error("The patch has four lines.");
const sign = (text: string): Buffer => createHmac("sha256", "key").update(text).digest();
const file = { path: "src/a.ts", oldPath: "src/b.ts" };

function message(verdict: ReviewVerdict, diff: object = {}, more: Partial<OutgoingMessage> = {}): OutgoingMessage {
  return {
    to: "",
    text: "Hello @ada.",
    format: "markdown",
    idempotencyKey: "d:0",
    sign,
    review: {
      verdict,
      commit: head,
      ...diff,
      comments: [
        { ...file, side: "new", line: added!, text: "Ask @ada." },
        { ...file, side: "old", line: removed!, text: "Why?" },
        { ...file, side: "new", first: same!, line: second!, text: "All of it." },
      ],
    },
    ...more,
  };
}

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0)) await step();
});

describe("github", () => {
  const to = "acme/app#12";

  async function start({ author = "ann" } = {}) {
    const patch = { filename: file.path, previous_filename: file.oldPath, patch: PATCH };
    const server = await startGithubReviews(
      { baseUrl: "http://127.0.0.1:9", token },
      {
        number: 12,
        base: "f".repeat(40),
        head,
        author,
        diffs: { [head]: [patch], [earlier]: [{ ...patch, filename: "x" }] },
      },
    );
    cleanUp.push(server.close);
    const channel = createGithub({ token, baseUrl: server.baseUrl });
    return { server, channel, send: (one: OutgoingMessage) => channel.send({ ...one, to }, never) };
  }

  test("the diff is that of the commit, also if there are newer ones", async () => {
    const { channel } = await start();
    expect(await channel.readDiff?.(to, head, never)).toEqual({ files: [{ ...file, patch: PATCH }] });
    expect(await channel.readDiff?.(to, earlier, never)).toMatchObject({ files: [{ path: "x" }] });
    expect(await channel.readDiff?.(to, "0".repeat(40), never)).toBeUndefined();
    for (const other of ["acme/app#12/r3", `acme/app/commit/${head}`, "acme/app/discussions/1"]) {
      expect(await channel.readDiff?.(other, head, never)).toBeUndefined();
    }
  });

  test("one request writes the review, and each of its texts is neutral and has a mark", async () => {
    const { server, send } = await start();
    const { messageId } = await send(message("request-changes"));
    expect(messageId).toBe("https://github.com/acme/app/pull/12#pullrequestreview-1");
    const [review] = server.reviews;
    expect(review).toMatchObject({ commit_id: head, event: "REQUEST_CHANGES" });
    expect(review?.comments).toMatchObject([
      { path: "src/a.ts", line: 2, side: "RIGHT" },
      { path: "src/a.ts", line: 2, side: "LEFT" },
      { path: "src/a.ts", line: 3, side: "RIGHT", start_line: 1, start_side: "RIGHT" },
    ]);
    const texts = [review?.body ?? "", ...(review?.comments.map(({ body }) => body) ?? [])];
    expect(texts.map(shownText)).toEqual(["Hello @ada.", "Ask @ada.", "Why?", "All of it."]);
    expect(texts.join("")).not.toContain("@ada");
    expect(texts.every((text) => hasOwnMark(text, sign))).toBe(true);
  });

  test("a review whose answer was lost is found by its mark", async () => {
    const { server, send } = await start();
    for (let other = 0; other < 120; other += 1) server.write("Of a person.");
    server.loseAnswer();
    await expect(send(message("comment"))).rejects.toMatchObject({ retryable: true });
    const { messageId } = await send(message("comment", {}, { mayBeSent: true }));
    expect(messageId).toMatch(/pullrequestreview-121$/);
    expect(server.reviews).toHaveLength(121);
  });

  test("a verdict that GitHub refuses becomes a comment, with a warning", async () => {
    const { server, send } = await start({ author: "agent" });
    const { warnings } = await send(message("approve"));
    expect(warnings).toEqual([
      'GitHub refused the verdict "approve": Can not approve your own pull request. The review was sent as a comment.',
    ]);
    expect(server.refused).toEqual(["APPROVE"]);
    expect(server.reviews).toMatchObject([{ event: "COMMENT" }]);
  });

  test("a review that GitHub refuses for another reason is a permanent error", async () => {
    const { send } = await start();
    const outside = message("comment");
    outside.review!.comments[0]!.line = { ...added, new: 40 };
    await expect(send(outside)).rejects.toMatchObject({
      retryable: false,
      message: expect.stringContaining("Line could not be resolved"),
    });
  });
});

describe("gitlab", () => {
  const to = "acme/app!12";
  const diffs = [{ new_path: file.path, old_path: file.oldPath, diff: PATCH }];
  const shas = { base: BASE, start: START };

  async function start(options: { isOld?: boolean; refusesApproval?: boolean } = {}) {
    const server = await startGitlabReviews({ token, head, diffs, ...options });
    cleanUp.push(server.close);
    const channel: ChannelDriver = createGitlab({ token, baseUrl: server.baseUrl });
    const send = (verdict: ReviewVerdict, more: Partial<OutgoingMessage> = {}) =>
      channel.send({ ...message(verdict, shas, more), to }, never);
    return { server, channel, send, shown: () => server.notes.map(({ body }) => shownText(body)).toSorted() };
  }

  const ALL = ["All of it.", "Ask @ada.", "Hello @ada.", "Why?"];

  test("the diff is that of the commit's version", async () => {
    const { channel } = await start();
    expect(await channel.readDiff?.(to, head, never)).toEqual({ ...shas, files: [{ ...file, patch: PATCH }] });
    for (const [place, commit] of [
      [to, earlier],
      ["acme/app!13", head],
      ["acme/app#12", head],
      [`${to}/d${head}`, head],
    ] as const) {
      expect(await channel.readDiff?.(place, commit, never)).toBeUndefined();
    }
  });

  test("the drafts are published together, with their positions", async () => {
    const { server, send, shown } = await start();
    const { messageId } = await send("comment");
    expect(server.notes.at(-1)).toMatchObject({ id: Number(messageId?.replace("note_", "")) });
    expect([server.drafts, server.states, shown()]).toEqual([[], ["reviewed"], ALL]);
    expect(server.notes.every(({ body }) => hasOwnMark(body, sign))).toBe(true);
    const where = {
      position_type: "text",
      base_sha: BASE,
      start_sha: START,
      head_sha: head,
      old_path: "src/b.ts",
      new_path: "src/a.ts",
    };
    const code = hash("sha1", "src/a.ts");
    expect(server.notes.slice(0, 3).map(({ position }) => position)).toEqual([
      { ...where, new_line: 2 },
      { ...where, old_line: 2 },
      {
        ...where,
        new_line: 3,
        line_range: {
          start: { line_code: `${code}_1_1`, type: "old", old_line: 1, new_line: 1 },
          end: { line_code: `${code}_3_3`, type: "new", new_line: 3 },
        },
      },
    ]);
  });

  test("an older server publishes the drafts only: the note follows, and says that changes are requested", async () => {
    const { server, send, shown } = await start({ isOld: true });
    await send("request-changes");
    expect(server.states).toEqual([]);
    expect(shown()).toEqual(["**Changes requested**\n\nHello @ada.", "All of it.", "Ask @ada.", "Why?"]);
  });

  const moments: [string, RegExp, number?][] = [
    ["the first draft", /^\/draft_notes$/],
    ["the last draft", /^\/draft_notes$/, 2],
    ["the publication", /bulk_publish$/],
    ["the note", /^\/notes$/],
    ["the approval", /approve$/],
  ];
  describe.each([false, true])("a crash at an older server: %s", (isOld) => {
    test.each(moments)("after %s writes nothing twice", async (_moment, path, after) => {
      const { server, send, shown } = await start({ isOld });
      server.loseAnswer("POST", path, after);
      await send("approve").catch((error) => expect(error).toMatchObject({ retryable: true }));
      const { messageId } = await send("approve", { mayBeSent: true });
      expect([shown(), server.drafts]).toEqual([ALL, []]);
      expect(server.approvals).toContain(head);
      expect(messageId).toMatch(/^note_\d+$/);
    });
  });

  test("drafts of the account's own stop the review, and those of one that was given up are removed", async () => {
    const { server, send, shown } = await start();
    server.loseAnswer("POST", /^\/draft_notes$/, 1);
    await expect(send("comment", { idempotencyKey: "given-up:0" })).rejects.toMatchObject({ retryable: true });
    server.drafts.push({ id: 999, note: "My own." });
    await expect(send("comment")).rejects.toMatchObject({ retryable: false, message: expect.stringMatching(/draft/) });
    expect([server.drafts.length, server.notes]).toEqual([3, []]);
    server.drafts.pop();
    await send("comment", { mayBeSent: true });
    expect([shown(), server.drafts]).toEqual([ALL, []]);
  });

  test("an approval that GitLab refuses is a warning", async () => {
    const { send, shown } = await start({ refusesApproval: true });
    expect((await send("approve")).warnings).toEqual([
      "GitLab did not take the approval: 401 401 Unauthorized. The review is a comment.",
    ]);
    expect(shown()).toEqual(ALL);
  });
});
