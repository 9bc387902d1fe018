import { packageVersion } from "../config/package.ts";
import { readConfig } from "../config/read-config.ts";
import type { ResolvedConfig } from "../config/resolved.ts";
import { ConfigError } from "../errors.ts";
import type { MailSource } from "../mail/port.ts";
import { createMailSource } from "../mail/registry.ts";
import { openMailStore } from "../mail/store/open-mail-store.ts";
import type { MailStore } from "../mail/store/port.ts";
import { createMailWatch } from "../mail/watch/mail-watch.ts";
import { createMailPost } from "../mail/watch/post.ts";
import { silentLog } from "../telemetry/log.ts";
import { locateConfig } from "./locate.ts";
import type { ServiceFlags } from "./operator-client.ts";
import { createMailPrinter } from "./print-mail.ts";
import { serviceAddress } from "./service-address.ts";
import { stopOnSignal } from "./stop-on-signal.ts";

export interface MailRunFlags extends ServiceFlags {
  json: boolean;
}

/**
 * Watches the mailbox and posts to the running service until SIGTERM or SIGINT, then finishes what is in flight and exits 0; a
 * second signal exits at once. Rejects with a `ConfigError` where there is no mailbox, or another process watches it.
 */
export async function runMail(flags: MailRunFlags): Promise<void> {
  const { config, problems } = await readConfig(locateConfig(flags.config), process.env);
  if (problems.length > 0) throw new ConfigError(problems);
  const source = await requireSource(config);
  const store = requireStore(config, source);

  const { hooks, gateway } = config;
  const url = `${flags.url ?? serviceAddress(gateway)}${hooks.path}/mail`;
  const printer = createMailPrinter({ json: flags.json });
  const watch = createMailWatch({
    source,
    settings: hooks.mail,
    store,
    post: createMailPost({ send: fetch, target: () => ({ url, token: hooks.token }) }),
    maxBodyBytes: () => hooks.maxBodyBytes,
    // A person looks on: what the log would say is printed.
    log: silentLog,
    onMail: printer.mail,
    onChange: printer.change,
  });
  stopOnSignal(watch);
  printer.start(`Hookline ${packageVersion()} posts ${source.mailbox} to ${url}`);
  watch.start();
}

async function requireSource({ file, hooks, plugged }: ResolvedConfig): Promise<MailSource> {
  const source = await createMailSource(hooks.mail.source, plugged.mailSource);
  if (source) return source;
  const message = "There is no mailbox to watch: run `webhooks mail setup`.";
  throw new ConfigError([{ message, file, key: "hooks.mail.source" }]);
}

function requireStore({ file, store: { path } }: ResolvedConfig, { mailbox }: MailSource): MailStore {
  const store = openMailStore({ folder: path, mailbox });
  if (store) return store;
  const message =
    `${mailbox} is watched already: by another \`webhooks mail run\`, or by \`webhooks serve\`, ` +
    "which does so itself unless hooks.mail.autoStart is false.";
  throw new ConfigError([{ message, file, key: "hooks.mail" }]);
}
