import { createHmac } from "node:crypto";
import { builtInDrivers } from "../../src/service/drivers.ts";
import type { SignedRequest } from "../../src/core/ports/signature.ts";
import { createSenders, NOW, sampleFor, type Sender, signed, toRequest, URL_OF_HOOK } from "./signatures.ts";

const { providers } = builtInDrivers;

export interface MutationReport {
  /** Requests that differ from a right one in what they claim or in what is signed. */
  tried: number;
  /** Each as JSON, at most ten. */
  accepted: string[];
  thrown: string[];
}

interface Mutable {
  headers: [string, string][];
  body: Buffer;
  url: string;
  method: string;
  receivedAt: number;
}

/** Changes right requests of every sender in one to three ways each. The same seed gives the same requests. */
export async function runMutations(count: number, seed: number): Promise<MutationReport> {
  const random = createRandom(seed);
  const originals = await createOriginals();
  const report: MutationReport = { tried: 0, accepted: [], thrown: [] };
  while (report.tried < count) {
    const { sender, request } = random.pick(originals);
    const mutated = { ...request, headers: request.headers.map(([name, value]): [string, string] => [name, value]) };
    for (let left = 1 + random.below(3); left > 0; left -= 1) mutate(mutated, sender.scheme, random);
    if (meaningOf(sender.scheme, mutated) === meaningOf(sender.scheme, request)) continue;
    report.tried += 1;
    await attempt(sender, toRequest(mutated), report);
  }
  return report;
}

async function attempt({ scheme, verifier }: Sender, request: SignedRequest, report: MutationReport): Promise<void> {
  const show = (): string => JSON.stringify({ scheme, ...request, body: request.body.toString("latin1") });
  try {
    verifier.presents(request);
    const result = await verifier.verify(request);
    if (result === "valid" && report.accepted.length < 10) report.accepted.push(show());
    await verifier.handshake?.(request, result);
  } catch (error) {
    if (report.thrown.length < 10) report.thrown.push(`${String(error)}: ${show()}`);
  }
}

async function createOriginals(): Promise<{ sender: Sender; request: Mutable }[]> {
  const senders = await createSenders();
  const originals = senders.flatMap((sender) => {
    const sample = sampleFor(sender.scheme);
    const bodies = IN_BODY.has(sender.scheme) ? [sample.body] : [sample.body, "", "{}", "\uFEFF1.2"];
    return bodies.map(async (body) => {
      const request = {
        ...(await signed(sender, { ...sample, body })),
        url: URL_OF_HOOK,
        method: "POST",
        receivedAt: NOW,
      };
      return { sender, request };
    });
  });
  return Promise.all(originals);
}

/** Schemes whose credential says nothing about the body. */
const BEARERS = new Set(["gitlab", "telegram", "google-channel", "basic", "token", "header"]);
/** Schemes that sign within the body. */
const IN_BODY = new Set(["graph", "mailgun", "field"]);
/** Schemes that sign the address, and the one that signs the method. */
const URL_SIGNERS = new Set(["twilio", "hubspot", "square", "trello"]);
const LISTS: Record<string, string> = {
  stripe: ",",
  calendly: ",",
  pagerduty: ",",
  paddle: ";",
  "standard-webhooks": " ",
  "mcp-events": " ",
  svix: " ",
};

/** The claims of a request. Two with the same meaning may both be right, for example with the entries of a list reordered or a wrong one added. */
function meaningOf(scheme: string, { headers, body, url, method, receivedAt }: Mutable): string {
  const credentials = headers
    .map(([name, value]) => `${name.toLowerCase()}:${toCanonical(scheme, value)}`)
    .filter((header) => !IN_BODY.has(scheme) && !header.startsWith("content-type:"))
    .toSorted();
  const isTimed = providers[scheme]?.about?.tolerance !== undefined;
  const claimed = [...credentials, isTimed ? String(receivedAt) : "", scheme === "hubspot" ? method : ""];
  if (URL_SIGNERS.has(scheme)) claimed.push(url);
  if (!BEARERS.has(scheme)) claimed.push(signedBody(scheme, body));
  return claimed.join("\n");
}

function toCanonical(scheme: string, value: string): string {
  const separator = LISTS[scheme];
  if (separator !== undefined) {
    const entries = value.split(separator).map((entry) => toCanonicalBytes(scheme, entry.trim()));
    return [...new Set(entries.filter((entry) => /^(?:t|ts|v1|h1)[=,].{9}/.test(entry)))].toSorted().join(separator);
  }
  const bytes = toCanonicalBytes(scheme, value);
  return ["basic", "token"].includes(scheme) ? bytes.replace(/^\w+ /, (word) => word.toLowerCase()) : bytes;
}

/** Hex in lower case; base64 without padding, in the alphabet of URLs. */
function toCanonicalBytes(scheme: string, value: string): string {
  const how = providers[scheme]?.about?.signed ?? "";
  if (how.includes("base64") || scheme === "basic") {
    return value
      .replace(/={1,2}$/, "")
      .replaceAll("+", "-")
      .replaceAll("/", "_");
  }
  return value.replaceAll(/[\da-f]{40,}/gi, (digits) => digits.toLowerCase());
}

function signedBody(scheme: string, body: Buffer): string {
  if (scheme === "twilio") {
    const form = new URLSearchParams(body.toString());
    const names = [...new Set(form.keys())].toSorted();
    return names.flatMap((name) => [...new Set(form.getAll(name))].toSorted().map((value) => name + value)).join("");
  }
  if (!IN_BODY.has(scheme)) return body.toString("latin1");
  try {
    const parsed = JSON.parse(body.toString());
    const { timestamp, token, signature } = parsed?.signature ?? {};
    if (scheme === "mailgun") return JSON.stringify([timestamp, token, signature]);
    return JSON.stringify(parsed.value.map((item: { clientState?: unknown }) => item.clientState));
  } catch {
    return "unreadable";
  }
}

type Random = ReturnType<typeof createRandom>;

function mutate(request: Mutable, scheme: string, random: Random): void {
  const kind = random.below(10);
  if (kind < 4) request.body = mutateBytes(request.body, random);
  else if (kind < 8) mutateHeader(request, random);
  else if (kind === 8)
    request.url = random.pick([`${URL_OF_HOOK}/`, `${URL_OF_HOOK}?a=1`, URL_OF_HOOK.toUpperCase(), ""]);
  else forge(request, scheme, random);
}

function mutateBytes(bytes: Buffer, random: Random): Buffer {
  const at = random.below(bytes.length + 1);
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
  const byte = Buffer.of(random.below(256));
  return random.pick([
    () => Buffer.concat([before, byte, after]),
    () => Buffer.concat([before, byte, after.subarray(1)]),
    () => Buffer.concat([before, after.subarray(1)]),
    () => before,
    () => Buffer.concat([bytes, bytes]),
    () => Buffer.from(bytes.toString().toUpperCase()),
    () => Buffer.concat([Buffer.from("\uFEFF"), bytes]),
    () => Buffer.from(bytes.toString().replaceAll("\n", "\r\n")),
  ])();
}

/** Numbers and encodings that parsers tend to accept in more than one form. */
const FORMS: ((text: string) => string)[] = [
  (text) => text.toUpperCase(),
  (text) => ` ${text} `,
  (text) => text.replaceAll("=", ""),
  (text) => `${text}=`,
  (text) => text.replaceAll("+", "-").replaceAll("/", "_"),
  (text) => `${text}, ${text}`,
  (text) => `+${text}`,
  (text) => `0${text}`,
  (text) => `${text}.0`,
  (text) => `${text}e0`,
  (text) => text.replaceAll(/\d/g, (digit) => String.fromCodePoint(0xb2 + Number(digit))),
  (text) => text.replace(/^[^=]*=/, ""),
  (text) => "=".repeat(text.length),
  (text) => `${text},${"v1=00,".repeat(1000)}`,
  () => "",
  () => "v1=,t=,v0=",
  () => "\u00FF".repeat(200),
];

function mutateHeader(request: Mutable, random: Random): void {
  const at = random.below(request.headers.length);
  const [name, value] = request.headers[at] ?? ["", ""];
  const changed = (): string => mutateBytes(Buffer.from(value, "latin1"), random).toString("latin1");
  random.pick([
    () => request.headers.splice(at, 1),
    () => request.headers.splice(at, 1, [name, changed()]),
    () => request.headers.splice(at, 1, [name, changed()]),
    () => request.headers.splice(at, 1, [name, random.pick(FORMS)(value)]),
    () => request.headers.push([name.toUpperCase(), value]),
    () => request.headers.push([name, changed()]),
    () => request.headers.unshift([name, random.pick(FORMS)(value)]),
    () => request.headers.splice(at, 1, [name, request.headers[random.below(request.headers.length)]?.[1] ?? ""]),
  ])();
}

/** Forgeries of someone without the secret: signed with an empty key, or another time's request. */
function forge(request: Mutable, scheme: string, random: Random): void {
  const sign = (key: string): string => createHmac("sha256", key).update(request.body).digest("hex");
  random.pick([
    () => (request.receivedAt += random.pick([1, -1]) * 3_700_000),
    () => (request.headers = request.headers.map(([name]) => [name, `sha256=${sign("")}`])),
    () => (request.headers = request.headers.map(([name]) => [name, sign("undefined")])),
    () => (request.headers = request.headers.map(([name]) => [name, "Bearer undefined"])),
    () => (request.headers = request.headers.map(([name]) => [name, scheme])),
    () => (request.method = "GET"),
    () => (request.body = Buffer.from("[".repeat(2000))),
    () =>
      (request.body = Buffer.from(
        '{"value":[{"clientState":null}],"signature":{"timestamp":1,"token":[],"signature":{}}}',
      )),
  ])();
}

/** mulberry32 */
function createRandom(seed: number) {
  let state = seed;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return { below, pick: <Item>(items: readonly Item[]): Item => items[below(items.length)]! };
}
