import { toCanceledSummary } from "../core/actions/main-session.ts";
import { readBudget } from "../core/dispatch/hold.ts";
import { HookError, messageOf } from "../core/errors.ts";
import { toOneLine } from "../core/shared/text/text.ts";
import { resolveRequest } from "../core/mapping/resolve-request.ts";
import { createState, type RequestState } from "../core/mapping/state.ts";
import { runDiff } from "../operator/diff.ts";
import { runTrial } from "../operator/trial.ts";
import type { Operations } from "../operator/http/services.ts";
import { toMailView, toNodesView, toRuntimeView, toScheduleViews } from "../operator/status.ts";
import type { Runtime } from "../core/ports/runtime.ts";
import { createDrafts } from "./runtime/draft.ts";
import { packageVersion } from "../core/shared/system/package.ts";
import type { Execution } from "./execution.ts";
import type { Parts } from "./parts.ts";

/** How long a server of tools may take. */
const TRY_MS = 15_000;

/** `execution`: it is made later. */
export function createOperations(parts: Parts, execution: () => Execution): Operations {
  const { current, journal, sandbox, findParser, isOwn } = parts;
  const drafts = createDrafts(sandbox);
  let diffing = false;

  return {
    async status() {
      const { dispatcher, mail, reloader } = execution();
      return {
        version: packageVersion(),
        startedAt: parts.startedAt,
        ...toRuntimeView(current(), reloader.lastFailure()),
        sandbox: sandbox.status(current().mappings.mappings.flatMap(({ bundle }) => bundle ?? [])),
        queue: { ...(await journal.stats()), ...dispatcher.status() },
        budget: await readBudget(journal, current().config.agents),
        schedules: toScheduleViews(current().config, Date.now()),
        mail: mail.status().map(toMailView),
        ...toNodesView(await journal.nodes()),
      };
    },
    async reload() {
      await execution().reloader.reload("POST /api/reload");
      const { config } = toRuntimeView(current(), undefined);
      return { config };
    },
    tryHook(body) {
      const runtime = current();
      return runTrial(body, runtime, {
        resolve: resolveWith(runtime),
        buildDraft: (draft) => drafts.build(runtime, draft),
      });
    },
    async diff(body) {
      if (diffing) throw new HookError("overloaded", { message: "Another diff is running." });
      const runtime = current();
      diffing = true;
      return runDiff(body, {
        journal,
        findParser,
        mappings: runtime.mappings,
        resolve: resolveWith(runtime),
        buildAll: (change) => drafts.buildAll(runtime, change),
      }).finally(() => (diffing = false));
    },
    async cancel(runId) {
      const run = await journal.getRun(runId);
      if (!run?.action) return false;
      const finishedAt = Date.now();
      const entries = [toCanceledSummary({ ...run, action: run.action }, finishedAt)];
      if (!(await journal.cancelRun(runId, { finishedAt, error: "canceled", entries })))
        throw new HookError("run_ended");
      return true;
    },
    async tryTools(name) {
      const set = current().tools.sets.get(name);
      if (!set) return undefined;
      try {
        await set.discover?.(AbortSignal.timeout(TRY_MS));
      } catch (error) {
        throw new HookError("sender_refused", { message: toOneLine(messageOf(error)), cause: error });
      }
      execution().health.well(`tools:${name}`);
      return true;
    },
    tryMailbox: (name) => execution().mail.retry(name),
    async requireReady() {
      await journal.probe();
      if (!sandbox.status().ready) throw new Error("the sandbox is not ready");
      execution().mail.assertReady();
    },
  };

  /** The state for a trial, which reads it and changes nothing. */
  function openState(name: string): RequestState {
    return createState({ name, readState: journal.readState });
  }

  function resolveWith(runtime: Runtime): Parameters<typeof runDiff>[1]["resolve"] {
    return (request, mappings) => resolveRequest(request, { ...runtime, mappings, run: sandbox.run, isOwn, openState });
  }
}
