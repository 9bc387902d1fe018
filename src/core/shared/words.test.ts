import { expect, test } from "vitest";
import {
  isRequest,
  MESSAGE_WORDS,
  ofMessages,
  ofQuestions,
  ofRequests,
  ofTurns,
  QUESTION_WORDS,
  REQUEST_FILTERS,
  REQUEST_WORDS,
  toEndWord,
  toEventCounts,
  toMessageWord,
  toQuestionWord,
  toRequestWord,
  toRunCounts,
  toStepWord,
  toTurnWord,
  toUnfinishedWord,
  TURN_WORDS,
} from "./words.ts";
import { APPROVAL_STATES, DELIVERY_STATES, EVENT_STATUSES, RUN_STATES } from "../types.ts";

test("each state has its word", () => {
  expect(RUN_STATES.map((state) => [state, toTurnWord(state)])).toEqual([
    ["ready", "waiting"],
    ["queued", "waiting"],
    ["running", "running"],
    ["held", "held"],
    ["done", "done"],
    ["dead", "failed"],
    ["canceled", "canceled"],
  ]);
  expect(DELIVERY_STATES.map((state) => [state, toMessageWord(state)])).toEqual([
    ["pending", "waiting"],
    ["queued", "waiting"],
    ["sending", "running"],
    ["sent", "sent"],
    ["skipped", "skipped"],
    ["failed", "failed"],
    ["canceled", "canceled"],
  ]);
  expect(APPROVAL_STATES.map(toQuestionWord)).toEqual([
    "open",
    "approved",
    "approved",
    "denied",
    "expired",
    "withdrawn",
  ]);
  expect((["waiting", "started", "done", "failed", "unknown"] as const).map(toStepWord)).toEqual([
    "held",
    "running",
    "done",
    "failed",
    "unknown",
  ]);
  expect(EVENT_STATUSES.map((status) => toRequestWord({ status, unfinished: "held" }))).toEqual([
    "held",
    "skipped",
    "refused",
    "done",
    "failed",
    "canceled",
  ]);
});

test.each([
  [["done", "held", "running"], ["pending"], "held"],
  [["running", "queued"], [], "waiting"],
  [["running"], ["queued"], "waiting"],
  [["running", "done"], ["sent"], "running"],
  [["done"], ["sending"], "running"],
] as const)("a request with turns %j and messages %j is %s", (turns, messages, word) => {
  expect(toUnfinishedWord(turns, messages)).toBe(word);
});

test("a filter finds each state of its word, and no other", () => {
  const finds = <Word>(words: readonly Word[], of: (word: Word) => readonly string[]) => words.flatMap(of).toSorted();
  expect(finds(TURN_WORDS, ofTurns)).toEqual(RUN_STATES.toSorted());
  expect(finds(MESSAGE_WORDS, ofMessages)).toEqual(DELIVERY_STATES.toSorted());
  expect(finds(QUESTION_WORDS, ofQuestions)).toEqual(APPROVAL_STATES.toSorted());
  for (const filter of REQUEST_FILTERS) {
    const word = toRequestWord({ unfinished: "running", ...ofRequests(filter) });
    expect(isRequest(word, filter)).toBe(true);
    expect(REQUEST_WORDS.filter((one) => isRequest(one, filter))).toHaveLength(filter === "unfinished" ? 3 : 1);
  }
});

test("states of one word are counted together", () => {
  expect(toRunCounts({ ready: 2, queued: 3, running: 0, dead: 1 })).toEqual({ waiting: 5, running: 0, failed: 1 });
  expect(toEventCounts({ accepted: 1, rejected: 2 })).toEqual({ unfinished: 1, refused: 2 });
});

test.each([
  [{ kind: "outcome", state: "approved", decision: "again" }, "again"],
  [{ kind: "outcome", state: "denied", decision: "give-up" }, "given up"],
  [{ kind: "outcome", state: "withdrawn" }, "withdrawn"],
  [{ kind: "call", state: "used", decision: "approve" }, "approved"],
] as const)("the end of the question %j is %s", (question, word) => {
  expect(toEndWord(question)).toBe(word);
});
