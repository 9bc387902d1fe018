/** One agent turn for a batch of mails: newsletters are left out, and each thread appears once. */
import type { Transform, TransformResult } from "hookline";

/** The batch that `webhooks mail run` posts. */
interface Batch {
  source?: string;
  messages?: Mail[];
}

interface Mail {
  from?: string;
  subject?: string;
  snippet?: string;
}

const AUTOMATIC = /^(no-?reply|newsletter|notifications?)@|<(no-?reply|newsletter|notifications?)@/i;

const mailDigest: Transform<Batch> = ({ payload, now }): TransformResult => {
  const mails = (payload.messages ?? []).filter(({ from = "" }) => !AUTOMATIC.test(from));
  const threads = Object.groupBy(mails, ({ subject = "" }) => subject.replace(/^((re|fwd?|aw):\s*)+/i, ""));
  const lines = Object.entries(threads).map(([subject, thread = []]) => describe(subject, thread));
  if (lines.length === 0) return null;

  return {
    message: lines.join("\n"),
    sessionKey: `mail-digest:${now.slice(0, 10)}`, // One session per day.
  };
};
export default mailDigest;

function describe(subject: string, thread: Mail[]): string {
  const { from = "unknown", snippet = "" } = thread.at(-1) ?? {};
  const count = thread.length > 1 ? ` (${thread.length} mails)` : "";
  return `- ${subject || "No subject"}${count}, ${from}: ${snippet.slice(0, 200)}`;
}
