import { expect, test } from "vitest";
import type { ChannelDriver, ReviewVerdict } from "../ports/channel.ts";
import type { AgentAction } from "../types.ts";
import { prepareReview } from "./review.ts";

const commit = "a".repeat(40);
const PATCH = "@@ -1,2 +1,3 @@\n one\n-two\n+2\n+3\n@@ -9,1 +10,1 @@\n-nine\n+9\n";
const diff = { files: [{ path: "new.ts", oldPath: "old.ts", patch: PATCH }] };

function prepare(
  block: object,
  {
    review = "comment",
    stranger,
    ...target
  }: { review?: ReviewVerdict; stranger?: true; agent?: "none"; commit?: undefined; isGone?: true } = {},
) {
  const action = { review, stranger, ...("agent" in target && { agent: target.agent }) } as AgentAction;
  const driver = {
    limit: 100,
    readDiff: async () => (target.isGone ? undefined : diff),
  } satisfies Partial<ChannelDriver>;
  const reply = `Summary.\n\`\`\`review\n${JSON.stringify(block)}\n\`\`\``;
  const options = { action, driver, to: "acme/app#1", commit: "commit" in target ? undefined : commit };
  return prepareReview(reply, options, new AbortController().signal);
}

const on = (line: number, more: object = {}): object => ({ file: "new.ts", line, text: `Line ${line}.`, ...more });
const LISTED = "Summary.\n\n`new.ts`, line 2:\n\nLine 2.";

test("comments on lines of the diff are placed, on either side, also under the old name", async () => {
  const { text, review, warnings } = await prepare({
    comments: [on(2), on(3, { startLine: 1 }), on(2, { side: "old", file: "old.ts" }), on(1, { file: "./new.ts" })],
  });
  expect([text, warnings]).toEqual(["Summary.", []]);
  expect(review).toMatchObject({ verdict: "comment", commit });
  expect(review?.comments.map(({ side, line, first }) => [side, line.kind, line.old, line.new, first?.new])).toEqual([
    ["new", "added", 3, 2, undefined],
    ["new", "added", 3, 3, 1],
    ["old", "removed", 2, 2, undefined],
    ["new", "same", 1, 1, undefined],
  ]);
});

test("a range over two hunks is a comment on its last line", async () => {
  const { review } = await prepare({ comments: [on(10, { startLine: 2 })] });
  expect(review?.comments).toMatchObject([{ line: { new: 10 }, first: undefined }]);
});

test("other comments are listed in the text, and their names are no markup", async () => {
  const far = { file: "x`\n# y", line: 4, startLine: 3, text: "Far." };
  const long = on(2, { text: "x".repeat(101) });
  const { text, review } = await prepare({ comments: [on(5), on(3, { side: "old" }), far, long] });
  expect(review?.comments).toEqual([]);
  expect(text).toBe(
    "Summary.\n\n`new.ts`, line 5:\n\nLine 5.\n\n`new.ts`, line 3 of the old file:\n\nLine 3.\n\n" +
      `\`x # y\`, lines 3–4:\n\nFar.\n\n\`new.ts\`, line 2:\n\n${"x".repeat(101)}`,
  );
});

test("a stranger's turn approves nothing, and the warning names no setting", async () => {
  const { review, warnings } = await prepare({ verdict: "approve" }, { review: "request-changes", stranger: true });
  expect(review?.verdict).toBe("comment");
  expect(warnings).toEqual([
    `The agent's verdict was "approve", which a turn that a stranger started does not allow: the review is a comment.`,
  ]);
});

test.each(["request-changes", "approve"] as const)(
  "a verdict that is not allowed is a comment: %s",
  async (verdict) => {
    const { review, warnings } = await prepare({ verdict });
    expect(review?.verdict).toBe("comment");
    expect(warnings).toEqual([expect.stringContaining(`"${verdict}"`)]);
    expect((await prepare({ verdict }, { review: "approve" })).review?.verdict).toBe(verdict);
  },
);

test("without a commit, or where it is gone, everything is text", async () => {
  expect(await prepare({ comments: [on(2)] }, { commit: undefined })).toEqual({ text: LISTED, warnings: [] });
  expect(await prepare({ comments: [on(2)] }, { isGone: true })).toEqual({
    text: LISTED,
    warnings: ["The commit aaaaaaaaaaaa cannot be reviewed there: the review was sent as text."],
  });
});

test("a message that no agent wrote is no review", async () => {
  const { text, review } = await prepare({ verdict: "approve" }, { review: "approve", agent: "none" });
  expect(review).toBeUndefined();
  expect(text).toContain('"approve"');
});
