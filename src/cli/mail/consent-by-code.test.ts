import { expect, onTestFinished, test } from "vitest";
import { type JsonAnswer, startJsonServer } from "../../../test/support/json-server.ts";
import { mailFailureOf } from "../../contracts/mail.ts";
import { type DeviceConsent, requestDeviceCode } from "./consent.ts";

const CODE = {
  device_code: "device-1",
  user_code: "ABCD-1234",
  verification_uri: "https://microsoft.com/devicelogin",
  expires_in: 900,
  interval: 0.01,
};
const PENDING = { status: 400, body: { error: "authorization_pending" } };
const never = new AbortController().signal;

interface Server {
  requests: { path: string | undefined; body: Record<string, unknown> }[];
  begin(): Promise<DeviceConsent>;
}

/** Answers the request for a code with the first answer, then each poll with the next one. */
async function startServer(...answers: JsonAnswer[]): Promise<Server> {
  const requests: Server["requests"] = [];
  const { url, close } = await startJsonServer(({ path, body }) => {
    return answers[Math.min(requests.push({ path, body }), answers.length) - 1] ?? PENDING;
  });
  onTestFinished(close);
  const [deviceUrl, tokenUrl] = [`${url}common/oauth2/v2.0/devicecode`, `${url}common/oauth2/v2.0/token`];
  const scope = "imap offline_access";
  return { requests, begin: () => requestDeviceCode({ deviceUrl, tokenUrl, clientId: "hookline", scope }) };
}

test("shows page and code, and polls until the consent is given", async () => {
  const { begin, requests } = await startServer(
    { status: 200, body: CODE },
    PENDING,
    { status: 503, body: "busy" },
    { status: 200, body: { access_token: "a", refresh_token: "refresh-1" } },
  );
  const { url, userCode, wait } = await begin();
  expect({ url, userCode }).toEqual({ url: CODE.verification_uri, userCode: CODE.user_code });
  expect(await wait(never)).toBe("refresh-1");
  const poll = {
    path: "/common/oauth2/v2.0/token",
    body: {
      grant_type: "urn:ietf:params:oauth:grant-type:device_code",
      device_code: "device-1",
      client_id: "hookline",
    },
  };
  const first = {
    path: "/common/oauth2/v2.0/devicecode",
    body: { client_id: "hookline", scope: "imap offline_access" },
  };
  expect(requests).toEqual([first, poll, poll, poll]);
});

test.each([
  [
    "the consent is declined",
    { status: 400, body: { error: "authorization_declined", error_description: "device-1: no." } },
    "authorization_declined: …: no.",
  ],
  ["the code has expired", { status: 400, body: { error: "expired_token" } }, "expired_token"],
  ["there is no refresh token", { status: 200, body: { access_token: "a" } }, "offline_access"],
])("rejects if %s", async (_, answer, reason) => {
  const { begin } = await startServer({ status: 200, body: CODE }, PENDING, answer);
  const { wait } = await begin();
  expect(await mailFailureOf(wait(never))).toMatchObject({ kind: "login", message: expect.stringContaining(reason) });
});

test("rejects if the server gives no code", async () => {
  const { begin } = await startServer({ status: 400, body: { error: "unauthorized_client" } });
  const message = expect.stringContaining("unauthorized_client");
  expect(await mailFailureOf(begin())).toMatchObject({ kind: "login", message });
});

test("ends with the signal, and at the end of the code", async () => {
  const { begin } = await startServer({ status: 200, body: { ...CODE, interval: 600 } });
  const abort = new AbortController();
  const waiting = (await begin()).wait(abort.signal);
  abort.abort();
  await expect(waiting).rejects.toThrow("aborted");
  const short = await startServer({ status: 200, body: { ...CODE, expires_in: 0.05 } });
  expect(await mailFailureOf((await short.begin()).wait(never))).toMatchObject({ kind: "login" });
});
