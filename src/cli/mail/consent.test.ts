import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type GmailServer, startGmail } from "../../../test/support/gmail.ts";
import { giveConsent, GMAIL_CLIENT } from "../../../test/support/gmail/mailbox.ts";
import { type Consent, createConsent } from "./consent.ts";
import { createGmail } from "../../mail/gmail/gmail.ts";

let server: GmailServer;
const { signal } = new AbortController();

beforeAll(async () => {
  server = await startGmail();
});
afterAll(() => server.close());

async function start(client: object = {}): Promise<{ consent: Consent; query: URLSearchParams; back: string }> {
  const urls = {
    authUrl: `${server.url}/o/oauth2/v2/auth`,
    tokenUrl: `${server.url}/oauth2/token`,
  };
  const consent = await createConsent({ ...GMAIL_CLIENT, ...urls, user: server.source.user, ...client });
  onTestFinished(() => consent.close());
  const query = new URL(consent.url).searchParams;
  return { consent, query, back: query.get("redirect_uri") ?? "" };
}

/** Presses the button of Google's page. */
async function press(query: URLSearchParams): Promise<Response> {
  const form = new URLSearchParams([...query, ["email", server.source.user]]);
  return fetch(await giveConsent(server.url, form));
}

test("asks for lasting access, with a proof that only this process has", async () => {
  const { consent, query } = await start();
  expect(consent.url).toMatch(`${server.url}/o/oauth2/v2/auth?`);
  expect(Object.fromEntries(query)).toEqual({
    access_type: "offline",
    prompt: "consent",
    scope: "https://www.googleapis.com/auth/gmail.readonly https://www.googleapis.com/auth/pubsub",
    state: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge_method: "S256",
    login_hint: server.source.user,
    response_type: "code",
    client_id: GMAIL_CLIENT.clientId,
    redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
  });
});

test("returns a refresh token that opens the mailbox", async () => {
  const { consent, query } = await start();
  const given = consent.wait(signal);
  const page = await press(query);
  expect({ status: page.status, text: await page.text() }).toEqual({
    status: 200,
    text: "Done. You can close this page.",
  });
  const refreshToken = await given;
  const oauth = { ...GMAIL_CLIENT, refreshToken, tokenUrl: `${server.url}/oauth2/token` };
  await createGmail({ ...server.source, oauth }).check(signal);
});

test("ignores answers without its own state", async () => {
  const { consent, query, back } = await start();
  const given = consent.wait(signal);
  for (const answer of ["?code=forged", "?code=forged&state=guessed", "?error=access_denied", "", "/"]) {
    expect((await fetch(`${back}/${answer}`)).status).toBe(400);
  }
  await press(query);
  await expect(given).resolves.toMatch(/./);
});

test("rejects if the consent is refused", async () => {
  const { consent, query, back } = await start();
  const given = consent.wait(signal);
  const [page] = await Promise.all([
    fetch(`${back}/?error=access_denied&state=${query.get("state")}`),
    expect(given).rejects.toMatchObject({ kind: "login", message: expect.stringMatching(/access_denied/) }),
  ]);
  expect(await page.text()).toMatch("was not given");
});

test("rejects if Google refuses the code", async () => {
  const { consent, query, back } = await start();
  const message = expect.stringMatching(/cannot get a refresh token/);
  await Promise.all([
    expect(consent.wait(signal)).rejects.toMatchObject({ kind: "login", message }),
    fetch(`${back}/?code=unknown&state=${query.get("state")}`),
  ]);
});

test("stops listening when it is aborted", async () => {
  const { consent, back } = await start();
  const end = new AbortController();
  const given = consent.wait(end.signal);
  end.abort(new Error("enough"));
  await expect(given).rejects.toThrow("enough");
  await expect(fetch(back)).rejects.toThrow("fetch failed");
});
