import { describe, expect, test } from "vitest";
import { toDriverError } from "./errors.ts";

const call = { provider: "house", secrets: ["correct-horse-battery", "v1"] };

describe("what is told of a failed model call", () => {
  test("status and the provider's sentence, on one line", () => {
    const error = toDriverError(answer(500, "Something\n  broke"), call);
    expect(error.message).toBe("house answered 500: Something broke");
  });

  test("at most 300 characters", () => {
    expect(toDriverError(answer(500, "long ".repeat(1000)), call).message).toHaveLength(300);
  });

  test.each([
    ["the configured secret", "Refused correct-horse-battery.", "Refused [redacted]."],
    ["a key of another account", "Refused sk-proj-ABCdef123456.", "Refused [redacted]"],
    ["a masked key", "Refused abcd****wxyz now", "Refused [redacted] now"],
    ["a URL's query and credentials", "At https://me:pw@x.test/a?key=1 now", "At https://x.test/a now"],
    ["no ordinary word of a short header value", "API v1 is gone", "API v1 is gone"],
  ])("never %s", (_what, message, told) => {
    expect(toDriverError(answer(400, message), call).message).toBe(`house answered 400: ${told}`);
  });

  test("where a refused credential stands in the config", () => {
    expect(toDriverError(answer(401, "No."), call).message).toContain("agents.providers.house.apiKey");
  });

  test("not the error itself, which carries the prompt", () => {
    expect(toDriverError(answer(500, "No."), call).cause).toBeUndefined();
  });

  test("that no answer came", () => {
    const error = toDriverError(new Error("Cannot connect to API: ECONNREFUSED"), call);
    expect(error).toMatchObject({
      retryable: true,
      message: "house gave no answer: Cannot connect to API: ECONNREFUSED",
    });
  });
});

describe("how long to wait", () => {
  test.each([
    ["seconds", { "retry-after": "7" }, 7000],
    ["OpenAI's milliseconds, which go first", { "retry-after": "7", "retry-after-ms": "1500" }, 1500],
    ["nothing", {}, undefined],
  ])("%s", (_form, headers, expected) => {
    expect(toDriverError(answer(429, "Slow down", headers), call).retryAfterMs).toBe(expected);
  });
});

function answer(statusCode: number, message: string, responseHeaders: Record<string, string> = {}): Error {
  return Object.assign(new Error(message), { statusCode, responseHeaders });
}
