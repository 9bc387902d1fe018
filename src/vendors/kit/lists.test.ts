import { expect, test } from "vitest";
import { startJsonServer } from "../../../test/support/json-server.ts";
import type { Call, HttpAnswer } from "./http.ts";
import { toObject } from "../../core/shared/json.ts";
import { readNodes } from "./graphql.ts";
import { readPages } from "./hook-calls.ts";
import { listEndpoints } from "../stripe/webhooks.ts";
import { vendors } from "../index.ts";

/** A sender whose lists never end: each page names another one. */
function createEndless(toBody: (page: number) => Record<string, unknown>): { call: Call; asked(): number } {
  let pages = 0;
  return {
    asked: () => pages,
    async call(): Promise<HttpAnswer> {
      pages += 1;
      if (pages > 1000) throw new Error("the list is read without end");
      return { status: 200, headers: new Headers(), body: toBody(pages) };
    },
  };
}

test("a list of Stripe that never ends is read up to a page", async () => {
  const { call, asked } = createEndless((page) => ({ data: [{ id: `we_${page}` }], has_more: true }));
  expect(await listEndpoints(call)).toHaveLength(asked());
});

// Gitea's administrator sets the largest page.
test.each<[string, Partial<HttpAnswer>]>([
  ["Link", { headers: new Headers({ link: '<https://forge.example/hooks?page=2>; rel="next"' }) }],
  ["next", { body: { next: "https://forge.example/hooks?page=2" } }],
])("a list whose pages are shorter than asked for is read to its end, by %s", async (_, more) => {
  const call: Call = async (_method, path) => ({
    status: 200,
    headers: new Headers(),
    ...(path === "/hooks?page=1" && more),
    body: { values: [{ id: path }], ...(path === "/hooks?page=1" && more.body) },
  });
  expect(await readPages(call, (page) => `/hooks?page=${page}`, 50)).toEqual([
    { id: "/hooks?page=1" },
    { id: "/hooks?page=2" },
  ]);
});

test("a list of GraphQL that never ends is read up to a page", async () => {
  const { call, asked } = createEndless((page) => ({
    data: { hooks: { nodes: [{ id: page }], pageInfo: { hasNextPage: true, endCursor: `${page}` } } },
  }));
  const ask = async (query: string, variables: object) =>
    toObject((await call("POST", "/", { query, variables })).body["data"]);
  expect(await readNodes("Linear", ask, "query", "hooks")).toHaveLength(asked());
});

test.each(Object.keys(vendors).filter((name) => vendors[name]?.webhooks))(
  "%s: an answer that is no list, of a proxy for example, is no empty list",
  async (name) => {
    const server = await startJsonServer(() => ({ status: 200, body: "<html>" }));
    const access = {
      token: "t",
      baseUrl: server.url,
      place: "acme/app",
      account: {},
      signal: AbortSignal.timeout(60_000),
    };
    const found = vendors[name]!.webhooks!.connect(access).find("https://hooks.example.com");
    await expect(found).rejects.toThrow("could not be read");
    await server.close();
  },
);
