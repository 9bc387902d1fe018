import { createHash, randomUUID } from "node:crypto";
import { messageOf } from "../../core/errors.ts";
import type { OptionProblem, SignatureDefinition, SignatureSummary } from "../../core/ports/driver.ts";
import { toSecrets } from "../../core/shared/secret.ts";
import { parseDuration } from "../../core/shared/time.ts";
import { parseExactObject } from "../../core/shared/exact-json.ts";
import { parseObject } from "../../core/shared/json.ts";
import {
  createKey,
  formatTimestamp,
  parseSignatureHeader,
  parseTimestamp,
  type SignatureHeader,
  valuesOf,
} from "./signature.ts";
import type {
  Bytes,
  ReplayClass,
  SignatureRefusal,
  SignatureResult,
  SignatureVerifier,
  SignedIdentity,
  SignedHead,
  SignedParts,
  SignedRequest,
  UnsignedRequest,
} from "../../core/ports/signature.ts";
import {
  REPLAY_OPTION,
  type RowOptions,
  SECRET,
  SECRET_ITSELF,
  type SignatureRow,
  type SignedPart,
  type SigningKey,
  type TimeUnit,
  TOLERANCE,
  URL_OPTION,
} from "./row.ts";

/** A scheme from a row. */
export function defineSignature(row: SignatureRow): SignatureDefinition<RowOptions> {
  const { docs, deliveryId, options = {} } = row;
  const signsUrl = row.signsUrl ?? row.signed?.includes("url") ?? false;
  const hasTime = row.timestamp !== undefined;
  const properties = {
    secret: SECRET,
    ...(hasTime && { tolerance: { ...TOLERANCE, default: row.tolerance ?? "5m" } }),
    ...(signsUrl && { url: URL_OPTION }),
    ...(classOf(row) === "plain" && row.algorithm !== "secret" && { replay: REPLAY_OPTION }),
    ...options,
  };
  return {
    schema: { type: "object", additionalProperties: false, required: ["secret", ...Object.keys(options)], properties },
    docs,
    deliveryId,
    signsUrl: () => signsUrl,
    replay: (given) => classOf(row, given),
    about: summarize(row),
    check: (given) => checkSecrets(row, given),
    create: (given) => createVerifier(row, given),
  };
}

/** `replay: "signature"` makes a plain scheme unique. */
function classOf({ replay, timestamp }: SignatureRow, options: Pick<RowOptions, "replay"> = {}): ReplayClass {
  const own = replay ?? (timestamp ? "timed" : "plain");
  return own === "plain" && options.replay === "signature" ? "unique" : own;
}

function summarize(row: SignatureRow): SignatureSummary {
  const { header, algorithm = "hmac-sha256", encoding = "hex", signed = ["body"], list, timestamp } = row;
  const prefix = row.prefix ?? (list && `${list.signature}${list.assign ?? "="}`);
  const names = [header].flat().map((name) => `\`${name}\``);
  const parts = signed.map((part) => (typeof part === "function" ? part.name : PARTS.has(part) ? part : `\`${part}\``));
  return {
    header: `${names.join(" or ")}${prefix === undefined ? "" : `: \`${prefix.trim()}\``}`,
    signed:
      algorithm === "secret"
        ? SECRET_ITSELF
        : `${algorithm === "ed25519" ? "Ed25519" : algorithm.toUpperCase()}, ${encoding}: ${parts.join(" ")}`,
    tolerance: timestamp && (row.tolerance ?? "5m"),
    handshake: row.handshake?.about,
  };
}

const PARTS = new Set(["body", "id", "timestamp", "url", "method"]);

/** Input of the signature besides the request itself. */
interface Claims {
  id?: string;
  timestamp?: string;
}

/** A request in the parts that its signature is about. */
interface Reading {
  header: string;
  given: SignatureHeader;
  claims: Claims;
  /** By form of the address, the first being that of the request. */
  forms: Bytes[][];
}

interface Outcome {
  result: SignatureResult;
  /** The one that signed the request, also if its time is wrong. */
  secret?: string;
}

/** Verifies and signs as a row says. Throws an `Error` if a secret is unusable. */
export function createVerifier(row: SignatureRow, options: RowOptions): SignatureVerifier {
  const secrets = toSecrets(options.secret).map((text) => ({ text, key: toKey(row, text) }));
  if (secrets.length === 0) throw new Error("A secret is required.");
  const toleranceMs = parseDuration(options.tolerance ?? row.tolerance ?? "5m");
  const names = [row.header].flat();
  const { handshake } = row;
  return {
    accept: row.accept,
    allowsEmptyBody: row.allowsEmptyBody,
    senderTimeoutMs: row.senderTimeoutMs,
    presents: (head) =>
      names.some((name) => head.headers[name] !== undefined) || handshake?.mayBeUnsigned?.(head) === true,
    verify(request) {
      const { result } = check(request);
      const message = handshake?.mayBeUnsigned?.(request) ? handshake.refusal : undefined;
      return result === "valid" || message === undefined ? result : { reason: "wrong", message };
    },
    identify: classOf(row, options) === "plain" ? undefined : identify,
    handshakeMethods: handshake?.methods,
    handshake:
      handshake &&
      ((request, result) => {
        if (result !== "valid" && !handshake.mayBeUnsigned?.(request)) return undefined;
        return handshake.answer(request, { result, options: { ...options }, findSecret: () => check(request).secret });
      }),
    sign: secrets[0]?.key.sign && ((request) => sign(row, secrets[0]?.key, request)),
  };

  function check(request: SignedRequest): Outcome {
    const reading = readRequest(row, request, toleranceMs);
    if ("reason" in reading) return { result: reading };
    const { header, given, claims, forms } = reading;
    const secret = secrets.find(({ key }) => {
      const signatures = given.signatures.get(key.name ?? row.list?.signature ?? "") ?? [];
      return forms.some((parts) => key.accepts(parts, signatures));
    });
    if (!secret) return { result: wrong(row, header) };
    if (!row.timestamp) return { result: "valid", secret: secret.text };
    const time = readTime(row.timestamp, request.body, claims.timestamp);
    return { result: checkTime(time, request.receivedAt, toleranceMs), secret: secret.text };
  }

  /** By what is signed, not by the signature: some can be written in several ways, and rotated secrets give several. */
  function identify(request: SignedRequest): SignedIdentity | undefined {
    const reading = readRequest(row, request, toleranceMs);
    const [parts] = "reason" in reading ? [] : reading.forms;
    return parts && { digest: digestParts(parts), validMs: row.timestamp && 2 * toleranceMs };
  }
}

export function digestParts(parts: readonly Bytes[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("base64url");
}

function readRequest(row: SignatureRow, request: SignedRequest, toleranceMs: number): Reading | SignatureRefusal {
  const names = [row.header].flat();
  const index = Math.max(
    names.findIndex((name) => request.headers[name] !== undefined),
    0,
  );
  const header = names[index] ?? "";
  const text = requireHeader(request, header);
  if (typeof text !== "string") return text;
  const given = parseSignatureHeader(text, row);
  if (!given) return malformed(header);
  const claims = readClaims(row, request, { index, header, listed: given.timestamp, toleranceMs });
  if ("reason" in claims) return claims;
  const { url } = request;
  const urls = url === undefined ? [url] : (row.toUrls?.(url) ?? [url]);
  const forms: Bytes[][] = [];
  for (const form of urls) {
    const parts = toParts(row, { ...request, url: form }, claims);
    if ("reason" in parts) return parts;
    forms.push(parts);
  }
  return { header, given, claims, forms };
}

/** Problems of the secrets, for the operator. */
export function checkSecrets(row: SignatureRow, { secret }: RowOptions): OptionProblem[] {
  return toSecrets(secret).flatMap((text, index) => {
    try {
      toKey(row, text);
      return [];
    } catch (error) {
      return [{ key: typeof secret === "string" ? "secret" : `secret[${index}]`, message: messageOf(error) }];
    }
  });
}

function toKey({ toKey: read, algorithm = "hmac-sha256" }: SignatureRow, text: string): SigningKey {
  if (text === "") throw new Error("The secret must not be empty.");
  return read ? read(text) : createKey(algorithm, text);
}

function requireHeader({ rawHeaders }: SignedHead, name: string): string | SignatureRefusal {
  const [value, ...more] = valuesOf(rawHeaders, name);
  if (value === undefined) return { reason: "missing", message: `The header ${name} is missing.` };
  if (more.length > 0) return { reason: "malformed", message: `The header ${name} must not be repeated.` };
  return value;
}

function wrong({ algorithm }: SignatureRow, header: string): SignatureRefusal {
  const what = algorithm === "secret" ? `secret in the header ${header}` : "signature";
  return { reason: "wrong", message: `The ${what} is wrong.` };
}

function malformed(name: string): SignatureRefusal {
  return { reason: "malformed", message: `The header ${name} is malformed.` };
}

interface ClaimPlaces {
  index: number;
  header: string;
  /** The time in the list. */
  listed: string | undefined;
  toleranceMs: number;
}

function readClaims(
  { idHeader, timestamp, list, signed = [] }: SignatureRow,
  request: SignedRequest,
  { index, header, listed, toleranceMs }: ClaimPlaces,
): Claims | SignatureRefusal {
  const claims: Claims = { timestamp: listed };
  const timeName = [timestamp?.header ?? []].flat()[index];
  if (timeName !== undefined) {
    const text = requireHeader(request, timeName);
    if (typeof text !== "string") return text;
    claims.timestamp = text;
  }
  if (timestamp && (timeName ?? list?.timestamp) !== undefined) {
    const isTime = claims.timestamp !== undefined && parseTimestamp(claims.timestamp, timestamp.unit) !== undefined;
    if (!isTime) return malformed(timeName ?? header);
  }
  const idName = [idHeader ?? []].flat()[index];
  if (idName !== undefined) {
    const text = requireHeader(request, idName);
    if (typeof text !== "string") return text;
    const isTime = (part: string): boolean => {
      // A time in ISO 8601 can have the separator itself.
      if (timestamp === undefined || timestamp.unit === "iso") return true;
      return isClose(parseTimestamp(part, timestamp.unit) ?? Number.NaN, request.receivedAt, toleranceMs);
    };
    const reason = text === "" ? "it is empty." : explainMovable(text, signed, isTime);
    if (reason !== undefined) return { reason: "malformed", message: `The header ${idName} is refused: ${reason}` };
    claims.id = text;
  }
  return claims;
}

/**
 * Why the same signature could be right for this id with another text behind it, or for another id. Between the id and the time,
 * only a part of the id that could be the time makes that possible.
 */
function explainMovable(
  id: string,
  signed: readonly SignedPart[],
  isTime: (part: string) => boolean,
): string | undefined {
  const [separator, next] = signed.slice(signed.indexOf("id") + 1);
  if (typeof separator !== "string" || PARTS.has(separator) || !id.includes(separator)) return undefined;
  const isTimed = next === "timestamp";
  if (isTimed && !id.split(separator).slice(1).some(isTime)) return undefined;
  const cause = `after "${separator}" it has ${isTimed ? "a part that could be the signed time" : "more text"}`;
  return `${cause}, so the same signature would be right for another id.`;
}

/** The signed text. Node reads headers as Latin-1, so their bytes are written as such. */
function toParts(
  { signed = ["body"] }: SignatureRow,
  request: SignedRequest,
  { id = "", timestamp = "" }: Claims,
): Bytes[] | SignatureRefusal {
  const parts: Bytes[] = [];
  for (const part of signed) {
    if (part === "body") parts.push(request.body);
    else if (part === "timestamp") parts.push(Buffer.from(timestamp, "latin1"));
    else if (part === "id") parts.push(Buffer.from(id, "latin1"));
    else {
      const text = part === "url" ? request.url : part === "method" ? request.method : part;
      const bytes = typeof text === "function" ? text(request) : text;
      if (bytes === undefined) return { reason: "malformed", message: "The request is not one of this sender's." };
      parts.push(Buffer.from(bytes));
    }
  }
  return parts;
}

/** The time is read from the body only when the signature is known to be right. */
function readTime(
  { field, unit }: NonNullable<SignatureRow["timestamp"]>,
  body: Bytes,
  claimed = "",
): number | undefined {
  return parseTimestamp(field === undefined ? claimed : String(parseObject(body.toString())[field]), unit);
}

/** `time` in milliseconds since the epoch. */
export function checkTime(time: number | undefined, receivedAt: number, toleranceMs: number): SignatureResult {
  if (time === undefined) return { reason: "malformed", message: "The body has no time." };
  if (isClose(time, receivedAt, toleranceMs)) return "valid";
  const skewSeconds = Math.round((time - receivedAt) / 1000);
  return { reason: "expired", message: "The signature is right, but its time is not close to ours.", skewSeconds };
}

function isClose(time: number, receivedAt: number, toleranceMs: number): boolean {
  return Math.abs(time - receivedAt) <= toleranceMs;
}

function sign(row: SignatureRow, key: SigningKey | undefined, unsigned: UnsignedRequest): SignedParts {
  const { timestamp: source, list, prefix = "", encoding = "hex" } = row;
  const [header = "", idHeader, timeHeader] = [row.header, row.idHeader, source?.header].map(
    (names) => [names].flat()[0],
  );
  const body = source?.field === undefined ? unsigned.body : writeTime(unsigned, source.field, source.unit);
  const timestamp = source && formatTimestamp(unsigned.now, source.unit);
  const id = idHeader === undefined ? undefined : `msg_${randomUUID().replaceAll("-", "")}`;
  const headers: Record<string, string> = {};
  if (timestamp !== undefined && timeHeader !== undefined) headers[timeHeader] = timestamp;
  if (id !== undefined && idHeader !== undefined) headers[idHeader] = id;

  const { method, contentType, now } = unsigned;
  const url = row.toSignedUrl?.(unsigned) ?? unsigned.url;
  const head = { method, url, headers: { "content-type": contentType }, rawHeaders: [], query: {} };
  const parts = toParts(row, { ...head, body, receivedAt: now }, { id, timestamp });
  if ("reason" in parts || !key?.sign) throw new Error("this sender would not send such a request");
  const signature = key.sign(parts).toString(encoding);
  if (list) {
    const { separator, assign = "=", timestamp: timeName } = list;
    const time = timeName === undefined ? [] : [[timeName, timestamp].join(assign)];
    headers[header] = [...time, [key.name ?? list.signature, signature].join(assign)].join(separator);
  } else {
    headers[header] = prefix + signature;
  }
  return { headers, body: source?.field === undefined ? undefined : body, url: row.toSignedUrl && url };
}

/** The body with its time as it is now, since an old one would be refused. */
function writeTime({ body, now }: UnsignedRequest, field: string, unit: TimeUnit): Buffer {
  const text = formatTimestamp(now, unit);
  const time = unit === "iso" ? text : Number(text);
  return Buffer.from(JSON.stringify({ ...parseExactObject(body.toString()), [field]: time }));
}
