import { afterEach, expect, test } from "vitest";
import { startJsonServer } from "../../test/support/json-server.ts";
import { openGitlabEvents } from "./gitlab.ts";

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
  const access = {
    token: "t",
    baseUrl: server.url,
    place: "acme/shop",
    account: {},
    signal: AbortSignal.timeout(60_000),
  };
  const { missed } = await openGitlabEvents("3", access).find(0);
  expect(missed.map(({ id, guid }) => [id, guid])).toEqual([["0", "missed"]]);
});
