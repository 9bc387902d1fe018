import assert from "node:assert/strict";
import type { CallResult, ToolSet } from "../core/ports/tool-set.ts";
import { assertAborts, type Checks, describeContract, failureOf, type TestRunner, type UnderTest } from "./harness.ts";

/** A call of the set with arguments that fit its schema. */
interface TestCall {
  name: string;
  args: Record<string, unknown>;
}

/** A tool set, with calls that end in each way. */
export interface ToolSetUnderTest extends UnderTest {
  set: ToolSet;
  /** A call that is answered with a text that contains `text`. */
  answers: TestCall & { text: string };
  /** A call that the service answers with an error. */
  fails: TestCall;
  /** A call that is answered with at least 10,000 characters. */
  answersLong: TestCall;
  /** A call that is never answered. */
  hangs: TestCall;
  /** How many calls have reached the service. */
  callCount(): number;
}

/** The contract of each tool set. */
export function describeToolSet(runner: TestRunner, name: string, open: () => Promise<ToolSetUnderTest>): void {
  describeContract(runner, { title: `tool set contract: ${name}`, open, checks: CHECKS });
}

const CHECKS: Checks<ToolSetUnderTest> = {
  async "describes its calls, each with its own name"({ set }) {
    assert.notEqual(set.calls.length, 0);
    for (const { name, description, input } of set.calls) {
      assert.match(name, /\S/);
      assert.equal(typeof description, "string");
      assert.equal(input["type"], "object");
    }
    assert.equal(new Set(set.calls.map(({ name }) => name)).size, set.calls.length);
  },

  async "answers with a text"(subject) {
    const { text, isError } = await call(subject, subject.answers);
    assert.equal(isError, false);
    assert.ok(text.includes(subject.answers.text));
  },

  async "an error of the service is a result, with a reason of one line"(subject) {
    const { isError, reason = "" } = await call(subject, subject.fails);
    assert.equal(isError, true);
    assert.match(reason, /^\S[^\n]*$/);
  },

  async "stops reading at the length"(subject) {
    const { text } = await call(subject, subject.answersLong, { maxLength: 1000 });
    assert.equal(text.length, 1000);
  },

  async "executes each call once, also side by side"(subject) {
    const results = await Promise.all(Array.from({ length: 8 }, () => call(subject, subject.answers)));
    assert.ok(results.every(({ text }) => text.includes(subject.answers.text)));
    assert.equal(subject.callCount(), 8);
  },

  async "sends nothing after an abort"(subject) {
    await failureOf(call(subject, subject.answers, { signal: AbortSignal.abort() }));
    assert.equal(subject.callCount(), 0);
  },

  async "rejects soon after an abort while the service does not answer"(subject) {
    await assertAborts(
      (signal) => call(subject, subject.hangs, { signal }),
      () => subject.callCount(),
    );
  },

  async "can be closed twice"({ set }) {
    set.close?.();
    set.close?.();
  },
};

function call(
  { set }: ToolSetUnderTest,
  { name, args }: TestCall,
  { maxLength = 60_000, signal = new AbortController().signal } = {},
): Promise<CallResult> {
  const found = set.calls.find((one) => one.name === name);
  assert.ok(found, `The set has no call ${name}.`);
  return found.call(args, { signal, callId: "run-1/1", maxLength });
}
