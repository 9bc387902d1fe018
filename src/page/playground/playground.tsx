import type { JSX } from "preact";
import { call, type MappingSource } from "../api.ts";
import { Loading, Page, useLoad } from "../parts/load.tsx";
import { toLine } from "../parts/text.ts";
import { route, setQuery } from "../router.ts";
import { Workbench, type WorkbenchProps } from "./workbench.tsx";
import { NEW } from "./trial.tsx";

/** Edits a mapping on a payload, and shows what it makes of it as one types. Nothing is recorded or written. */
export function Playground(): JSX.Element {
  const { mapping = "" } = route.value.query;
  const loaded = useLoad("mappings", () => call("GET /api/mappings"), 0);
  const intro = <p class="quiet">Runs in the service’s own sandbox. Nothing is recorded, and no file is written.</p>;
  return (
    <Page title="Playground" intro={intro} from={loaded}>
      {({ mappings }) => (
        <>
          <p class="facts">
            <label>
              Mapping
              <select
                value={mapping}
                onChange={(event) => setQuery({ mapping: event.currentTarget.value, sample: "" })}
              >
                <option value="">new mapping</option>
                {mappings.map(({ id }) => (
                  <option key={id} value={id}>
                    {toLine(id, 80)}
                  </option>
                ))}
              </select>
            </label>
          </p>
          <LoadedWorkbench key={mapping} id={mapping} />
        </>
      )}
    </Page>
  );
}

/** Loads what the work starts from: the mapping's source, and the event. */
function LoadedWorkbench({ id }: { id: string }): JSX.Element {
  const { event = "" } = route.value.query;
  const loaded = useLoad(
    `source ${id} ${event}`,
    async () => {
      const found = event === "" ? undefined : await call("GET /api/events/:id", { id: event });
      const known = id || found?.mapping;
      const source = known === undefined ? NEW : await call("GET /api/mappings/:id/source", { id: known });
      return { source, event: found ?? (await findLatest(source)) };
    },
    0,
  );
  return <Loading from={loaded}>{(start) => <Workbench source={start.source} event={start.event} />}</Loading>;
}

/** Without a sample, the newest event of the mapping is what one most likely has in mind. */
async function findLatest({ fields, samples }: MappingSource): Promise<WorkbenchProps["event"]> {
  if (samples.length > 0 || fields.match?.path === undefined) return undefined;
  const { events } = await call("GET /api/events", { hook: fields.match.path, limit: 1 });
  return events[0] && call("GET /api/events/:id", { id: events[0].id });
}
