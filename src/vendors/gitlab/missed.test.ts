import { afterEach, expect, test } from "vitest";
import { startJsonServer } from "../../../test/support/json-server.ts";
import type { ApiAccess } from "../../core/ports/vendor.ts";
import { openGitlabEvents } from "./missed.ts";

let close = async (): Promise<void> => undefined;
afterEach(() => close());

test("an event of which any attempt arrived is not missed, whichever is the newest", async () => {
  const attempts = [
    ["4", "500", "arrived-first"],
    ["3", "200", "arrived-last"],
    ["2", "200", "arrived-first"],
    ["1", "500", "arrived-last"],
    ["0", "500", "missed"],
  ];
  const items = attempts.map(([id, status, key]) => ({
    id: Number(id),
    response_status: status,
    request_headers: { "Idempotency-Key": key },
    response_headers: {},
  }));
  const server = await startJsonServer(({ path = "" }) => ({
    status: 200,
    body: path.includes("/events") ? items : { alert_status: "executable" },
  }));
  close = server.close;
  const { missed } = await openGitlabEvents("3", toAccess(server.url)).find(0);
  expect(missed.map(({ id, guid }) => [id, guid])).toEqual([["0", "missed"]]);
});

// https://gitlab.com/gitlab-org/gitlab/-/blob/master/lib/api/hooks/events.rb: `values: 1..20`
test("a page has at most 20 events, and all pages are read", async () => {
  const server = await startJsonServer(({ path = "" }) => {
    if (!path.includes("/events")) return { status: 200, body: { alert_status: "executable" } };
    const query = new URLSearchParams(path.split("?")[1]);
    const size = Number(query.get("per_page"));
    if (size > 20) return { status: 400, body: { error: "per_page does not have a valid value" } };
    const first = (Number(query.get("page")) - 1) * size;
    const body = Array.from({ length: Math.min(size, 45 - first) }, (_, index) => ({
      id: 45 - first - index,
      response_status: "500",
    }));
    return { status: 200, body };
  });
  close = server.close;
  const { missed } = await openGitlabEvents("3", toAccess(server.url)).find(0);
  expect(missed.map(({ id }) => Number(id))).toEqual(Array.from({ length: 45 }, (_, index) => index + 1));
});

function toAccess(baseUrl: string): ApiAccess {
  return { token: "t", baseUrl, place: "acme/shop", account: {}, signal: AbortSignal.timeout(60_000) };
}
