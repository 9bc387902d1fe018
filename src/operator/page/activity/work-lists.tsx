import type { JSX } from "preact";
import { describeWait } from "../../../core/shared/run-wait.ts";
import type { DeliveryView, RunView } from "../api-client.ts";
import { cancelRun, isAsking, isReleasable, isUnfinished, releaseRuns } from "../parts/actions.tsx";
import { State, Time } from "../parts/controls.tsx";
import { SessionLink } from "../parts/conversation.tsx";
import { formatCost, formatMs, formatNumber, toLine } from "../parts/format.ts";
import { Loading, useCall } from "../parts/load.tsx";
import { EventLink, PAGE_SIZE, Table } from "../parts/table.tsx";
import { hrefTo, route } from "../router.ts";
import type { Filter } from "../row.ts";

/** Agent turns under a filter. */
export function Turns({
  filter: { from, to, status: state, hook, mapping, session, group },
}: {
  filter: Filter;
}): JSX.Element {
  const { before } = route.value.query;
  const loaded = useCall("GET /api/runs", { from, to, state, hook, mapping, session, group, before, limit: PAGE_SIZE });
  return (
    <Loading from={loaded}>
      {({ runs }) => (
        <Table
          label="Turns"
          items={runs}
          keyOf={({ id }) => id}
          isPaged
          empty={<p>No turn matches this filter.</p>}
          columns={[
            { name: "Subject", kind: "wide", show: (run) => <EventLink row={run}>{subjectOf(run)}</EventLink> },
            { name: "Created", show: ({ createdAt }) => <Time at={createdAt} /> },
            { name: "State", show: (run) => <State state={run.state} /> },
            { name: "Result", kind: "wide", show: (run) => <Result run={run} /> },
            { name: "Session", show: ({ sessionKey }) => <SessionLink sessionKey={sessionKey} /> },
            { name: "Took", kind: "number", show: tookOf },
            { name: "Tokens", kind: "number", show: (run) => formatNumber(tokensOf(run) || undefined) },
            { name: "Cost", kind: "number", show: ({ cost }) => formatCost(cost) },
            { name: "Actions", show: (run) => <RunActions run={run} reload={loaded.reload} /> },
          ]}
        />
      )}
    </Loading>
  );
}

const subjectOf = ({ subject, hook, kind, mapping }: RunView): string =>
  toLine(`${mapping ?? hook ?? kind}${subject === undefined ? "" : `: ${subject}`}`, 200);

/** The reply, why it failed, or what it waits for. */
function Result({ run }: { run: RunView }): JSX.Element {
  const { reply, error, holdReason, waitsFor, waitingFor, approvalId } = run;
  if (holdReason !== undefined) {
    return (
      <span class="warn">
        {toLine(holdReason, 120)} {isAsking(run) && <a href={hrefTo(["inbox", approvalId ?? ""])}>Decide</a>}
      </span>
    );
  }
  if (waitsFor) {
    const words = toLine(describeWait(waitsFor), 160);
    const { eventId } = waitsFor;
    return (
      <span class="warn">{eventId === undefined ? words : <a href={hrefTo(["events", eventId])}>{words}</a>}</span>
    );
  }
  if (waitingFor !== undefined)
    return (
      <span class="warn">
        waits for {toLine(waitingFor, 40)}: {toLine(error, 120)}
      </span>
    );
  return <span class={error === undefined ? undefined : "bad"}>{toLine(error ?? reply, 200)}</span>;
}

function RunActions({ run, reload }: { run: RunView; reload(): void }): JSX.Element | null {
  if (!isUnfinished(run)) return null;
  const label = `the turn of ${toLine(run.sessionKey, 40)}`;
  return (
    <span class="row-actions">
      {isReleasable(run) && (
        <button
          aria-label={`Release ${label}`}
          onClick={() => void releaseRuns({ run: run.id }, "This turn").then(reload)}
        >
          Release
        </button>
      )}
      <button aria-label={`Cancel ${label}`} onClick={() => void cancelRun(run).then(reload)}>
        Cancel
      </button>
    </span>
  );
}

function tookOf({ startedAt, finishedAt }: RunView): string {
  return startedAt && finishedAt ? formatMs(Date.parse(finishedAt) - Date.parse(startedAt)) : "";
}

const tokensOf = ({ usage }: RunView): number => (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0);

/** Messages of agents under a filter. */
export function Messages({
  filter: { from, to, status: state, channel, hook, group },
}: {
  filter: Filter;
}): JSX.Element {
  const { before } = route.value.query;
  const loaded = useCall("GET /api/deliveries", { from, to, state, channel, hook, group, before, limit: PAGE_SIZE });
  return (
    <Loading from={loaded}>
      {({ deliveries }) => (
        <Table
          label="Messages"
          items={deliveries}
          keyOf={({ id }) => id}
          isPaged
          empty={<p>No message matches this filter.</p>}
          columns={[
            { name: "Text", kind: "wide", show: (one) => <EventLink row={one}>{toLine(one.text, 200)}</EventLink> },
            { name: "Created", show: ({ createdAt }) => <Time at={createdAt} /> },
            { name: "State", show: ({ state: word }) => <State state={word} /> },
            { name: "To", show: placeOf },
            { name: "Error", kind: "wide", show: ({ error }) => <span class="bad">{toLine(error, 200)}</span> },
            { name: "Attempts", kind: "number", show: ({ attempts }) => attempts },
            { name: "Sent", show: ({ sentAt }) => <Time at={sentAt} /> },
          ]}
        />
      )}
    </Loading>
  );
}

const placeOf = ({ channel, to, route: found }: DeliveryView): string =>
  `${found?.channel ?? channel} ${toLine(found?.to ?? to, 60)}`;
