import { verify, X509Certificate } from "node:crypto";
import type { FromSchema } from "json-schema-to-ts";
import type { SignatureDefinition } from "../../core/ports/driver.ts";
import { readText } from "../../core/shared/net/network.ts";
import { parseDuration } from "../../core/shared/time.ts";
import { parseObject, objectSchema } from "../../core/shared/json.ts";
import { checkTime, digestParts } from "./verifier.ts";
import { decode, parseTimestamp } from "./signature.ts";
import type { Handshake, SignatureResult, SignatureVerifier } from "../../core/ports/signature.ts";
import { TOLERANCE } from "./row.ts";

const TOPIC = { type: "string", pattern: "^arn:aws[\\w-]*:sns:[\\w-]+:\\d+:\\S+$" } as const;

const schema = objectSchema(["topicArn"], {
  topicArn: {
    anyOf: [TOPIC, { type: "array", minItems: 1, items: TOPIC }],
    description: "The topics that may send. Everyone can have messages signed by AWS, for their own topics.",
  },
  tolerance: { ...TOLERANCE, default: "1h" },
});

type SnsOptions = FromSchema<typeof schema>;

/** AWS signs with a certificate. Raw message delivery is not signed. */
export const sns: SignatureDefinition<SnsOptions> = {
  schema,
  docs: "https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html",
  deliveryId: "{{payload.MessageId}}",
  replay: () => "timed",
  about: {
    header: "body: `Signature`",
    signed: "RSA-SHA256 or RSA-SHA1, base64: the message's fields",
    tolerance: "1h",
    handshake: "`SubscriptionConfirmation`, `UnsubscribeConfirmation`",
  },
  create: (options) => createSnsVerifier(options, fetchText),
};

/** Gets a document of AWS. Rejects for every status but 200. */
type FetchText = (url: URL) => Promise<string>;

export function createSnsVerifier({ topicArn, tolerance }: SnsOptions, fetchDocument: FetchText): SignatureVerifier {
  const topics = [topicArn].flat();
  const toleranceMs = parseDuration(tolerance);
  const getCertificate = createCertificates(fetchDocument);
  return {
    senderTimeoutMs: 15_000,
    presents: ({ headers }) => headers["x-amz-sns-message-type"] !== undefined,
    async verify({ body, receivedAt }) {
      const message = parseObject(body.toString());
      const signature = decode(textOf(message, "Signature"), "base64");
      const text = toSignedText(message);
      const hash = HASHES.get(textOf(message, "SignatureVersion"));
      const url = toAwsUrl(message["SigningCertURL"], (pathname) => CERTIFICATE_PATH.test(pathname));
      const time = parseTimestamp(textOf(message, "Timestamp"), "iso");
      if (!signature || text === undefined || hash === undefined || !url || time === undefined) return MALFORMED;
      // Before anything is fetched.
      if (!topics.includes(textOf(message, "TopicArn"))) return WRONG;
      const certificate = await getCertificate(url);
      if (!certificate) return UNAVAILABLE;
      if (!verify(hash, Buffer.from(text), certificate.publicKey, signature)) return WRONG;
      return checkTime(time, receivedAt, toleranceMs);
    },
    identify({ body }) {
      const text = toSignedText(parseObject(body.toString()));
      return text === undefined ? undefined : { digest: digestParts([Buffer.from(text)]), validMs: 2 * toleranceMs };
    },
    async handshake({ body }, result) {
      const message = parseObject(body.toString());
      const { Type: type } = message;
      if (result !== "valid") return undefined;
      if (type === "UnsubscribeConfirmation") {
        return { status: 200, body: {}, note: `${textOf(message, "TopicArn")} no longer sends to this hook.` };
      }
      return type === "SubscriptionConfirmation" ? confirm(message, fetchDocument) : undefined;
    },
  };
}

const MALFORMED: SignatureResult = { reason: "malformed", message: "The body is not a signed message of SNS." };
const WRONG: SignatureResult = { reason: "wrong", message: "The signature is wrong, or the topic is another one." };
const UNAVAILABLE: SignatureResult = {
  reason: "unavailable",
  message: "The certificate of the signature cannot be fetched now.",
};

const HASHES = new Map([
  ["1", "RSA-SHA1"],
  ["2", "RSA-SHA256"],
]);

const NOTIFICATION = ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"];
const CONFIRMATION = ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"];

/** Each name and value on its own line. Only a notification's subject may be missing. */
function toSignedText(message: Record<string, unknown>): string | undefined {
  const isNotification = message["Type"] === "Notification";
  const names = isNotification ? NOTIFICATION : CONFIRMATION;
  const present = names.filter((name) => !(isNotification && name === "Subject" && (message[name] ?? null) === null));
  if (!present.every((name) => typeof message[name] === "string")) return undefined;
  return present.map((name) => `${name}\n${textOf(message, name)}\n`).join("");
}

function textOf(message: Record<string, unknown>, name: string): string {
  const value = message[name];
  return typeof value === "string" ? value : "";
}

/** With its region: `sns.s3-us-west-2.amazonaws.com` would be anybody's bucket of that name. */
const AWS_HOST = /^sns\.[a-z]{2}(?:-[a-z]+)+-\d{1,2}\.amazonaws\.com(?:\.cn)?$/;
const CERTIFICATE_PATH = /^\/SimpleNotificationService-[\w-]+\.pem$/;

/** Only addresses of SNS itself: everyone can put a certificate, or another service, behind any other. */
export function toAwsUrl(text: unknown, accepts: (pathname: string) => boolean): URL | undefined {
  const url = typeof text === "string" ? URL.parse(text) : null;
  if (!url || url.protocol !== "https:" || url.port !== "" || url.username !== "" || url.password !== "")
    return undefined;
  return AWS_HOST.test(url.hostname) && accepts(url.pathname) ? url : undefined;
}

async function confirm(message: Record<string, unknown>, fetchDocument: FetchText): Promise<Handshake> {
  const url = toAwsUrl(message["SubscribeURL"], (pathname) => pathname === "/");
  const topic = textOf(message, "TopicArn");
  if (url?.searchParams.get("Action") !== "ConfirmSubscription") return { status: 400 };
  try {
    await fetchDocument(url);
    return { status: 200, body: {}, note: `Confirmed the subscription to ${topic}.` };
  } catch {
    return { status: 503, note: `The subscription to ${topic} could not be confirmed. SNS will send it again.` };
  }
}

const MAX_CERTIFICATES = 16;
/** Strangers can name certificates that do not exist, and each is a request to AWS. */
const MAX_FETCHES = 4;

/** Resolves to undefined if the certificate cannot be fetched now. */
type GetCertificate = (url: URL) => Promise<X509Certificate | undefined>;

function createCertificates(fetchDocument: FetchText): GetCertificate {
  const known = new Map<string, X509Certificate>();
  const inFlight = new Map<string, Promise<X509Certificate | undefined>>();
  return async function getCertificate({ origin, pathname }) {
    const address = `${origin}${pathname}`;
    const certificate = known.get(address);
    if (certificate) return certificate;
    if (!inFlight.has(address) && inFlight.size >= MAX_FETCHES) return undefined;
    const fetching = inFlight.get(address) ?? load(address);
    inFlight.set(address, fetching);
    return fetching;
  };

  async function load(address: string): Promise<X509Certificate | undefined> {
    try {
      const certificate = new X509Certificate(await fetchDocument(new URL(address)));
      const oldest = known.keys().next();
      if (known.size >= MAX_CERTIFICATES && !oldest.done) known.delete(oldest.value);
      known.set(address, certificate);
      return certificate;
    } catch {
      return undefined;
    } finally {
      inFlight.delete(address);
    }
  }
}

const FETCH_TIMEOUT_MS = 5000;
const MAX_DOCUMENT_BYTES = 65_536;

/** Follows no redirect, and reads no more than a certificate can have. */
export async function fetchText(url: URL): Promise<string> {
  const response = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) });
  if (response.status !== 200) throw new Error(`${url.host} answered ${response.status}`);
  const text = await readText(response, MAX_DOCUMENT_BYTES + 1);
  if (text.length > MAX_DOCUMENT_BYTES) throw new Error(`${url.host} sent more than ${MAX_DOCUMENT_BYTES} bytes`);
  return text;
}
