import { expect, test } from "vitest";
import type { Call, HttpAnswer } from "../channels/http.ts";
import { openGraphql } from "./graphql.ts";
import { listEndpoints } from "./stripe.ts";

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

test("a list of GraphQL that never ends is read up to a page", async () => {
  const { call, asked } = createEndless((page) => ({
    data: { hooks: { nodes: [{ id: page }], pageInfo: { hasNextPage: true, endCursor: `${page}` } } },
  }));
  const { list } = openGraphql(call, { service: "Test", path: "/", advice: "" });
  expect(await list("query", "hooks")).toHaveLength(asked());
});
