import { describeDown, describeRefusal, describeRestarts } from "../core/dispatch/alert-texts.ts";
import { type Alerts, createAlerts } from "../core/dispatch/alerts.ts";
import { createDispatcher, type Dispatcher } from "../core/dispatch/dispatcher.ts";
import type { EventRecord } from "../core/journal/journal.ts";
import { createSweeper, type Sweeper } from "../core/journal/sweeper.ts";
import { createMailService, type MailService } from "../mail/watch/service.ts";
import type { MailStatus } from "../core/ports/mail-status.ts";
import { isDown } from "../mail/watch/status.ts";
import { toRequestContext } from "../core/mapping/item/mapping-run.ts";
import { withMail } from "../core/mapping/resolve-request.ts";
import { toStoredRequest } from "../core/ingress/hook-request.ts";
import { describeNode, toMailView, toRuntimeView } from "../operator/status.ts";
import { createHealth, type Health } from "./health.ts";
import { createReloader, type ReloadCause, type Reloader } from "./runtime/reload.ts";
import type { Runtime } from "../core/ports/runtime.ts";
import { createMailStores } from "./stores.ts";
import type { Parts } from "./parts.ts";

/**
 * The parts that work without a request: the dispatcher, the alerts, the sweeper, and the watches of mailboxes and of
 * files.
 */
export interface Execution {
  dispatcher: Dispatcher;
  alerts: Alerts;
  health: Health;
  sweeper: Sweeper;
  mail: MailService;
  reloader: Reloader;
}

export interface ExecutionOptions {
  /** Reload when a file changes. */
  watch: boolean;
  /** Takes a mail as a request. */
  send(request: Request): Promise<Response>;
  /** Called with each runtime that is now in use. */
  replaced(runtime: Runtime): void;
}

export function createExecution(parts: Parts, { watch, send, replaced }: ExecutionOptions): Execution {
  const { journal, current, telemetry, stream } = parts;
  const { log } = telemetry;
  const told = createAlerts({ journal, current, log });
  const health = createHealth({ journal, log, tools: () => current().tools });
  const alerts: Alerts = {
    ...told,
    raise(alert) {
      health.ill(alert);
      told.raise(alert);
    },
  };
  const reloader = createReloader({
    current,
    build: parts.build,
    watch,
    replaced(runtime, cause) {
      parts.replace(runtime);
      replaced(runtime);
      showReload(cause);
    },
    refused({ problems }, cause) {
      showReload(cause);
      alerts.raise({ kind: "reload-failed", text: describeRefusal(problems) });
    },
    telemetry,
  });
  return {
    alerts,
    health,
    reloader,
    dispatcher: createDispatcher({
      journal,
      current,
      describeNode: () => describeNode(current().config, parts.startedAt),
      telemetry,
      readEvent: async (id) => readEvent(parts, await journal.getEvent(id)),
      restarting: (times) => alerts.raise({ kind: "restarting", text: describeRestarts(times) }),
    }),
    sweeper: createSweeper({
      journal,
      retention: () => ({ ...current().config.store.retention, dedupeWindowMs: current().config.hooks.dedupeWindowMs }),
      log,
    }),
    mail: createMailService({
      openStore: createMailStores(parts.store, journal, telemetry.log),
      send,
      telemetry,
      changed: showMailbox,
    }),
  };

  function showReload(cause: ReloadCause): void {
    stream.publish("reload", "", () => ({ ...toRuntimeView(current(), reloader.lastFailure()), ...cause }));
  }

  function showMailbox(mailbox: MailStatus): void {
    stream.publish("mailbox", mailbox.name, () => toMailView(mailbox));
    if (mailbox.state === "watching") health.well(`mailbox:${mailbox.name}`);
    if (isDown(mailbox)) alerts.raise({ kind: "mailbox-down", subject: mailbox.name, text: describeDown(mailbox) });
  }
}

/** A stored event as templates see it; empty if its body was not stored. */
export async function readEvent({ findParser, current }: Parts, event: EventRecord | undefined): Promise<object> {
  if (!event || event.request.body.length === 0) return {};
  const request = await toStoredRequest(event, findParser);
  const { config, readMail } = current();
  const { mapping = {} } = config.hooks.mappings.find(({ id }) => id === event.mapping) ?? {};
  return toRequestContext(await withMail(request, mapping, readMail));
}
