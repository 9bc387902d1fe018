import { writeSync } from "node:fs";
import { encodeFrame, type Message, NO_BODY, type Report } from "../sandbox/protocol.ts";

const STDOUT = 1;
/** No answer waits longer than this for others to go with it, unless the next job takes longer. */
const HOLD_MS = 1;
/** Text in the box, in UTF-16 code units, from which on it is sent. */
export const FULL_LENGTH = 64 * 1024;

/** What a child has to report: collected, and written to standard output in one piece. */
export interface ReportBox {
  add(head: Report, text?: string): void;
  isEmpty(): boolean;
  /** True once it should be sent, though more will come. */
  isDue(): boolean;
  send(): void;
}

export function createReportBox(): ReportBox {
  let messages: Message<Report>[] = [];
  let length = 0;
  let since = 0;
  return {
    add(head, text = "") {
      if (messages.length === 0) since = performance.now();
      messages.push({ head, text, body: NO_BODY });
      length += text.length;
    },
    isEmpty: () => messages.length === 0,
    isDue: () => messages.length > 0 && (length >= FULL_LENGTH || performance.now() - since >= HOLD_MS),
    send() {
      if (messages.length > 0) writeAll(encodeFrame(messages));
      messages = [];
      length = 0;
    },
  };
}

/** Waits where the pipe is full: nothing is to be done before that is read. */
function writeAll(bytes: Buffer): void {
  for (let start = 0; start < bytes.length;) start += writeSync(STDOUT, bytes, start);
}
