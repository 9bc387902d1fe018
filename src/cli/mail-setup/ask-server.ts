import { isLoopback } from "../../config/is-loopback.ts";
import { findServer } from "../../mail/setup/find-server.ts";
import type { FoundServer } from "../../mail/setup/found-server.ts";
import { parseMailAddress } from "../../mail/setup/mail-address.ts";
import { findObstacle } from "../../mail/setup/providers.ts";
import type { Asker } from "./asker.ts";
import { isTaken } from "./is-taken.ts";
import { type Session, textOf } from "./session.ts";

const TLS = ["implicit", "starttls", "none"] as const;
type Tls = (typeof TLS)[number];
const PORTS: Record<Tls, number> = { implicit: 993, starttls: 143, none: 143 };

/** How a mailbox's server is reached, as `hooks.mail.source` says it. */
export interface ServerAnswer {
  host: string;
  tls: Tls;
  port: number;
  user: string;
}

/** Proposes the server that is written now, else the one that is found for the address, and asks what to take. */
export async function askServer({ asker, current }: Session, address: string): Promise<ServerAnswer> {
  const isKnown = asker.flags.host !== undefined || current["host"] !== undefined;
  const found = isKnown ? undefined : await find(asker, address);
  const message = found || isKnown ? "Server" : `Server (none was found for ${address})`;
  const proposed: Partial<ServerAnswer> = found ?? toProposal(current);
  if (found && (await isTaken(asker, found))) {
    const { host, tls, port, user } = found;
    return { host, tls, port, user: await askUser(asker, user) };
  }

  const host = await asker.text({
    flag: "host",
    message,
    initial: proposed.host,
    check: checkHost,
  });
  const same = host === proposed.host ? proposed : {};
  const tls = await askTls(asker, host, same.tls);
  const port = await asker.text({
    flag: "port",
    message: "Port",
    initial: String((tls === same.tls ? same.port : undefined) ?? PORTS[tls]),
    check: checkPort,
  });
  return { host, tls, port: Number(port), user: await askUser(asker, proposed.user ?? address) };
}

/** The address as the configuration needs to say it: without what holds anyhow, unless it stands there. */
export function toWritten({ host, tls, port, user }: ServerAnswer, current: Session["current"]): object {
  const isUsual = port === PORTS[tls] && current["port"] === undefined;
  const isImplicit = tls === "implicit" && current["tls"] === undefined;
  return { host, port: isUsual ? undefined : port, tls: isImplicit ? undefined : tls, user };
}

async function find(asker: Asker, address: string): Promise<FoundServer | undefined> {
  const parsed = parseMailAddress(address);
  if (!parsed) return undefined;
  const obstacle = findObstacle(parsed);
  if (obstacle) asker.person?.warn(obstacle);
  const looking = `Looking for the mail server of ${parsed.domain}`;
  const found = await asker.during(looking, () => findServer(parsed));
  if (found)
    asker.person?.note(`${found.host}, port ${found.port}: from ${found.origin}. ${found.hint ?? ""}`.trim());
  return found;
}

function toProposal(current: Session["current"]): Partial<ServerAnswer> {
  const tls = TLS.find((how) => how === (current["tls"] ?? "implicit")) ?? "implicit";
  return {
    host: textOf(current, "host"),
    tls,
    port: Number(textOf(current, "port") ?? PORTS[tls]),
    user: textOf(current, "user"),
  };
}

function askTls(asker: Asker, host: string, initial: Tls = "implicit"): Promise<Tls> {
  const choices = [
    { value: "implicit" as const, label: "TLS from the first byte" },
    { value: "starttls" as const, label: "STARTTLS" },
    { value: "none" as const, label: "None" },
  ];
  const possible = choices.filter(({ value }) => value !== "none" || isLoopback(host));
  return asker.choose<Tls>({ flag: "tls", message: "Encryption", choices: possible, initial });
}

function askUser(asker: Asker, initial: string): Promise<string> {
  return asker.text({ flag: "user", message: "Login name", initial });
}

function checkHost(answer: string): string | undefined {
  return /^[\w.:-]{1,253}$/.test(answer)
    ? undefined
    : "expected the name of a server, such as imap.example.com";
}

function checkPort(answer: string): string | undefined {
  const port = Number(answer);
  return /^\d+$/.test(answer) && port >= 1 && port <= 65_535
    ? undefined
    : "a port is a whole number from 1 to 65535";
}
