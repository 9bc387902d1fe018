import type { SendMailOptions, Transporter } from "nodemailer";
import type { FromSchema } from "json-schema-to-ts";
import { hash } from "node:crypto";
import { DriverError } from "../errors.ts";
import type { DriverDefinition, OptionProblem } from "../plugin.ts";
import { isLoopback } from "../shared/network.ts";
import { NON_BLANK } from "../shared/json.ts";
import { cutText } from "../shared/text.ts";
import type { ChannelDriver } from "./driver.ts";
import { toLine, toNoAnswer } from "./http.ts";
import { HTML, renderMarkdown } from "./markdown.ts";

/** As in a mail's header: without quotes, since programs disagree about those. */
const ADDRESS = /^[^\s\p{C}@<>()[\]:;,"\\]{1,254}@[\p{L}\p{M}\p{N}.-]{1,254}$/u;

const schema = {
  type: "object",
  additionalProperties: false,
  description: "Mail, through an SMTP server.",
  required: ["host", "from"],
  properties: {
    host: { ...NON_BLANK, description: "The server's name." },
    port: { type: "integer", minimum: 1, maximum: 65_535, description: "Default: 465, without implicit TLS 587." },
    tls: {
      enum: ["implicit", "starttls", "none"],
      default: "implicit",
      description: "none is for a server on this machine only.",
    },
    user: { ...NON_BLANK, description: "The login name. Without it, there is no login." },
    password: { ...NON_BLANK, description: "As ${ENV} or ${file:PATH}." },
    from: { ...NON_BLANK, description: "The address that mails come from." },
    fromName: { ...NON_BLANK, description: "The name beside it." },
  },
} as const;

type EmailOptions = FromSchema<typeof schema>;

export const email: DriverDefinition<ChannelDriver, EmailOptions> = { schema, check, create: createEmail };

function check({ host, tls, user, password, from }: EmailOptions): OptionProblem[] {
  const problems: OptionProblem[] = [];
  if (!ADDRESS.test(from)) problems.push({ key: "from", message: "is not an address such as agent@example.com" });
  if ((user === undefined) !== (password === undefined)) {
    problems.push({ key: "password", message: "set both user and password, or neither" });
  }
  if (tls === "none" && !isLoopback(host)) {
    problems.push({ key: "tls", message: '"none" would send mails in clear text: it is for this machine only' });
  }
  return problems;
}

/** A server that defers a mail, as greylisting does, wants some minutes to pass. */
const DEFERRED_MS = 300_000;

const TIMEOUT_MS = 25_000;

/**
 * Sends mails through an SMTP server. A repeat has the same Message-ID, by which a mailbox can recognize it. A payload can
 * choose only recipients that the block's `allow` lists: anyone can write a From or a Reply-To header.
 */
export function createEmail(options: EmailOptions): ChannelDriver {
  return {
    name: "email",
    limit: 100_000,
    needsAllow: true,
    sourceNeedsAllow: true,
    addressOf: (to) => toPlace(to).address,
    checkRecipient(to) {
      if (ADDRESS.test(toPlace(to).address)) return;
      throw new DriverError(
        "Expected an address such as ada@example.com, then, for an answer, the ids of the mails before it, each in < >, and " +
          "the subject.",
        { retryable: false },
      );
    },
    async send(message, signal) {
      const messageId = toMessageId(message.idempotencyKey, options.from);
      const mail = await composeMail(message, { ...options, messageId });
      const transport = await openTransport(options);
      try {
        await transport.sendMail({ ...mail, signal });
      } catch (error) {
        throw toDriverError(error, signal);
      }
      return { messageId };
    },
  };
}

/** A recipient: `ada@example.com <first@id> <last@id> Subject`. */
interface Place {
  address: string;
  /** The mails before it, with the one that is answered last. */
  references: string[];
  subject: string;
}

const ID = /^<[\x21-\x3B=\x3F-\x7E]{1,250}@[\x21-\x3B=\x3F-\x7E]{1,250}>$/;

/** Invalid ids, such as Gmail's own or a shortened one, are left out: then the answer does not belong to the thread. */
function toPlace(to: string): Place {
  const [address = "", ...words] = to.split(" ");
  const end = words.findIndex((word) => !word.startsWith("<"));
  const ids = end === -1 ? words : words.slice(0, end);
  const subject = end === -1 ? "" : words.slice(end).join(" ");
  return { address, references: [...new Set(ids.filter((id) => ID.test(id)))], subject };
}

/** Without angle brackets. */
function toMessageId(idempotencyKey: string, from: string): string {
  return `${hash("sha256", idempotencyKey).slice(0, 40)}@${from.slice(from.indexOf("@") + 1)}`;
}

const MAX_SUBJECT = 200;

async function composeMail(
  { to, text, format }: { to: string; text: string; format?: "markdown" },
  { from, fromName = "", messageId }: EmailOptions & { messageId: string },
): Promise<SendMailOptions> {
  const { address, references, subject } = toPlace(to);
  return {
    from: { name: fromName, address: from },
    to: { name: "", address },
    subject: toSubject(subject, { text, isAnswer: references.length > 0 }),
    messageId: `<${messageId}>`,
    inReplyTo: references.at(-1),
    references,
    headers: {
      // RFC 3834: other programs do not answer it.
      "Auto-Submitted": references.length > 0 ? "auto-replied" : "auto-generated",
      "X-Auto-Response-Suppress": "All",
    },
    text,
    html:
      format === "markdown"
        ? `<!doctype html><html><body>${await renderMarkdown(text, HTML)}</body></html>`
        : undefined,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** That of the answered mail, or the text's first line. */
function toSubject(subject: string, { text, isAnswer }: { text: string; isAnswer: boolean }): string {
  const line = (subject || text.trim().split("\n", 1)[0] || "").replaceAll(/[\s\p{C}]+/gu, " ").trim();
  const short = cutText(line, MAX_SUBJECT);
  return isAnswer && !/^re:/i.test(short) ? `Re: ${short}` : short;
}

/** Opens one connection per mail. */
async function openTransport({ host, port, tls, user, password: pass }: EmailOptions): Promise<Transporter> {
  const { createTransport } = await import("nodemailer");
  return createTransport({
    host,
    port: port ?? (tls === "implicit" ? 465 : 587),
    secure: tls === "implicit",
    requireTLS: tls === "starttls",
    ignoreTLS: tls === "none",
    auth: user === undefined ? undefined : { user, pass },
    // Also at a server that does not offer a login: it would send without one.
    forceAuth: true,
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    // Its log contains the mail.
    logger: false,
  });
}

/** The fields that the errors of the library have. */
interface Failure {
  code?: string;
  /** The answer of the server. */
  response?: string;
  /** The SMTP status: 4xx may work later, 5xx is permanent. */
  responseCode?: number;
  message: string;
}

const ADVICE = new Map([
  ["EAUTH", "Check channels.email.user and password."],
  ["ETLS", "Check channels.email.tls and port, and the server's certificate."],
  ["ESOCKET", "Check channels.email.host, port and tls."],
  ["EDNS", "Check channels.email.host."],
]);

function toDriverError(error: unknown, signal: AbortSignal): DriverError {
  if (signal.aborted) return toNoAnswer("the mail server", error, signal);
  const { code = "", response, responseCode, message }: Failure = error instanceof Error ? error : { message: "" };
  const advice = ADVICE.get(code) ?? "";
  if (responseCode === undefined) {
    return new DriverError(`The mail server gave no answer: ${toLine(message)}. ${advice}`.trim(), {
      retryable: code !== "EAUTH",
    });
  }
  const isDeferred = responseCode >= 400 && responseCode < 500;
  // The answer to a login could quote it.
  const reason = (code !== "EAUTH" && toLine(response)) || responseCode;
  return new DriverError(`The mail server answered: ${reason}. ${advice}`.trim(), {
    retryable: isDeferred,
    retryAfterMs: isDeferred ? DEFERRED_MS : undefined,
  });
}
