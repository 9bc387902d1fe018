import { describe, expect, test } from "vitest";
import { toDriverError } from "./errors.ts";

const call = { provider: "house", secrets: ["correct-horse-battery", "v1"] };

test.each([
  [400, "Invalid content type. image_url is only supported by certain models.", "images"],
  [404, "No endpoints found that support image input", "images"],
  [500, "image input is not supported - hint: provide the mmproj", "images"],
  [500, "The image of the container is gone", "unavailable"],
  [400, "The prompt is too short.", undefined],
])("%i %s: the model's part is %s if there was a picture", (status, message, part) => {
  expect(toDriverError(answer(status, message), { ...call, hasImages: true }).modelFailure).toBe(part);
  expect(toDriverError(answer(status, message), call).modelFailure).not.toBe("images");
});

describe("message of a failed model call", () => {
  test("has the status and the provider's message on one line", () => {
    const error = toDriverError(answer(500, "Something\n  broke"), call);
    expect(error.message).toBe("house answered 500: Something broke");
  });

  test("has at most 300 characters", () => {
    expect(toDriverError(answer(500, "long ".repeat(1000)), call).message).toHaveLength(300);
  });

  test.each([
    ["the configured secret", "Refused correct-horse-battery.", "Refused [redacted]."],
    ["a key of another account", "Refused sk-proj-ABCdef123456.", "Refused [redacted]"],
    ["a masked key", "Refused abcd****wxyz now", "Refused [redacted] now"],
    ["a URL's query and credentials", "At https://me:pw@x.test/a?key=1 now", "At https://x.test/a now"],
    ["(but keeps ordinary words that equal a short header value)", "API v1 is gone", "API v1 is gone"],
  ])("does not show %s", (_what, message, shown) => {
    expect(toDriverError(answer(400, message), call).message).toBe(`house answered 400: ${shown}`);
  });

  test("names the key of a refused credential", () => {
    expect(toDriverError(answer(401, "No."), call).message).toContain("agents.providers.house.apiKey");
  });

  test("has no cause, since the original error holds the prompt", () => {
    expect(toDriverError(answer(500, "No."), call).cause).toBeUndefined();
  });

  test("says that there was no answer", () => {
    const error = toDriverError(new Error("Cannot connect to API: ECONNREFUSED"), call);
    expect(error).toMatchObject({
      retryable: true,
      message: "house gave no answer: Cannot connect to API: ECONNREFUSED",
    });
  });
});

describe("retryAfterMs", () => {
  test.each([
    ["seconds", { "retry-after": "7" }, 7000],
    ["OpenAI's milliseconds, which take precedence", { "retry-after": "7", "retry-after-ms": "1500" }, 1500],
    ["nothing", {}, undefined],
  ])("%s", (_form, headers, expected) => {
    expect(toDriverError(answer(429, "Slow down", headers), call).retryAfterMs).toBe(expected);
  });
});

function answer(statusCode: number, message: string, responseHeaders: Record<string, string> = {}): Error {
  return Object.assign(new Error(message), { statusCode, responseHeaders });
}
