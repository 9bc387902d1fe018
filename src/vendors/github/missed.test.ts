import { createServer, type ServerResponse } from "node:http";
import { afterEach, expect, test } from "vitest";
import { failureOf } from "../../contracts/harness.ts";
import { openGithubDeliveries } from "./missed.ts";

let close = async (): Promise<void> => undefined;
afterEach(() => close());

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
  const server = createServer((_request, response) => answer(response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  close = async () => void (await new Promise((resolve) => server.close(resolve)));
  const address = server.address();
  const hook = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/repos/acme/shop/hooks/4`;
  const error = await failureOf(openGithubDeliveries(hook, "t").find(0));
  expect(error).toMatchObject({ retryable: true, message: expect.stringMatching(message) });
});
