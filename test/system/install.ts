/**
 * Installs Debian's Dovecot, fish, zsh, Prometheus, PostgreSQL, PgBouncer, cmark-gfm, bubblewrap and git for `npm run test:system`. Only the programs:
 * its services are not started, and its configuration in /etc is not used.
 */
import { execFileSync } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { messageOf } from "../../src/core/errors.ts";

const PROGRAMS = [
  "/usr/sbin/dovecot",
  "/usr/bin/doveadm",
  "/usr/lib/dovecot/imap",
  "/usr/bin/fish",
  "/usr/bin/zsh",
  "/usr/bin/prometheus",
  // With versions below it.
  "/usr/lib/postgresql",
  "/usr/sbin/pgbouncer",
  "/usr/bin/cmark-gfm",
  "/usr/bin/bwrap",
  "/usr/bin/git",
];
const PACKAGES = [
  "dovecot-imapd",
  "fish",
  "zsh",
  "prometheus",
  "postgresql",
  "pgbouncer",
  "cmark-gfm",
  "bubblewrap",
  "git",
];
/** Debian's packages run it before they start a service; exit code 101 forbids it. */
const POLICY = "/usr/sbin/policy-rc.d";
/** Another apt may be running, and a mirror may fail for a moment. */
const APT_OPTIONS = ["-o", "DPkg::Lock::Timeout=120", "-o", "Acquire::Retries=3"];

try {
  if (isMissing()) install();
} catch (error) {
  console.error(`The system tests need programs of Debian: ${messageOf(error)}`);
  process.exitCode = 1;
}

function isMissing(): boolean {
  return !PROGRAMS.every((program) => existsSync(program));
}

function install(): void {
  if (process.getuid?.() === 0) installPackage();
  else installAsRoot();
  if (isMissing()) throw new Error(`${PACKAGES.join(", ")} are installed, and yet some of their programs are missing.`);
}

function installAsRoot(): void {
  try {
    execFileSync("sudo", ["-n", process.execPath, path.resolve(import.meta.filename)], { stdio: "inherit" });
  } catch {
    throw new Error(`install ${PACKAGES.join(", ")}, or run this as root, or with a sudo that asks for no password.`);
  }
}

function installPackage(): void {
  if (!existsSync("/usr/bin/apt-get"))
    throw new Error(
      "there is no apt-get here: install Dovecot 2.3 with IMAP, fish, zsh, Prometheus, PostgreSQL, PgBouncer, cmark-gfm and bubblewrap.",
    );
  const isOurs = !existsSync(POLICY);
  if (isOurs) writeFileSync(POLICY, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    run("apt-get", "-qq", ...APT_OPTIONS, "update");
    run("apt-get", "-qq", ...APT_OPTIONS, "install", "--yes", "--no-install-recommends", ...PACKAGES);
    for (const service of ["dovecot", "prometheus", "postgresql", "pgbouncer"]) run("update-rc.d", service, "disable");
  } finally {
    if (isOurs) rmSync(POLICY);
  }
}

/** The output of a failed command is in the error. */
function run(program: string, ...args: string[]): void {
  // dpkg requires the folders of system programs in PATH.
  const PATH = `${process.env.PATH}:/usr/sbin:/sbin`;
  const env = { ...process.env, PATH, DEBIAN_FRONTEND: "noninteractive" };
  execFileSync(program, args, { env, stdio: ["ignore", "ignore", "pipe"] });
}
