import type { JSX } from "preact";
import { describeAuthority } from "../../../core/ports/authority.ts";
import { DAY_MS } from "../../../core/shared/time.ts";
import type { MappingView, StatusView } from "../api-client.ts";
import { Act } from "../parts/actions.tsx";
import { Copy, Detail, Problems, State, Time, Warnings } from "../parts/controls.tsx";
import { formatNumber, toLine } from "../parts/format.ts";
import { Loading, useCall } from "../parts/load.tsx";
import { Title } from "../parts/title.tsx";
import { Table } from "../parts/table.tsx";
import { hrefTo, route, setQuery } from "../router.ts";

/** The mappings of each sender in the order in which they are tried, and the last reload. */
export function Mappings({ id }: { id?: string }): JSX.Element {
  const { text = "" } = route.value.query;
  const status = useCall("GET /api/status");
  const loaded = useCall("GET /api/mappings");
  return (
    <section class="page">
      <Title text="Mappings" />
      <Loading from={status}>
        {({ config, lastReloadError }) => (
          <>
            {lastReloadError && <ReloadFailure failure={lastReloadError} />}
            <Warnings texts={config.warnings} />
          </>
        )}
      </Loading>
      <p class="actions">
        <input
          type="search"
          aria-label="Search mappings"
          placeholder="Search ( / )"
          value={text}
          onInput={({ currentTarget }) => setQuery({ text: currentTarget.value })}
        />
        <a class="button" href={hrefTo(["mappings", "new"])}>
          New mapping
        </a>
      </p>
      <Loading from={loaded}>
        {({ mappings }) => <MappingTable mappings={mappings} text={text} chosen={id} reload={loaded.reload} />}
      </Loading>
      <Loading from={useCall("GET /api/tools")}>
        {({ authority }) => (
          <>
            <h2>Who may do what</h2>
            <Detail text={describeAuthority(authority).join("\n")} />
          </>
        )}
      </Loading>
    </section>
  );
}

interface MappingTableProps {
  mappings: readonly MappingView[];
  /** Only mappings with this text are shown. */
  text: string;
  /** The id of the one whose details are open. */
  chosen: string | undefined;
  reload(): void;
}

function MappingTable({ mappings, text, chosen, reload }: MappingTableProps): JSX.Element {
  const words = text.toLowerCase().split(/\s+/);
  const isFound = (mapping: MappingView): boolean => {
    const all =
      `${mapping.id} ${mapping.preset ?? ""} ${senderOf(mapping)} ${mapping.matches} ${mapping.action}`.toLowerCase();
    return words.every((word) => all.includes(word));
  };
  const senders = Map.groupBy(mappings.filter(isFound), senderOf);
  return (
    <>
      <Table
        label="Mappings by sender"
        items={[...senders.values()].flat()}
        keyOf={(mapping) => mapping.id}
        groupOf={(mapping) => {
          const key = senderOf(mapping);
          return { key, show: <Sender mappings={senders.get(key) ?? []} /> };
        }}
        detailOf={(mapping) => (mapping.id === chosen ? <Details mapping={mapping} reload={reload} /> : undefined)}
        empty={mappings.length === 0 ? EMPTY : <p>No mapping has this text.</p>}
        columns={[
          ["Order", (mapping) => mappings.indexOf(mapping) + 1, "number"],
          ["Mapping", (mapping) => <MappingLink mapping={mapping} />],
          ["Matches", ({ matches }) => toLine(matches, 400) || "everything", "wide"],
          ["Action", ({ action }) => action],
          ["Credential", ({ auth, schedule }) => (schedule ? "schedule" : (auth ?? "hook token"))],
          ["Next", ({ nextAt }) => <Time at={nextAt} />],
          ["Events", (mapping) => <EventCount mapping={mapping} />, "number"],
          ["Failed", ({ errorRate }) => <Rate share={errorRate} />, "number"],
          ["Last", ({ lastAt }) => <Time at={lastAt} />],
          ["Last failure", ({ lastFailureAt }) => <Time at={lastFailureAt} />],
        ]}
      />
      <p class="quiet">
        Events of the last seven days. Failed: refused or failed, also in a turn or a message. Each request goes to the
        first mapping in this order that it matches.
      </p>
    </>
  );
}

/** Why the newest configuration is not the one in use. */
function ReloadFailure({ failure }: { failure: NonNullable<StatusView["lastReloadError"]> }): JSX.Element {
  return (
    <div class="panel" role="alert">
      <p class="problem">
        <b>The last reload failed</b> <Time at={failure.at} />. The service runs on the configuration before it.
      </p>
      <Problems problems={failure.problems} />
    </div>
  );
}

/** The path of its hook; empty: it takes any. */
function senderOf({ match }: MappingView): string {
  return "path" in match ? String(match.path) : "";
}

/** The common part of a sender's mappings: its address, its last event, its failures. */
function Sender({ mappings }: { mappings: readonly MappingView[] }): JSX.Element {
  const [{ url, refused } = { url: undefined, refused: undefined }] = mappings;
  const path = mappings[0] ? senderOf(mappings[0]) : "";
  const failed = mappings.reduce((total, { events, errorRate }) => total + sum(events) * errorRate, 0);
  const lastAt = mappings
    .flatMap((mapping) => mapping.lastAt ?? [])
    .toSorted()
    .at(-1);
  return (
    <p class="facts">
      <b>{path === "" ? "any sender" : toLine(path, 60)}</b>
      {url !== undefined && (
        <>
          <code>{url}</code> <Copy text={url} label="Copy the URL" />
        </>
      )}
      {lastAt === undefined ? <span class="quiet">no event</span> : <Time at={lastAt} before="last event" />}
      {failed > 0 && <span class="bad">{formatNumber(Math.round(failed))} failed</span>}
      {refused && refused.count > 0 && (
        <a
          class="warn"
          href={hrefTo(["activity"], { status: "refused", hook: path })}
          title={refused.reason?.replaceAll("_", " ")}
        >
          {formatNumber(refused.count)} refused
        </a>
      )}
    </p>
  );
}

/** The link has exactly the rows that are counted. */
function EventCount({ mapping: { id, events } }: { mapping: MappingView }): JSX.Element {
  const from = new Date(Date.now() - 7 * DAY_MS).toISOString();
  return <a href={hrefTo(["activity"], { mapping: id, from })}>{formatNumber(sum(events))}</a>;
}

function MappingLink({ mapping: { id, preset, shadowed, pausedSince } }: { mapping: MappingView }): JSX.Element {
  return (
    <span class="facts">
      <a data-row={id} href={hrefTo(["mappings", id])}>
        {toLine(id, 60)}
      </a>
      {pausedSince !== undefined && <State state="paused" />}
      {preset !== undefined && preset !== id && <span class="quiet">{preset}</span>}
      {shadowed && <State state="shadowed" />}
    </span>
  );
}

function Rate({ share }: { share: number }): JSX.Element {
  return <span class={share > 0 ? "bad" : "quiet"}>{`${Math.round(share * 1000) / 10} %`}</span>;
}

function Details({ mapping, reload }: { mapping: MappingView; reload(): void }): JSX.Element {
  const { id, file, key, schedule, events, pausedSince } = mapping;
  const counts = Object.entries(events).map(([state, count]) => `${formatNumber(count)} ${state}`);
  return (
    <div class="panel">
      <p class="facts">
        <span>
          {schedule && `Schedule: ${toLine(Object.values(schedule).join(" "), 80)}. `}
          {counts.length > 0 ? counts.join(", ") : "No event in the last seven days."}
        </span>
        <span class="quiet">{file === undefined ? key : `${file} › ${key}`}</span>
      </p>
      {pausedSince !== undefined && (
        <p class="warn">
          Paused since <Time at={pausedSince} />: {schedule ? "the schedule makes no event. " : ""}Requests are accepted
          and answered, and their turns wait.
        </p>
      )}
      <p class="actions">
        <Act name={pausedSince === undefined ? "Pause" : "Resume"} id={id} of={toLine(id, 60)} then={reload} />
        {schedule && <Act name="Run now" id={id} of={toLine(id, 60)} />}
        <a class="button" href={hrefTo(["mappings", id, "edit"])}>
          Open in playground
        </a>
        <a class="button" href={hrefTo(["activity"], { mapping: id })}>
          Show its requests
        </a>
      </p>
    </div>
  );
}

const EMPTY = (
  <>
    <p>
      No mapping and no preset is configured. The hooks <code>wake</code> and <code>agent</code> need none. To add a
      preset:
    </p>
    <pre>npx hookline presets enable github</pre>
  </>
);

function sum(counts: Record<string, number>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}
