import type { JSX } from "preact";
import type { DeliveryView, RunView } from "../api-client.ts";
import { isAsking, RunActions } from "../parts/actions.tsx";
import { State, Time } from "../parts/controls.tsx";
import { SessionLink, Wait } from "../parts/conversation.tsx";
import { formatCost, formatMs, formatNumber, toLine } from "../parts/format.ts";
import { useCall } from "../parts/load.tsx";
import { EventLink, List, PAGE_SIZE } from "../parts/table.tsx";
import { hrefTo, route } from "../router.ts";
import type { Filter } from "../row.ts";

/** Agent turns under a filter. */
export function Turns({ filter }: { filter: Filter }): JSX.Element {
  const { from, to, status: state, hook, mapping, session, group } = filter;
  const page = { from, to, before: route.value.query["before"], limit: PAGE_SIZE };
  return (
    <List
      from={useCall("GET /api/runs", { ...page, state, hook, mapping, session, group })}
      label="Turns"
      itemsOf={({ runs }) => runs}
      keyOf={({ id }) => id}
      isPaged
      empty={<p>No turn matches this filter.</p>}
      columns={[
        ["Subject", (run) => <EventLink row={run}>{subjectOf(run)}</EventLink>, "wide"],
        ["Created", ({ createdAt }) => <Time at={createdAt} />],
        ["State", (run) => <State state={run.state} />],
        ["Result", (run) => <Result run={run} />, "wide"],
        ["Session", ({ sessionKey }) => <SessionLink sessionKey={sessionKey} />],
        ["Took", tookOf, "number"],
        ["Tokens", (run) => formatNumber(tokensOf(run) || undefined), "number"],
        ["Cost", ({ cost }) => formatCost(cost), "number"],
        ["Actions", (run) => <RunActions run={run} />],
      ]}
    />
  );
}

const subjectOf = ({ subject, hook, kind, mapping }: RunView): string =>
  toLine(`${mapping ?? hook ?? kind}${subject === undefined ? "" : `: ${subject}`}`, 200);

/** The reply, why it failed, or what it waits for. */
function Result({ run }: { run: RunView }): JSX.Element {
  const { reply, error, holdReason, waitsFor, waitingFor, approvalId } = run;
  if (waitsFor) return <Wait wait={waitsFor} />;
  const wait = holdReason ?? (waitingFor && `waits for ${waitingFor}: ${error ?? ""}`);
  if (wait !== undefined)
    return (
      <span class="warn">
        {toLine(wait, 160)} {isAsking(run) && <a href={hrefTo(["inbox", approvalId ?? ""])}>Decide</a>}
      </span>
    );
  return <span class={error === undefined ? undefined : "bad"}>{toLine(error ?? reply, 200)}</span>;
}

function tookOf({ startedAt, finishedAt }: RunView): string {
  return startedAt && finishedAt ? formatMs(Date.parse(finishedAt) - Date.parse(startedAt)) : "";
}

const tokensOf = ({ usage }: RunView): number => (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0);

/** Messages of agents under a filter. */
export function Messages({ filter }: { filter: Filter }): JSX.Element {
  const { from, to, status: state, channel, hook, group } = filter;
  const page = { from, to, before: route.value.query["before"], limit: PAGE_SIZE };
  return (
    <List
      from={useCall("GET /api/deliveries", { ...page, state, channel, hook, group })}
      label="Messages"
      itemsOf={({ deliveries }) => deliveries}
      keyOf={({ id }) => id}
      isPaged
      empty={<p>No message matches this filter.</p>}
      columns={[
        ["Text", (one) => <EventLink row={one}>{toLine(one.text, 200)}</EventLink>, "wide"],
        ["Created", ({ createdAt }) => <Time at={createdAt} />],
        ["State", ({ state: word }) => <State state={word} />],
        ["To", placeOf],
        ["Error", ({ error }) => <span class="bad">{toLine(error, 200)}</span>, "wide"],
        ["Attempts", ({ attempts }) => attempts, "number"],
        ["Sent", ({ sentAt }) => <Time at={sentAt} />],
      ]}
    />
  );
}

const placeOf = ({ channel, to, route: found }: DeliveryView): string =>
  `${found?.channel ?? channel} ${toLine(found?.to ?? to, 60)}`;
