import { describe, expect, test } from "vitest";
import { describeToolSet } from "../../contracts/tools.ts";
import { compileTemplate } from "../../core/mapping/template/template.ts";
import { startToolServer } from "../../../test/support/tool-server.ts";
import { createHttp, http } from "./http.ts";
import type { ToolSet } from "../../core/ports/tool-set.ts";

type Options = Omit<Parameters<typeof createHttp>[0], "private">;

describeToolSet({ describe, test }, "http", async () => {
  const server = await startToolServer();
  const get = (path: string) => ({ description: "Reads.", get: path });
  const set = open({
    baseUrl: server.url,
    calls: { ok: get("/ok"), gone: get("/gone"), long: get("/long"), hang: get("/hang") },
  });
  return {
    set,
    answers: { name: "ok", args: {}, text: "hello" },
    fails: { name: "gone", args: {} },
    answersLong: { name: "long", args: {} },
    hangs: { name: "hang", args: {} },
    callCount: () => server.requests.length,
    async close() {
      set.close?.();
      await server.close();
    },
  };
});

test("templates that are the whole value keep their type, and what is missing is left out", async () => {
  await using server = await startToolServer();
  const set = open({
    baseUrl: `${server.url}api/`,
    headers: { authorization: "Bearer secret-of-tests" },
    calls: {
      create: {
        description: "Creates.",
        post: "/projects/{project}/{+file}",
        input: {
          project: "string",
          file: "string",
          size: "integer",
          tags: "array",
          note: { type: "string", optional: true },
        },
        query: { tag: "{{tags}}", note: "{{note}}", fixed: 1 },
        body: {
          size: "{{size}}",
          tags: "{{tags}}",
          title: "Size {{size}}",
          note: "{{note}}",
          deep: [{ size: "{{size}}" }],
          on: true,
        },
      },
    },
  });
  const result = await call(set, "create", { project: "a/b?c#d", file: "docs/ü 1.md", size: 7, tags: ["x", "y"] });
  expect(result).toEqual({ text: "hello", isError: false });
  expect(server.requests).toMatchObject([
    {
      method: "POST",
      path: "/api/projects/a%2Fb%3Fc%23d/docs/%C3%BC%201.md?tag=x&tag=y&fixed=1",
      headers: {
        authorization: "Bearer secret-of-tests",
        "idempotency-key": "run-1/1",
        "content-type": "application/json",
      },
      text: '{"size":7,"tags":["x","y"],"title":"Size 7","deep":[{"size":7}],"on":true}',
    },
  ]);
});

test("a header of the operator's replaces the usual one, however it is written", async () => {
  await using server = await startToolServer();
  const headers = { "Content-Type": "application/vnd.api+json", "User-Agent": "acme" };
  const calls = { create: { description: "Creates.", post: "/x", body: { a: 1 } } };
  await call(open({ baseUrl: server.url, headers, calls }), "create");
  expect(server.requests).toMatchObject([
    { headers: { "content-type": "application/vnd.api+json", "user-agent": "acme" } },
  ]);
});

test("an error has the status and the host as its reason, and the answer as its text", async () => {
  await using server = await startToolServer();
  const set = open({ baseUrl: server.url, calls: { gone: { description: "Reads.", get: "/gone" } } });
  const reason = `404 from ${new URL(server.url).host}`;
  expect(await call(set, "gone")).toEqual({ isError: true, reason, text: `${reason}\nnot here` });
});

test.each([
  ["a user in baseUrl", { baseUrl: "https://u:p@example.com" }, "The URL must not contain a user"],
  ["a query in baseUrl", { baseUrl: "https://example.com/?a=1" }, "The URL must not contain ?"],
  ["a header with a line break", { headers: { "x-a": "1\r\nx-b: 2" } }, "line breaks"],
  ["a header of the connection", { headers: { Host: "other.example" } }, "The headers must not contain Host"],
  ["two methods", { calls: { a: { description: "A.", get: "/", post: "/" } } }, "exactly one of"],
  ["a get with a body", { calls: { a: { description: "A.", get: "/", body: {} } } }, "Use query"],
  [
    "a placeholder that is no argument",
    { calls: { a: { description: "A.", get: "/{id}" } } },
    "The placeholder {id} must be an argument",
  ],
  [
    "a placeholder that is optional",
    { calls: { a: { description: "A.", get: "/{id}", input: { id: { type: "string", optional: true } } } } },
    "The placeholder {id} must be an argument",
  ],
  ["a query in the path", { calls: { a: { description: "A.", get: "/x?y" } } }, "Write the parameters into query"],
  ["a path with a parent", { calls: { a: { description: "A.", get: "/x/../y" } } }, "a segment . or .."],
  [
    "a schema that is none",
    { calls: { a: { description: "A.", get: "/", input: { id: { type: "nothing" } } } } },
    "The schema cannot be used",
  ],
  [
    "an option that is none",
    { calls: { a: { description: "A.", get: "/", input: { id: { type: "string", optional: 1 } } } } },
    "id.optional must be true or false",
  ],
])("check refuses %s", (_, options, message) => {
  const block = {
    baseUrl: "https://example.com",
    calls: { a: { description: "A.", get: "/" } },
    private: false,
    ...options,
  } as never;
  const problems = http.check?.(block, { baseDir: "/" }) ?? [];
  expect(problems.map((problem) => problem.message)).toEqual([expect.stringContaining(message)]);
  expect(problems[0]?.message).toMatch(/^[A-Z].*\.$/s);
});

test("check accepts what createHttp can use", () => {
  const input = { id: "integer", path: { type: "string", pattern: "^[a-z/]+$" } } as const;
  const calls = { a: { description: "A.", get: "/t/{id}/{+path}", input } };
  expect(http.check?.({ baseUrl: "https://example.com/api", private: false, calls }, { baseDir: "/" })).toEqual([]);
});

function open(options: Options): ToolSet {
  return createHttp({ private: true, ...options }, { name: "test", compileTemplate });
}

function call(set: ToolSet, name: string, args: Record<string, unknown> = {}) {
  const found = set.calls.find((one) => one.name === name);
  return found!.call(args, { signal: new AbortController().signal, callId: "run-1/1", maxLength: 1000 });
}
