import { setTimeout as sleep } from "node:timers/promises";
import { MailError } from "../../errors.ts";
import { cleanLine } from "../../mail/message/text.ts";
import { withPeriod } from "../../shared/text.ts";
import { type OAuthClient, postForm } from "../../mail/oauth.ts";

interface DeviceCodeOptions extends OAuthClient {
  /** Where the codes come from, https unless it is on this machine. */
  deviceUrl: string;
}

/** A consent that a person gives in a browser, on any device. */
export interface DeviceConsent {
  /** The page, and what to enter there. */
  url: string;
  userCode: string;
  /** Resolves to a refresh token. Rejects with a `MailError` if the consent is refused or too late, or with the signal's reason. */
  wait(signal: AbortSignal): Promise<string>;
}

const GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code";
/** If the server does not say. */
const DEFAULT_INTERVAL_SECONDS = 5;
const DEFAULT_EXPIRY_SECONDS = 900;
/** Seconds that `slow_down` adds to the interval. */
const SLOW_DOWN_SECONDS = 5;

/** Asks for access to a mailbox with a device code (RFC 8628). Rejects with a `MailError`. */
export async function requestDeviceCode(options: DeviceCodeOptions): Promise<DeviceConsent> {
  const { clientId, scope } = options;
  const { answer, reason } = await postForm(options.deviceUrl, { client_id: clientId, scope });
  const { device_code: code, user_code: userCode, verification_uri: url, interval, expires_in: expiry } = answer;
  if (typeof code !== "string" || typeof userCode !== "string" || typeof url !== "string") throw refusal(reason);
  const waiting = {
    code,
    intervalSeconds: typeof interval === "number" ? interval : DEFAULT_INTERVAL_SECONDS,
    endsAt: performance.now() + (Number(expiry) || DEFAULT_EXPIRY_SECONDS) * 1000,
  };
  return { url: cleanLine(url), userCode: cleanLine(userCode), wait: (signal) => poll(options, waiting, signal) };
}

async function poll(
  { tokenUrl, clientId, clientSecret }: DeviceCodeOptions,
  { code, intervalSeconds, endsAt }: { code: string; intervalSeconds: number; endsAt: number },
  signal: AbortSignal,
): Promise<string> {
  const form = { grant_type: GRANT_TYPE, device_code: code, client_id: clientId, client_secret: clientSecret };
  let seconds = intervalSeconds;
  while (performance.now() < endsAt) {
    await sleep(seconds * 1000, undefined, { signal });
    const { answer, reason, isTemporary } = await postForm(tokenUrl, form);
    if (typeof answer.refresh_token === "string" && answer.refresh_token) return answer.refresh_token;
    if (answer.access_token) throw refusal("no refresh token: the scope offline_access may be missing");
    if (answer.error === "slow_down") seconds += SLOW_DOWN_SECONDS;
    else if (answer.error !== "authorization_pending" && !isTemporary) throw refusal(reason);
  }
  throw refusal("expired_token");
}

function refusal(reason = "no reason given"): MailError {
  return new MailError("login", `The consent was not given: ${withPeriod(reason)}`);
}
