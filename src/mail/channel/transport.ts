import type { SendMailOptions } from "nodemailer";
import type SMTPTransport from "nodemailer/lib/smtp-transport/index.js";
import { codeOf, DriverError } from "../../core/errors.ts";
import { toLine, toNoAnswer } from "../../vendors/kit/http.ts";

export type SmtpLogin = { user: string; password: string } | { user: string; accessToken: string };

export interface SmtpServer {
  host: string;
  port?: number;
  tls: "implicit" | "starttls" | "none";
  /** Absent: there is no login. */
  auth?: SmtpLogin;
}

/** A server that defers a mail, as greylisting does, wants some minutes to pass. */
const DEFERRED_MS = 300_000;

const TIMEOUT_MS = 25_000;

export interface WrittenMail {
  envelope: { from: string | false; to: string[] };
  raw: Buffer;
}

/** Writes a mail once, so that what is sent and what is kept are the same. */
export async function writeMail(mail: SendMailOptions): Promise<WrittenMail> {
  const { createTransport } = await import("nodemailer");
  const writer = createTransport({ streamTransport: true, buffer: true, newline: "windows" });
  const { envelope, message } = await writer.sendMail(mail);
  return { envelope, raw: Buffer.isBuffer(message) ? message : Buffer.alloc(0) };
}

/** Opens one connection per mail. Rejects with the library's error. */
export async function sendMail(
  mail: WrittenMail,
  { host, port, tls, auth }: SmtpServer,
  signal: AbortSignal,
): Promise<void> {
  const { createTransport } = await import("nodemailer");
  const transport = createTransport({
    host,
    port: port ?? (tls === "implicit" ? 465 : 587),
    secure: tls === "implicit",
    requireTLS: tls === "starttls",
    ignoreTLS: tls === "none",
    auth: toAuth(auth),
    // Forced: at a server that offers no login, the library would send without one.
    forceAuth: true,
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    // Its log contains the mail.
    logger: false,
  });
  await transport.sendMail({ ...mail, signal });
}

/** Whether the server refused the login, rather than the mail. */
export function isLoginRefused(error: unknown): boolean {
  return codeOf(error) === "EAUTH";
}

function toAuth(login: SmtpLogin | undefined): SMTPTransport.Options["auth"] {
  if (!login) return undefined;
  return "accessToken" in login ? { type: "OAuth2", ...login } : { user: login.user, pass: login.password };
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

/** Microsoft's code for a mailbox that may not send by SMTP. */
const SMTP_IS_OFF = /\b5\.7\.139\b/;
const SMTP_IS_OFF_ADVICE =
  "Microsoft refuses SMTP for this mailbox: an administrator turns SMTP AUTH on for it, and the token needs the scope " +
  "SMTP.Send, which `npx hookline mail setup` asks for.";

const ADVICE = new Map([
  ["EAUTH", "Check channels.email.user and password, or its mailbox."],
  ["ETLS", "Check channels.email.tls and port, and the server's certificate."],
  ["ESOCKET", "Check channels.email.host, port and tls."],
  ["EDNS", "Check channels.email.host."],
]);

export function toDriverError(error: unknown, signal: AbortSignal): DriverError {
  if (signal.aborted) return toNoAnswer("the mail server", error, signal);
  const { code = "", response, responseCode, message }: Failure = error instanceof Error ? error : { message: "" };
  const isOff = code === "EAUTH" && SMTP_IS_OFF.test(response ?? "");
  const advice = isOff ? SMTP_IS_OFF_ADVICE : (ADVICE.get(code) ?? "");
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
