import { ConfigError, MailError, messageOf } from "../../errors.ts";
import { toPrintable } from "../../telemetry/to-printable.ts";
import { describeError } from "../fail.ts";
import { Cancelled, MissingAnswer } from "./asker.ts";

const MAIL_CODES: Record<MailError["kind"], string> = {
  login: "login_refused",
  network: "network",
  tls: "tls_failed",
  gone: "mailbox_gone",
};

/** The way out where nothing was written: exit code 2 where an answer is missing, else 1. */
export function failSetup(error: unknown, json: boolean): void {
  process.exitCode = error instanceof MissingAnswer ? 2 : 1;
  const { code, sentence } = describe(error);
  if (json) console.log(JSON.stringify({ ok: false, error: sentence, code }));
  else console.error(`${toPrintable(sentence)}\nNothing was written.`);
}

function describe(error: unknown): { code: string; sentence: string } {
  if (error instanceof MissingAnswer) return { code: "missing_answer", sentence: error.message };
  if (error instanceof Cancelled) return { code: "cancelled", sentence: "Cancelled." };
  if (error instanceof MailError) return { code: MAIL_CODES[error.kind], sentence: error.message };
  if (error instanceof ConfigError) return { code: "config", sentence: describeError(error) };
  return { code: "fault", sentence: messageOf(error) };
}
