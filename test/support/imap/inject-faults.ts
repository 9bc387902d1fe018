import { createRequire } from "node:module";
import type { Connection, FetchHandler, FetchItem, Hoodiecrow, Message } from "./hoodiecrow.ts";

const require = createRequire(import.meta.url);
const FETCH = require("hoodiecrow-imap/lib/commands/handlers/fetch.js") as Record<string, FetchHandler>;

/** The fault when a mail is fetched. */
type Fault = { kind: "cut"; times: number } | { kind: "fail" } | { kind: "hide" } | { kind: "nil"; items: RegExp };

/** Returns the map of faulty mails, to which a test adds. */
export function injectFaults(server: Hoodiecrow): Map<Message, Fault> {
  const faults = new Map<Message, Fault>();
  for (const [name, answer] of Object.entries(FETCH)) {
    server.fetchHandlers[name] = (connection, message, item) => {
      const fault = faults.get(message);
      if (fault?.kind === "nil")
        return fault.items.test(describe(name, item)) ? null : answer(connection, message, item);
      if (fault && (fault.kind === "hide" || isText(name, item))) inject(fault, connection, message);
      // The handler empties the range of bytes: the next mail would get none.
      const own = { ...item, ...(item.partial && { partial: [...item.partial] }) };
      return answer(connection, message, own);
    };
  }
  return faults;
}

/** `BODY[HEADER]` */
function describe(name: string, { section }: FetchItem): string {
  return section ? `${name.replace(".PEEK", "")}[${section.map(({ value }) => value).join(" ")}]` : name;
}

function isText(name: string, { section }: FetchItem): boolean {
  return /^BODY(\.PEEK)?$/.test(name) && section !== undefined && !/^HEADER/i.test(section[0]?.value ?? "");
}

function inject(fault: Fault, { socket }: Connection, { uid, raw }: Message): void {
  if (fault.kind === "cut") {
    if (fault.times <= 0) return;
    fault.times -= 1;
    socket?.write(`* 1 FETCH (UID ${uid} BODY[] {${raw.length}}\r\nFrom: `);
    socket?.destroySoon();
  }
  throw new Error("This mail cannot be read.");
}
