import { createServer, type RequestListener, type ServerResponse } from "node:http";
import { afterEach, expect, test } from "vitest";
import { failureOf } from "../../contracts/harness.ts";
import type { MissedEvents } from "../../core/ports/missed.ts";
import { openMissed } from "./missed.ts";

let close = async (): Promise<void> => undefined;
afterEach(() => close());

const HOOK = "/repos/acme/shop/hooks/4";

const URL_OF_HOOK = "https://hooks.example.com/hooks/github";

/** Opens the events that the webhook has missed; `listener` answers about its deliveries. */
async function open(listener: RequestListener): Promise<MissedEvents> {
  const server = createServer((request, response) => {
    if (request.url?.startsWith(`${HOOK}/`)) return listener(request, response);
    return response.end(JSON.stringify([{ id: 4, config: { url: URL_OF_HOOK } }]));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  close = async () => void (await new Promise((resolve) => server.close(resolve)));
  const address = server.address();
  const baseUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  const access = { baseUrl, token: "t", place: "acme/shop", account: {}, signal: AbortSignal.timeout(600_000) };
  const options = { url: URL_OF_HOOK, events: [], readKnown: async () => new Set<string>(), enter: async () => {} };
  return openMissed(access, options);
}

test.each<[string, (response: ServerResponse) => void, RegExp]>([
  [
    "an answer that breaks off",
    (response) => {
      response.writeHead(200, { "content-length": "1000" });
      response.write("[", () => response.destroy());
    },
    /^GitHub gave no answer: /,
  ],
  [
    "a page in place of an answer",
    (response) => void response.writeHead(200, { "content-type": "text/html" }).end("<h1>Sign in</h1>"),
    /^The answer of GitHub could not be read\.$/,
  ],
])("%s can be tried again", async (_what, answer, message) => {
  const deliveries = await open((_request, response) => answer(response));
  const error = await failureOf(deliveries.find(0));
  expect(error).toMatchObject({ retryable: true, message: expect.stringMatching(message) });
});

test("events of which no attempt arrived are found page by page, oldest first, and sent again by their whole id", async () => {
  const now = Date.now();
  // More digits than a number holds.
  const attempts = [
    ["161238932700520455", "retried", 1, 200],
    ["161238932700520454", "new", 2, 503],
    ["161238932700520453", "retried", 3, 503],
    ["161238932700520452", "old", 4, 0],
    ["161238932700520451", "older", 300, 503],
  ].map(([id, guid, minutesAgo, status]) => {
    const at = new Date(now - Number(minutesAgo) * 60_000).toISOString();
    return `{"id":${id},"guid":"${guid}","delivered_at":"${at}","status_code":${status},"event":"push","action":null}`;
  });
  const repeated: string[] = [];
  const deliveries = await open(({ method, url = "" }, response) => {
    if (method === "POST") repeated.push(url);
    if (method === "POST") return response.writeHead(url.includes("454") ? 422 : 202).end();
    const from = Number(new URL(url, "http://localhost").searchParams.get("cursor") ?? 0);
    const next = `<https://api.example.com${HOOK}/deliveries?per_page=2&cursor=${from + 2}>; rel="next"`;
    const page = attempts.slice(from, from + 2).join(",");
    return response.writeHead(200, from + 2 < attempts.length ? { link: next } : {}).end(`[${page}]`);
  });
  const { missed } = await deliveries.find(now - 60 * 60_000);
  expect(missed.map(({ guid }) => guid)).toEqual(["old", "new"]);
  await deliveries.repeat(missed[0]!);
  const gone = await failureOf(deliveries.repeat(missed[1]!));
  expect(gone).toMatchObject({ retryable: false, message: expect.stringContaining("GitHub answered 422") });
  expect(repeated).toEqual(["452", "454"].map((end) => `${HOOK}/deliveries/161238932700520${end}/attempts`));
});
