import type { JSX } from "preact";
import { MESSAGE_WORDS, TURN_WORDS } from "../../../core/shared/words.ts";
import type { DeliveryView, RunView } from "../api-client.ts";
import { cancelRun, isAsking, isReleasable, isUnfinished, releaseRuns } from "../parts/actions.tsx";
import { State, Time } from "../parts/controls.tsx";
import { formatCost, formatMs, formatNumber, toLine } from "../parts/format.ts";
import { SessionLink } from "../parts/conversation.tsx";
import { Page, useCall } from "../parts/load.tsx";
import { Chosen, EventLink, PAGE_SIZE, ResultText, StateFilter, Table } from "../parts/table.tsx";
import { TimeFilter } from "../parts/times.tsx";
import { hrefTo, route } from "../router.ts";

export function Runs(): JSX.Element {
  const { state, before, hook, session, from, to } = route.value.query;
  const page = { from, to, state, before, hook, session, limit: PAGE_SIZE };
  const loaded = useCall("GET /api/runs", page);
  const intro = (
    <>
      <StateFilter states={TURN_WORDS} />
      <p class="filters-line">
        <TimeFilter />
      </p>
      <Chosen names={["hook", "session"]} />
      {state === "held" && (
        <p class="actions">
          <button
            onClick={() =>
              void releaseRuns(
                { session },
                session === undefined ? "All held turns" : "The held turn of this session",
              ).then(loaded.reload)
            }
          >
            Release {session === undefined ? "all held turns" : "this session"}
          </button>
        </p>
      )}
    </>
  );
  return (
    <Page title="Runs" intro={intro} from={loaded}>
      {({ runs }) => (
        <Table
          label="Runs"
          items={runs}
          keyOf={({ id }) => id}
          isPaged
          empty={<p>No run matches this filter.</p>}
          columns={[
            { name: "Created", show: ({ createdAt }) => <Time at={createdAt} /> },
            { name: "State", show: (run) => <State state={run.state} /> },
            { name: "Hook", show: (run) => <EventLink row={run}>{toLine(run.hook ?? run.kind, 60)}</EventLink> },
            { name: "Session", show: ({ sessionKey }) => <SessionLink sessionKey={sessionKey} /> },
            { name: "Result", kind: "wide", show: (run) => <Result run={run} /> },
            { name: "Duration", kind: "number", show: tookOf },
            { name: "Attempts", kind: "number", show: ({ attempts }) => attempts },
            { name: "Tokens", kind: "number", show: (run) => formatNumber(tokensOf(run) || undefined) },
            { name: "Cost", kind: "number", show: ({ cost }) => formatCost(cost) },
            { name: "Actions", show: (run) => <RunActions run={run} reload={loaded.reload} /> },
          ]}
        />
      )}
    </Page>
  );
}

/** The reply, why it failed, or what it waits for. */
function Result({ run }: { run: RunView }): JSX.Element {
  const { reply, error, holdReason, waitsFor, waitingFor } = run;
  if (holdReason !== undefined) {
    return (
      <span class="warn">
        {toLine(holdReason, 120)} {isAsking(run) && <a href={hrefTo(["approvals"])}>Decide</a>}
      </span>
    );
  }
  if (waitsFor) {
    const { kind, mapping, eventId } = waitsFor;
    const what =
      kind === "held"
        ? "behind a held turn"
        : kind === "turn"
          ? "for another turn of its session"
          : `: the mapping ${mapping} is paused`;
    return (
      <span class="warn">
        waits{kind === "paused" ? "" : " "}
        {eventId === undefined ? toLine(what) : <a href={hrefTo(["events", eventId])}>{toLine(what)}</a>}
      </span>
    );
  }
  if (waitingFor !== undefined)
    return (
      <span class="warn">
        waits for {toLine(waitingFor, 40)}: {toLine(error, 120)}
      </span>
    );
  return <ResultText reply={reply} error={error} />;
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

export function Deliveries(): JSX.Element {
  const { state, before, channel, from, to } = route.value.query;
  const page = { from, to, state, before, channel, limit: PAGE_SIZE };
  const loaded = useCall("GET /api/deliveries", page);
  const intro = (
    <>
      <StateFilter states={MESSAGE_WORDS} />
      <p class="filters-line">
        <TimeFilter />
      </p>
      <Chosen names={["channel"]} />
    </>
  );
  return (
    <Page title="Deliveries" intro={intro} from={loaded}>
      {({ deliveries }) => (
        <Table
          label="Deliveries"
          items={deliveries}
          keyOf={({ id }) => id}
          isPaged
          empty={<p>No delivery matches this filter.</p>}
          columns={[
            { name: "Created", show: ({ createdAt }) => <Time at={createdAt} /> },
            { name: "State", show: (delivery) => <State state={delivery.state} /> },
            { name: "To", show: (delivery) => <EventLink row={delivery}>{placeOf(delivery)}</EventLink> },
            { name: "Text", kind: "wide", show: ({ text, error }) => <ResultText reply={text} error={error} /> },
            { name: "Attempts", kind: "number", show: ({ attempts }) => attempts },
            { name: "Sent", show: ({ sentAt }) => <Time at={sentAt} /> },
          ]}
        />
      )}
    </Page>
  );
}

const placeOf = ({ channel, to, route: found }: DeliveryView): string =>
  `${found?.channel ?? channel} ${toLine(found?.to ?? to, 60)}`;
