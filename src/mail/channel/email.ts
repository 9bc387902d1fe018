import type { FromSchema } from "json-schema-to-ts";
import { DriverError, MailError, messageOf } from "../../core/errors.ts";
import type { MailAccount } from "../../core/ports/mail-source.ts";
import type { DriverContext, ChannelDefinition, OptionProblem } from "../../core/ports/driver.ts";
import { listFound } from "../../core/shared/found.ts";
import { isLoopback } from "../../core/shared/net/network.ts";
import { NON_BLANK, objectSchema } from "../../core/shared/json.ts";
import type { ChannelDriver } from "../../core/ports/channel.ts";
import { toLine, toNoAnswer } from "../../vendors/kit/http.ts";
import { isSameMailbox } from "../message/addresses.ts";
import { ADDRESS, composeMail, inThread, toMessageId, toThread, parseRecipient } from "./compose.ts";
import { isLoginRefused, sendMail, type SmtpLogin, toDriverError, type WrittenMail, writeMail } from "./transport.ts";

const schema = {
  description: "Mail, through an SMTP server.",
  ...objectSchema(["host", "from"], {
    host: { ...NON_BLANK, description: "The server's name." },
    port: { type: "integer", minimum: 1, maximum: 65_535, description: "Default: 465, without implicit TLS 587." },
    tls: {
      enum: ["implicit", "starttls", "none"],
      default: "implicit",
      description: "none is for a server on this machine only.",
    },
    user: { ...NON_BLANK, description: "The login name. Without it, there is no login." },
    password: { ...NON_BLANK, description: "A reference: ${ENV} or ${file:PATH}." },
    from: { ...NON_BLANK, description: "The address that mails come from." },
    mailbox: {
      ...NON_BLANK,
      description:
        "The name of an IMAP mailbox of hooks.mail that the mails come from. Its login is used unless user is set, and its folder of sent mail.",
    },
    sentCopy: {
      enum: ["auto", "off"],
      default: "auto",
      description:
        "auto: with mailbox, a copy is in its folder of sent mail. Gmail and Exchange keep one without that.",
    },
    fromName: { ...NON_BLANK, description: "The name beside it." },
  }),
} as const;

type EmailOptions = FromSchema<typeof schema>;

export const email: ChannelDefinition<EmailOptions> = {
  schema,
  check,
  create: createEmail,
  about: {
    to: "address, and after a blank the subject; without one, the first line of the text",
    afterCrash:
      "with `mailbox`, once if the mail is in the folder of sent mail; otherwise it may come twice, with the same Message-ID",
    testedAgainst: "the npm package `smtp-server`",
  },
};

function check({ host, tls, user, password, from, mailbox, sentCopy }: EmailOptions): OptionProblem[] {
  const clear = '"none" would send mails in clear text: it is for this machine only. Use "implicit" or "starttls".';
  const isHalf = (user === undefined) !== (password === undefined);
  const isUnused = sentCopy === "off" && mailbox === undefined;
  return listFound<OptionProblem>(
    !ADDRESS.test(from) && { key: "from", message: "This is not an address such as agent@example.com." },
    isHalf && { key: "password", message: "Set both user and password, or neither." },
    tls === "none" && !isLoopback(host) && { key: "tls", message: clear },
    isUnused && { key: "sentCopy", message: "This has no effect without mailbox.", level: "warning" },
  );
}

/** The dispatcher ends an attempt after 30 seconds. A copy that takes longer must not make it send the mail again. */
const COPY_UNTIL_MS = 25_000;

/**
 * Sends mails through an SMTP server. A repeat has the same Message-ID, by which a mailbox can recognize it. A payload can
 * choose only recipients that the block's `allow` lists: anyone can write a From or a Reply-To header.
 */
export function createEmail(
  options: EmailOptions,
  { mailAccount, log }: Partial<Pick<DriverContext, "mailAccount" | "log">> = {},
): ChannelDriver {
  const { mailbox, from, sentCopy } = options;
  const account = mailbox === undefined ? undefined : mailAccount?.(mailbox);
  if (mailbox !== undefined && !account) {
    throw new Error(`hooks.mail has no mailbox with the name "${mailbox}" and a source of kind imap`);
  }
  return {
    name: "email",
    limit: 100_000,
    needsAllow: true,
    sourceNeedsAllow: true,
    addressOf: (to) => parseRecipient(to).address,
    isThread: () => false,
    isOwn: (to) => [from, account?.user ?? ""].some((own) => isSameMailbox(parseRecipient(to).address, own)),
    checkRecipient(to) {
      if (ADDRESS.test(parseRecipient(to).address)) return;
      throw new DriverError("Expected an address such as ada@example.com, then, if wanted, a blank and the subject.", {
        retryable: false,
      });
    },
    async send(message, signal) {
      const copyEnds = AbortSignal.timeout(COPY_UNTIL_MS);
      const messageId = toMessageId(message.idempotencyKey, from);
      const composed = await composeMail(inThread(message), { ...options, messageId });
      const sent = { messageId, ...(message.thread && { thread: message.thread.to ?? toThread(composed) }) };
      if (message.mayBeSent && account && (await wasSent(account, messageId, signal))) return sent;
      const mail = await writeMail(composed);
      await sendAs(mail, signal);
      if (account && sentCopy !== "off" && !account.keepsSent) {
        const copied = account.keepSent({ messageId, raw: mail.raw }, AbortSignal.any([signal, copyEnds]));
        // The mail is sent: a copy that fails must not make it go out again.
        await copied.catch((error: unknown) => {
          log?.warn("a mail was sent, and there is no copy of it", { mailbox, error: messageOf(error) });
        });
      }
      return sent;
    },
  };

  async function sendAs(mail: WrittenMail, signal: AbortSignal): Promise<void> {
    for (const isLast of [false, true]) {
      const auth = await logIn(signal);
      try {
        return await sendMail(mail, { ...options, auth }, signal);
      } catch (error) {
        const isToken = auth !== undefined && "accessToken" in auth;
        if (isLast || !isToken || !isLoginRefused(error)) throw toDriverError(error, signal);
        // The token may have been revoked before its end: try once more with a new one.
        account?.forget(auth.accessToken);
      }
    }
  }

  async function logIn(signal: AbortSignal): Promise<SmtpLogin | undefined> {
    const { user, password } = options;
    if (user !== undefined && password !== undefined) return { user, password };
    if (!account) return undefined;
    const credential = await account.credential(signal).catch((error: unknown) => {
      throw toAccountError(error, signal);
    });
    return { user: account.user, ...credential };
  }
}

/** If the mailbox does not let anyone look, nobody can tell. */
async function wasSent(account: MailAccount, messageId: string, signal: AbortSignal): Promise<boolean> {
  try {
    return await account.hasSent(messageId, signal);
  } catch (error) {
    const failure = toAccountError(error, signal);
    if (failure.retryable) throw failure;
    return false;
  }
}

function toAccountError(error: unknown, signal: AbortSignal): DriverError {
  if (signal.aborted) return toNoAnswer("the mailbox", error, signal);
  const isLasting = error instanceof MailError && error.kind !== "network";
  return new DriverError(`The mailbox cannot be used: ${toLine(messageOf(error))}.`, { retryable: !isLasting });
}
