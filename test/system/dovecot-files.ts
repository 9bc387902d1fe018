import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { findFreePort } from "./find-free-port.ts";

/** The files of a Dovecot: configuration, users, certificate, mails. */
export interface DovecotFiles {
  root: string;
  imapPort: number;
  imapsPort: number;
  users: string[];
  /** The user that reads and writes the mails. */
  owner: { uid: number; gid: number };
  /** Absolute paths. */
  config: string;
  certificate: string;
}

/** Creates a temporary folder with everything that the server reads and writes. */
export async function makeDovecotFiles(users: string[]): Promise<DovecotFiles> {
  const root = mkdtempSync(path.join(tmpdir(), "hookline-dovecot-"));
  const files: DovecotFiles = {
    root,
    imapPort: await findFreePort(),
    imapsPort: await findFreePort(),
    users,
    owner: isRoot() ? MAIL_USER : { uid: process.getuid!(), gid: process.getgid!() },
    config: path.join(root, "dovecot.conf"),
    certificate: path.join(root, "certificate.pem"),
  };
  // The server's processes do not run as root.
  chmodSync(root, 0o755);
  mkdirSync(path.join(root, "mail"));
  chownSync(path.join(root, "mail"), files.owner.uid, files.owner.gid);
  writeCertificate(files);
  writeUsers(files, new Set());
  writeFileSync(files.config, toConfig(files));
  return files;
}

/** Writes the user file. Users in `refused` get another password than that of `passwordOf`. */
export function writeUsers({ root, users }: DovecotFiles, refused: ReadonlySet<string>): void {
  const lines = users.map((user) => `${user}:${passwordOf(user)}${refused.has(user) ? ", changed" : ""}\n`);
  writeFileSync(path.join(root, "users"), lines.join(""));
}

export function passwordOf(user: string): string {
  return `password of ${user}`;
}

/** Debian's user for mail files: Dovecot refuses to read them as root. */
const MAIL_USER = { uid: 8, gid: 8 };

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** A self-signed certificate for the loopback address, valid for two days. */
function writeCertificate({ root, certificate }: DovecotFiles): void {
  const keyKind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"];
  const output = ["-keyout", path.join(root, "key.pem"), "-out", certificate];
  execFileSync("openssl", ["req", "-x509", ...keyKind, ...names, ...output], { stdio: "pipe" });
}

function toConfig({ root, imapPort, imapsPort, owner, certificate }: DovecotFiles): string {
  return `
protocols = imap
listen = 127.0.0.1
base_dir = ${root}/run
state_dir = ${root}/run
log_path = ${root}/dovecot.log

ssl = yes
ssl_cert = <${certificate}
ssl_key = <${root}/key.pem
disable_plaintext_auth = no
auth_mechanisms = plain login
auth_failure_delay = 0
mail_max_userip_connections = 100

passdb {
  driver = passwd-file
  args = scheme=PLAIN username_format=%u ${root}/users
}
userdb {
  driver = static
  args = uid=${owner.uid} gid=${owner.gid} home=${root}/mail/%u
}
first_valid_uid = ${owner.uid}
mail_location = maildir:~/Maildir

namespace inbox {
  inbox = yes
  mailbox Junk {
    special_use = \\Junk
  }
  mailbox Trash {
    special_use = \\Trash
  }
  mailbox Drafts {
    special_use = \\Drafts
  }
}

# without this, who was refused is made to wait longer each time
service anvil {
  unix_listener anvil-auth-penalty {
    mode = 0
  }
}

service imap-login {
  inet_listener imap {
    port = ${imapPort}
  }
  inet_listener imaps {
    port = ${imapsPort}
  }
}
${isRoot() ? "" : withoutRoot()}`;
}

/** All processes run as the current user and without chroot. */
function withoutRoot(): string {
  const user = execFileSync("id", ["-un"], { encoding: "utf8" }).trim();
  const group = execFileSync("id", ["-gn"], { encoding: "utf8" }).trim();
  return `
default_internal_user = ${user}
default_internal_group = ${group}
default_login_user = ${user}
service anvil {
  chroot =
}
service imap-login {
  chroot =
}
`;
}
