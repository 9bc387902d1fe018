import { describe, expect, test } from "vitest";
import { failureOf } from "../../../src/contracts/harness.ts";
import type { ApiAccess } from "../../../src/core/ports/vendor.ts";
import { type JsonAnswer, startJsonServer } from "../json-server.ts";

/** One use of a vendor's API. */
export interface ApiUse {
  call(baseUrl: string): Promise<unknown>;
  /** The answers to other calls before, by path. */
  before?: Record<string, unknown>;
  /** Refusals that are an answer here. */
  expected?: readonly number[];
}

interface Limit extends JsonAnswer {
  retryAfterMs: number;
}

/** The answer of a server has one class at every use of its API: a limit ends, a refusal is permanent, a proxy's page is no answer. */
export function describeRefusals(
  service: string,
  {
    uses,
    limits,
    refusal = { message: "No.", error: { message: "No." } },
  }: {
    uses: Record<string, ApiUse>;
    limits: Record<string, Limit>;
    /** The body in which the service says "No.". */
    refusal?: object;
  },
): void {
  describe.each(Object.entries(uses))(`${service}: %s`, (_name, { call, before = {}, expected = [] }) => {
    async function failWith(answer: JsonAnswer) {
      const server = await startJsonServer(({ path = "" }) =>
        Object.hasOwn(before, path) ? { status: 200, body: before[path] } : answer,
      );
      return failureOf(call(server.url)).finally(server.close);
    }

    test.each(Object.entries(limits))("a limit %s is retryable, with its time", async (_limit, answer) => {
      const error = await failWith(answer);
      expect(error).toMatchObject({ retryable: true });
      expect(error.retryAfterMs).toBeGreaterThanOrEqual(answer.retryAfterMs);
    });

    test.each([401, 403, 404].filter((status) => !expected.includes(status)))(
      "%i is permanent, and the error says what to do",
      async (status) => {
        const error = await failWith({ status, body: refusal });
        expect(error.retryable).toBe(false);
        expect(error.message).toMatch(new RegExp(`^${service} answered ${status}: No\\. \\w`));
      },
    );

    test("500 is retryable", async () => {
      expect(await failWith({ status: 500, body: {} })).toMatchObject({ retryable: true });
    });

    test("a page in place of an answer is retryable", async () => {
      const page = { status: 200, headers: { "content-type": "text/html" }, text: "<h1>Sign in</h1>" };
      expect(await failWith(page)).toMatchObject({
        retryable: true,
        message: `The answer of ${service} could not be read.`,
      });
    });
  });
}

/** The access to an API at a double of its service. */
export function accessTo(baseUrl: string, more: Partial<ApiAccess> = {}): ApiAccess {
  return { baseUrl, token: "t", account: {}, signal: AbortSignal.timeout(600_000), ...more };
}
