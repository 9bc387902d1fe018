import type { AddressInfo } from "node:net";
import PostalMime, { type Email } from "postal-mime";
import { SMTPServer } from "smtp-server";
import { CERTIFICATE } from "./certificate.ts";
import type { Fault } from "../../src/contracts/fault-proxy.ts";

export interface SmtpServer {
  /** For `channels.email`. */
  host: string;
  port: number;
  user: string;
  password: string;
  /** Logins by access token so far. */
  tokens(): string[];
  /** An address that accepts mails; every other one is refused with 550. */
  recipient: string;
  /** The mails so far, oldest first: as they were sent, and as another program reads them. */
  raw(): string[];
  mails(): Promise<Email[]>;
  /** Makes the next recipients fail: `status` is the reply's code. */
  inject(fault: Fault | undefined): void;
  /** How many recipients were named. */
  recipientCount(): number;
  close(): Promise<void>;
}

export interface SmtpOptions {
  tls?: "implicit" | "starttls" | "none";
  /** The access tokens that it takes. */
  accessTokens?: string[];
  /** Refuses a login with these words. */
  refuseLogin?: string;
}

const USER = "agent@example.org";
const PASSWORD = "smtp-test-password";
const RECIPIENT = "ada@example.com";

/** Starts the mail server of the npm package `smtp-server` on a free loopback port, which requires a login. */
export async function startSmtp({
  tls = "none",
  accessTokens = [],
  refuseLogin,
}: SmtpOptions = {}): Promise<SmtpServer> {
  const raw: string[] = [];
  const tokens: string[] = [];
  let recipients = 0;
  let fault: Fault | undefined;
  const server = new SMTPServer({
    secure: tls === "implicit",
    ...CERTIFICATE,
    disabledCommands: tls === "none" ? ["STARTTLS"] : [],
    allowInsecureAuth: true,
    logger: false,
    closeTimeout: 10,
    authMethods: ["PLAIN", "LOGIN", "XOAUTH2"],
    onAuth: ({ username, password, accessToken }, _, callback) => {
      if (accessToken !== undefined) tokens.push(accessToken);
      if (refuseLogin !== undefined) callback(refusal(535, refuseLogin));
      else if (accessToken !== undefined && accessTokens.includes(accessToken)) callback(null, { user: username });
      else if (username === USER && password === PASSWORD) callback(null, { user: USER });
      else callback(refusal(535, `5.7.8 Invalid login ${password}`));
    },
    onRcptTo: ({ address }, _, callback) => {
      recipients += 1;
      if (fault?.kind === "hang") return;
      if (fault?.kind === "cut") {
        for (const connection of server.connections) connection._socket?.destroy();
      } else if (fault) callback(refusal(fault.status, fault.body ?? "Try again"));
      else callback(address === RECIPIENT ? null : refusal(550, "5.1.1 No such user"));
    },
    onData: async (stream, _, callback) => {
      const chunks: Buffer[] = [];
      for await (const chunk of stream) chunks.push(chunk);
      raw.push(Buffer.concat(chunks).toString());
      callback(null, "queued");
    },
  });
  // A client that trusts nobody, for example.
  server.on("error", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.server.address() as AddressInfo;
  return {
    host: tls === "none" ? "127.0.0.1" : "localhost",
    port,
    user: USER,
    password: PASSWORD,
    recipient: RECIPIENT,
    tokens: () => [...tokens],
    raw: () => [...raw],
    mails: () => Promise.all(raw.map((mail) => PostalMime.parse(mail))),
    inject: (next) => void (fault = next),
    recipientCount: () => recipients,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function refusal(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode });
}
