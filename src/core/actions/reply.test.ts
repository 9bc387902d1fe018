import { describe, expect, test } from "vitest";
import * as fc from "../../../test/support/property.ts";
import { parseReview } from "./reply.ts";

const fence = (block: unknown, marks = "```"): string =>
  `${marks}review\n${typeof block === "string" ? block : JSON.stringify(block, null, 2)}\n${marks}`;
const comment = { file: "src/cart.ts", line: 2, text: "It is `null` here." };

test("the block is the review, and the text around it the summary", () => {
  const reply = `Two things.\n\n${fence({ verdict: "request-changes", comments: [{ ...comment, startLine: 1 }] })}\n\nThat is all.\n`;
  expect(parseReview(reply)).toEqual({
    text: "Two things.\n\nThat is all.",
    review: { verdict: "request-changes", comments: [{ ...comment, side: "new", startLine: 1 }] },
    more: [],
  });
});

test("the last closed block counts, and earlier ones stay text", () => {
  const first = fence({ verdict: "approve" });
  const { text, review } = parseReview(
    `${first}\n${fence({ comments: [comment] })}\n\`\`\`review\n{"verdict": "approve"`,
  );
  expect(review).toMatchObject({ verdict: "comment", comments: [comment] });
  expect(text).toContain(first);
});

test.each([
  ["no block", "It is fine."],
  ["a block of another language", "```json\n{}\n```"],
  ["a block that is not closed", '```review\n{"verdict": "comment"}'],
  ["a block inside of another", `~~~~\n${fence({ verdict: "approve" })}\n~~~~`],
])("%s is no review", (_which, reply) => {
  expect(parseReview(reply)).toEqual({ text: reply, more: [] });
});

test.each([
  ["{", "it is not a JSON object"],
  ["[]", "it is not a JSON object"],
  [{ verdict: "merge" }, "verdict must be one of comment, request-changes, approve"],
  [{ comments: {} }, "comments must be a list"],
  [{ comments: [null] }, "comments[0] must be an object"],
  [{ comments: [comment, { ...comment, file: " " }] }, "comments[1].file must be a path"],
  [{ comments: [{ ...comment, line: 0 }] }, "comments[0].line must be the number of a line"],
  [{ comments: [{ ...comment, line: "2" }] }, "comments[0].line must be the number of a line"],
  [{ comments: [{ ...comment, side: "left" }] }, "comments[0].side must be new or old"],
  [{ comments: [{ ...comment, text: "" }] }, "comments[0].text must be a text"],
  [{ comments: [{ ...comment, startLine: 3 }] }, "comments[0].startLine must be the number of a line before line"],
])("a block that cannot be used stays in the text: %j", (block, problem) => {
  const reply = `See below.\n${fence(block)}`;
  expect(parseReview(reply)).toEqual({ text: reply, more: [], problem });
});

test("comments after the fiftieth are kept apart", () => {
  const comments = Array.from({ length: 53 }, (_, index) => ({ ...comment, line: index + 1 }));
  const { review, more } = parseReview(fence({ comments }));
  expect(review?.comments).toHaveLength(50);
  expect(more.map(({ line }) => line)).toEqual([51, 52, 53]);
});

describe("whatever a model writes", () => {
  const piece = fc.oneof(
    fc.constantFrom(
      "```",
      "```review",
      "```review\n",
      "\n",
      "{}",
      '{"verdict":"approve"}',
      "~~~",
      "````review\n",
      " ",
      "`",
    ),
    fc.json(),
  );

  test("there is an answer, and without a review the reply is unchanged", () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const reply = pieces.join("");
        const parsed = parseReview(reply);
        expect(parsed.review !== undefined || parsed.text === reply).toBe(true);
      }),
    );
  });
});
