import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { call, type DeadLetterGroupView, type DeadLetterView } from "../api-client.ts";
import { confirmed } from "../parts/ask.tsx";
import { delayed, notify, notifyOf, Time } from "../parts/controls.tsx";
import { formatNumber, messageOf, toLine } from "../parts/format.ts";
import { Loading, useCall } from "../parts/load.tsx";
import { Chosen, EventLink, PAGE_SIZE, Table } from "../parts/table.tsx";
import { TimeFilter } from "../parts/times.tsx";
import { Title } from "../parts/title.tsx";
import { hrefTo, route } from "../router.ts";

type Treatment = "retry" | "drop";
const FACETS = ["kind", "hook", "group"] as const;

/** Permanent failures: in groups of one error, and each of them. */
export function DeadLetters(): JSX.Element {
  const { query } = route.value;
  const { from, to, kind, hook, group, before } = query;
  const times = { from, to };
  const groups = useCall("GET /api/dead-letters/groups", times);
  const page = { ...times, kind, hook, group, before, limit: PAGE_SIZE };
  const letters = useCall("GET /api/dead-letters", page);
  const reload = (): void => {
    groups.reload();
    letters.reload();
  };
  return (
    <section class="page">
      <Title text="Dead letters" />
      <p class="filters-line">
        <TimeFilter />
      </p>
      <Loading from={groups}>
        {(found) => <Groups groups={found.groups} countedTo={found.countedTo} reload={reload} />}
      </Loading>
      <Loading from={letters}>
        {({ deadLetters }) => (
          <Letters letters={deadLetters} isFiltered={FACETS.some((name) => query[name])} reload={reload} />
        )}
      </Loading>
    </section>
  );
}

interface GroupsProps {
  groups: readonly DeadLetterGroupView[];
  countedTo: number;
  reload(): void;
}

function Groups({ groups, countedTo, reload }: GroupsProps): JSX.Element | null {
  if (groups.length === 0) return null;
  const total = groups.reduce((sum, { count }) => sum + count, 0);
  return (
    <>
      <h2>
        By error{" "}
        <span class="quiet">
          {formatNumber(total)}
          {total >= countedTo ? "+" : ""} in all
        </span>
      </h2>
      <Table
        label="Failures by error"
        items={groups}
        keyOf={({ kind, hook, group }) => JSON.stringify([kind, hook, group])}
        empty=""
        columns={[
          {
            name: "Count",
            kind: "number",
            show: ({ count, kind, hook, group }) => (
              <a href={hrefTo(["dead-letters"], { ...route.value.query, kind, hook, group, before: undefined })}>
                {formatNumber(count)}
              </a>
            ),
          },
          { name: "Hook", show: ({ hook }) => <b>{toLine(hook ?? "heartbeat", 60)}</b> },
          { name: "Kind", show: ({ kind }) => (kind === "run" ? "turn" : kind) },
          { name: "Error", kind: "wide", show: ({ error }) => <span class="bad">{toLine(error, 240)}</span> },
          { name: "First", show: ({ firstAt }) => <Time at={firstAt} /> },
          { name: "Last", show: ({ lastAt }) => <Time at={lastAt} /> },
          { name: "Actions", show: (group) => <GroupActions group={group} reload={reload} /> },
        ]}
      />
    </>
  );
}

function GroupActions({ group: { kind, hook, group, count }, reload }: { group: DeadLetterGroupView; reload(): void }) {
  const choice = { kind, hook, group };
  const label = `${formatNumber(count)} of ${toLine(hook ?? kind, 40)}: ${toLine(group, 60)}`;
  return (
    <span class="row-actions">
      <button aria-label={`Retry ${label}`} onClick={() => void treatGroup("retry", choice, reload).then(reload)}>
        Retry {formatNumber(count)}
      </button>
      <button aria-label={`Drop ${label}`} onClick={() => void treatGroup("drop", choice, reload)}>
        Drop {formatNumber(count)}
      </button>
    </span>
  );
}

type Choice = Pick<DeadLetterGroupView, "kind" | "hook" | "group">;

/** The preview counts them, and the action takes exactly those. */
async function treatGroup(treatment: Treatment, choice: Choice, reload: () => void): Promise<void> {
  const failed = treatment === "retry" ? "Not retried" : "Not dropped";
  const change = (token?: string, isLast = false) =>
    call("POST /api/bulk", {}, { body: { action: treatment, filter: choice, token }, isLast });
  const preview = await notifyOf(change(), undefined, failed);
  if (!preview) return;
  const { count, token } = preview;
  if (treatment === "drop") {
    const act = (isLast: boolean): void =>
      void change(token, isLast).then(reload, (error: unknown) => notify(`${failed}: ${messageOf(error)}`, "bad"));
    return delayed(`${countLetters(count)} will be dropped.`, act, reload);
  }
  const what = choice.kind === "run" ? "turns start again with all their attempts" : "deliveries are sent again";
  const text = `${formatNumber(count)} ${what}. What fails from now on is left as it is.`;
  if (!(await confirmed(`Retry ${formatNumber(count)}?`, text, `Retry ${formatNumber(count)}`))) return;
  await notifyOf(
    change(token),
    ({ changed = 0 }) =>
      `${formatNumber(changed)} run again${changed < count ? `; ${formatNumber(count - changed)} had changed meanwhile` : ""}.`,
    failed,
  );
}

const countLetters = (count: number): string =>
  count === 1 ? "One dead letter" : `${formatNumber(count)} dead letters`;

interface LettersProps {
  letters: readonly DeadLetterView[];
  isFiltered: boolean;
  reload(): void;
}

function Letters({ letters, isFiltered, reload }: LettersProps): JSX.Element {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const chosen = letters.filter(({ id }) => selected.has(id));
  const finish = (treatment: Treatment, failed: string[]): void => {
    setSelected(new Set(failed));
    const done = `${chosen.length - failed.length} ${treatment === "retry" ? "will run again" : "canceled"}`;
    notify(failed.length > 0 ? `${done}, ${failed.length} failed.` : `${done}.`, failed.length > 0 ? "bad" : "good");
    reload();
  };
  const retry = async (): Promise<void> => {
    const text = `${chosen.length} run again with all their attempts.`;
    if (await confirmed(`Retry ${chosen.length}?`, text, `Retry ${chosen.length}`)) {
      finish("retry", await treatAll("retry", chosen));
    }
  };
  const drop = (): void => {
    const act = (isLast: boolean): void =>
      void treatAll("drop", chosen, isLast).then((failed) => !isLast && finish("drop", failed));
    delayed(`${countLetters(chosen.length)} will be dropped.`, act, reload);
  };
  return (
    <>
      {letters.length > 0 && <h2>Each of them</h2>}
      <Chosen names={FACETS} />
      {letters.length > 0 && (
        <p class="actions">
          <button disabled={selected.size === 0} onClick={() => void retry()}>
            Retry {selected.size || ""}
          </button>
          <button disabled={selected.size === 0} onClick={drop}>
            Drop {selected.size || ""}
          </button>
        </p>
      )}
      <Table
        label="Dead letters"
        items={letters}
        keyOf={({ id }) => id}
        isPaged
        selected={selected}
        onSelect={setSelected}
        empty={<p>{isFiltered ? "No dead letter matches this filter." : "Nothing has failed permanently."}</p>}
        columns={[
          { name: "Failed", show: ({ at }) => <Time at={at} /> },
          { name: "Kind", show: ({ kind }) => (kind === "run" ? "turn" : kind) },
          { name: "Hook", show: (row) => <EventLink row={row}>{toLine(row.hook ?? row.kind, 60)}</EventLink> },
          { name: "Error", kind: "wide", show: ({ error }) => <span class="bad">{toLine(error, 240)}</span> },
          { name: "Attempts", kind: "number", show: ({ attempts }) => attempts },
        ]}
      />
    </>
  );
}

/** A browser opens six connections to a host at most. */
const IN_PARALLEL = 4;
const ENDPOINTS = { retry: "POST /api/dead-letters/:id/retry", drop: "DELETE /api/dead-letters/:id" } as const;

/** Returns the ids of those that could not be treated. */
async function treatAll(treatment: Treatment, items: readonly DeadLetterView[], isLast = false): Promise<string[]> {
  const waiting = items.values();
  const failed: string[] = [];
  const work = async (): Promise<void> => {
    for (const { id } of waiting) await call(ENDPOINTS[treatment], { id }, { isLast }).catch(() => failed.push(id));
  };
  await Promise.all(Array.from({ length: IN_PARALLEL }, work));
  return failed;
}
