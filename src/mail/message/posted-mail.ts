import { HookError } from "../../core/errors.ts";
import { parseObject, readOwn, toObject } from "../../core/shared/json.ts";
import type { ReadAttachment } from "./body.ts";
import type { Mail, MailAttachment, MailAuthentication } from "../../core/ports/mail-source.ts";
import { assembleMail, readMail, type ReadOptions, readWholeMail } from "./read-mail.ts";

export interface MailPayload {
  source: string;
  messages: Mail[];
}

/** Reads a mail that was posted as it is (message/rfc822). Throws a 400 if it has no author, so is probably no mail. */
export async function readPostedMail(
  bytes: Uint8Array,
  receivedAt: number,
  options: ReadOptions,
): Promise<MailPayload> {
  const mail = await readMail(bytes, { folder: "", labels: [], receivedAt }, options);
  if (mail.from !== "") return { source: "rfc822", messages: [mail] };
  throw new HookError("invalid_payload", { message: "The body is not a mail: it has no From header." });
}

/** The parts of a mail that a service posts. Texts are blank, and lists empty, if it says nothing. */
interface PostedParts {
  /** The header as text, or its fields. */
  header: string | Field[];
  text: string;
  html: string;
  /** The mail as it is, if the service is set up so. */
  raw: string | Buffer;
  attachments: MailAttachment[];
  /** The service's own results, which the mail itself cannot contain. */
  authentication?: MailAuthentication;
}

type Field = [name: string, value: string];
type Payload = Record<string, unknown>;

/** How the services post a received mail. */
const SERVICES = { mailgun: readMailgun, postmark: readPostmark, sendgrid: readSendgrid, ses: readSes };
export type MailService = keyof typeof SERVICES;

/** Text after this is not read. Attachments of a mail that is posted as it is are listed up to here. */
const MAX_RAW_CHARACTERS = 1024 * 1024;

/**
 * Adds to a service's payload the mail in it, as the mail hook takes it, and as `files` those of a mail that is posted as it
 * is. Rejects with a 400 if there is no mail. The server of a mailbox has not seen it, so only what the service itself says
 * about the sender is certain.
 */
export async function readServiceMail(
  service: MailService,
  { payload: posted, receivedAt }: { payload: unknown; receivedAt: number },
  { maxBytes }: Pick<ReadOptions, "maxBytes">,
): Promise<Payload & MailPayload> {
  const payload = toObject(posted);
  const parts = SERVICES[service](payload);
  const { header, text, html, raw, authentication } = parts;
  const isRaw = text.trim() === "" && html.trim() === "" && raw.length > 0;
  const bytes = isRaw
    ? toBytes(raw)
    : assembleMail(Buffer.from(toBlock(header)), text.trim() ? [toEntity("plain", text)] : [toEntity("html", html)]);
  const attachments = isRaw && parts.attachments.length === 0 ? undefined : parts.attachments;
  // A mail that is longer than what is read may differ behind that.
  const size = isRaw ? raw.length : undefined;
  const facts = { folder: "", labels: [], receivedAt, attachments, size };
  const { mail, files } = await readWholeMail(bytes, facts, { maxBytes });
  if (mail.from + mail.subject + mail.body === "")
    throw new HookError("invalid_payload", { message: `The payload holds no mail of ${service}.` });
  const messages = [{ ...mail, authentication: authentication ?? mail.authentication }];
  // The last file of a mail that was cut is cut too.
  const own = isRaw && raw.length <= MAX_RAW_CHARACTERS ? files.map(toPostedFile) : [];
  return { ...payload, source: service, messages, ...(own.length > 0 && { files: own }) };
}

/** In the form that the files of a form have. */
function toPostedFile({ name, type, size, content }: ReadAttachment): object {
  return { name, type, size, content: Buffer.from(content).toString("base64") };
}

function toBytes(raw: string | Buffer): Buffer {
  return typeof raw === "string" ? Buffer.from(raw.slice(0, MAX_RAW_CHARACTERS)) : raw.subarray(0, MAX_RAW_CHARACTERS);
}

/** https://postmarkapp.com/developer/webhooks/inbound-webhook. `Headers` lacks the fields that are also keys of the payload. */
function readPostmark(payload: Payload): PostedParts {
  const { Headers: fields, FromFull: from, Attachments: attachments } = payload;
  const name = textAt(from, "Name") || textAt(payload, "FromName");
  const address = textAt(from, "Email") || textAt(payload, "From");
  return {
    header: [
      ["From", name && !address.includes("<") ? `"${name.replaceAll(/["\\]/g, "'")}" <${address}>` : address],
      ...namedFields(payload, ["To", "Cc", ["Reply-To", "ReplyTo"], "Subject", "Date"]),
      ...toFields(fields, "Name", "Value"),
      // The first one counts, which is the mail's own.
      ["Message-ID", textAt(payload, "MessageID")],
    ],
    text: textAt(payload, "TextBody"),
    html: textAt(payload, "HtmlBody"),
    raw: textAt(payload, "RawEmail"),
    attachments: listOf(attachments).map((file) => toAttachment(file, "Name", "ContentType", "ContentLength")),
  };
}

/** https://documentation.mailgun.com/docs/mailgun/user-manual/receive-forward-store/receive-http */
function readMailgun(payload: Payload): PostedParts {
  const pairs = toFields(parseList(payload["message-headers"]), 0, 1);
  // The fields of the form are decoded already, so they are only a fallback.
  const given = namedFields(payload, ["from", "To", "Cc", "subject", "Date", "Message-Id"]);
  // `store` gives addresses of the attachments, `forward` the files.
  const stored = listOf(parseList(payload["attachments"])).map((file) =>
    toAttachment(file, "name", "content-type", "size"),
  );
  return {
    header: pairs.length > 0 ? pairs : given,
    text: textAt(payload, "body-plain"),
    html: textAt(payload, "body-html"),
    raw: textAt(payload, "body-mime"),
    attachments: [...filesOf(payload), ...stored],
  };
}

/** https://www.twilio.com/docs/sendgrid/for-developers/parsing-email/setting-up-the-inbound-parse-webhook */
function readSendgrid(payload: Payload): PostedParts {
  const header = textAt(payload, "headers");
  const named = Object.values(parseObject(textAt(payload, "attachment-info")));
  const files = filesOf(payload);
  const spf = textAt(payload, "SPF").toLowerCase();
  const dkim = readDkim(textAt(payload, "dkim"));
  return {
    header: header.trim() ? header : namedFields(payload, ["from", "to", "cc", "subject"]),
    text: textAt(payload, "text"),
    html: textAt(payload, "html"),
    raw: textAt(payload, "email"),
    attachments: files.length > 0 ? files : named.map((file) => toAttachment(file, "filename", "type", "size")),
    ...((spf || dkim) && { authentication: { server: "SendGrid", ...(spf && { spf }), ...(dkim && { dkim }) } }),
  };
}

/** https://docs.aws.amazon.com/ses/latest/dg/receiving-email-notifications-contents.html, as JSON in a message of SNS. */
function readSes({ Message: message }: Payload): PostedParts {
  const { mail, receipt, content } = parseObject(typeof message === "string" ? message : "{}");
  const isBase64 = textAt(readOwn(receipt, "action"), "encoding") === "BASE64";
  const raw = textAt({ content }, "content");
  const resultOf = (test: string): string => textAt(readOwn(receipt, `${test}Verdict`), "status").toLowerCase();
  const [spf, dkim, dmarc] = ["spf", "dkim", "dmarc"].map(resultOf);
  const fields = toFields(readOwn(mail, "headers"), "name", "value");
  const names = ["from", "to", "cc", ["Reply-To", "replyTo"], "subject", "date", ["Message-ID", "messageId"]];
  const common = namedFields(readOwn(mail, "commonHeaders"), names);
  // Without the original header, only the envelope is known.
  const given = common.some(([, text]) => text !== "")
    ? common
    : namedFields(mail, [
        ["from", "source"],
        ["to", "destination"],
        ["date", "timestamp"],
        ["Message-ID", "messageId"],
      ]);
  return {
    header: fields.length > 0 ? fields : given.map(([name, text]) => [name, text.replaceAll("\n", ", ")]),
    text: "",
    html: "",
    raw: isBase64 ? Buffer.from(raw, "base64") : raw,
    attachments: [],
    ...((spf || dkim || dmarc) && {
      authentication: { server: "Amazon SES", ...(spf && { spf }), ...(dkim && { dkim }), ...(dmarc && { dmarc }) },
    }),
  };
}

/** `{@example.com : pass, @example.net : fail}`, or `none`. Of several signatures, one that passes is enough. */
function readDkim(text: string): string | undefined {
  const results = Array.from(text.matchAll(/ : ?(\w{1,20})/g), ([, result]) => result);
  return results.includes("pass") ? "pass" : (results[0] ?? /^\w{1,20}$/.exec(text)?.[0]);
}

function filesOf({ files }: Payload): MailAttachment[] {
  return listOf(files).map((file) => toAttachment(file, "name", "type", "size"));
}

function toAttachment(file: unknown, name: string, type: string, size: string): MailAttachment {
  return { name: textAt(file, name), type: textAt(file, type), size: Number(readOwn(file, size)) || 0 };
}

/** The fields of a header that are objects or pairs. */
function toFields(list: unknown, name: string | number, value: string | number): Field[] {
  return listOf(list).map((field) => [textAt(field, name), textAt(field, value)]);
}

/** The fields of a header that are keys of a payload. `names`: with the key, if that differs. */
function namedFields(payload: unknown, names: (string | string[])[]): Field[] {
  return names.map((pair) => {
    const [name = "", key = name] = [pair].flat();
    return [name, textAt(payload, key)];
  });
}

/** A field of a form may be repeated, and is a list then. */
function textAt(value: unknown, key: string | number): string {
  const found = [readOwn(value, key) ?? []].flat();
  return found.filter((part) => typeof part === "string").join("\n");
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function parseList(text: unknown): unknown {
  return typeof text === "string" ? parseObject(`{"list":${text}}`)["list"] : text;
}

/** A value stays in its line, whatever it contains, so that it cannot add fields. */
function toBlock(header: string | Field[]): string {
  if (typeof header === "string") return `${header.replace(/^\s+/, "").replace(/(?:\r?\n)*$/, "")}\r\n`;
  return header
    .filter(([name, value]) => /^[\w-]+$/.test(name) && value.trim() !== "")
    .map(([name, value]) => `${name}: ${value.replaceAll(/[\r\n\0]+/g, " ").trim()}\r\n`)
    .join("");
}

function toEntity(subtype: "plain" | "html", text: string): Uint8Array {
  const type = `Content-Type: text/${subtype}; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n`;
  return Buffer.from(type + Buffer.from(text).toString("base64").replaceAll(/.{76}/g, "$&\r\n"));
}
