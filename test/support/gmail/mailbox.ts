import { askEmulator } from "./ask-emulator.ts";

/** A mailbox of the `emulate` server, as its owner and senders use it. */
export interface EmulatedMailbox {
  call(method: string, path: string, body?: object): Promise<Record<string, unknown>>;
  /** The last record of its history. */
  currentRecord(): Promise<string>;
  refreshToken: string;
}

export const GMAIL_CLIENT = {
  clientId: "test.apps.googleusercontent.com",
  clientSecret: "GOCSPX-test-secret",
};

const REDIRECT = "http://127.0.0.1";

/** The initial state of the emulator. */
export function toSeed(user: string): object {
  const { clientId: client_id, clientSecret: client_secret } = GMAIL_CLIENT;
  return {
    users: [{ email: user, name: "Ann Lee" }],
    oauth_clients: [{ client_id, client_secret, redirect_uris: [REDIRECT] }],
  };
}

export async function openMailbox(google: string, user: string): Promise<EmulatedMailbox> {
  const { access_token: token = "", refresh_token: refreshToken = "" } = await consent(google, user);
  return {
    call,
    async currentRecord() {
      const { historyId } = await call("GET", "history?startHistoryId=1&maxResults=1");
      return String(historyId);
    },
    refreshToken,
  };

  async function call(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
    const answer = await askEmulator(`${google}/gmail/v1/users/me/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === "" ? {} : JSON.parse(text);
  }
}

/** Consents on the emulator's page, and redeems the code. */
async function consent(google: string, email: string): Promise<Record<string, string>> {
  const code = await giveConsent(
    google,
    new URLSearchParams({ email, redirect_uri: REDIRECT, client_id: GMAIL_CLIENT.clientId }),
  );
  const answer = await askEmulator(`${google}/oauth2/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      code: code.searchParams.get("code") ?? "",
      client_id: GMAIL_CLIENT.clientId,
      client_secret: GMAIL_CLIENT.clientSecret,
    }),
  });
  return JSON.parse(await answer.text());
}

/** Consents on Google's page. Resolves with the URL that the browser is sent back to. */
export async function giveConsent(google: string, form: URLSearchParams): Promise<URL> {
  const answer = await askEmulator(`${google}/o/oauth2/v2/auth/callback`, {
    method: "POST",
    redirect: "manual",
    body: form,
  });
  return new URL(answer.headers.get("location") ?? "");
}
