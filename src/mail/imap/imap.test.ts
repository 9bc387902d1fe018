import { describe, test } from "vitest";
import type { Mailbox } from "../../config/generated.ts";
import { describeMailSource, type MailSourceUnderTest } from "../../contracts/describe-mail-source.ts";
import { startImapServer } from "../../../test/support/imap-server.ts";
import { createImap } from "./imap.ts";

describeMailSource({ describe, test }, "imap", open);

async function open(): Promise<MailSourceUnderTest> {
  const server = await startImapServer();
  const source: Mailbox = {
    kind: "imap",
    host: server.host,
    port: server.port,
    tls: "none",
    user: server.user,
    password: server.password,
  };
  return {
    source: createImap({ source }),
    refused: createImap({ source: { ...source, password: "wrong" } }),
    missing: createImap({ source: { ...source, folders: ["Nowhere"] } }),
    unreachable: createImap({ source: { ...source, port: 1 } }),
    deliver: async (mail, receivedAt) => void server.append("INBOX", mail, { receivedAt }),
    cut: async () => server.dropConnections(),
    forgetPositions: async () => server.newUidValidity("INBOX"),
    close: () => server.close(),
  };
}
