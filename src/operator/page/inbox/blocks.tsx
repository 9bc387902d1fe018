import type { JSX } from "preact";
import { type Block, type Cell, describeStands, PART_NAMES } from "../../../core/approvals/question/card.ts";
import { Detail, Time } from "../parts/controls.tsx";

/** The blocks of a question, part by part. Their texts come from the service without hidden characters. */
export function Blocks({ blocks }: { blocks: readonly Block[] }): JSX.Element {
  const parts = Map.groupBy(blocks, ({ part }) => part);
  return (
    <>
      {[...parts].map(([part, own]) => {
        const shown = own.map((block, at) => <Part key={at} block={block} />);
        return part === "who" ? (
          <details key={part} class="technical">
            <summary>{PART_NAMES[part]}</summary>
            {shown}
          </details>
        ) : (
          <section key={part} class="block">
            <h3>{PART_NAMES[part]}</h3>
            <div>{shown}</div>
          </section>
        );
      })}
    </>
  );
}

/** Text from outside has a bar and its author's name. */
function Part({ block }: { block: Block }): JSX.Element {
  switch (block.kind) {
    case "note":
      return <p>{block.text}</p>;
    case "quote":
      return block.part === "read" ? <Read block={block} /> : <Quote block={block} />;
    case "facts":
      return block.from === "service" ? <Facts block={block} /> : <blockquote>{<Facts block={block} />}</blockquote>;
    case "table":
      return named(block.name, <Table block={block} />);
    case "diff": {
      const lines = block.lines.map(({ kind, text }, at) => (
        <span key={at} class={kind}>{`${MARKS[kind]}${text}\n`}</span>
      ));
      return named(block.name, <pre class="exact diff">{lines}</pre>);
    }
    default:
      return named(block.name, <Detail text={block.text} isVisible />);
  }
}

const MARKS = { added: "+", removed: "-", same: " " };

function named(name: string | undefined, shown: JSX.Element): JSX.Element {
  return (
    <figure>
      {name !== undefined && <figcaption class="quiet">{name}</figcaption>}
      {shown}
    </figure>
  );
}

const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/** Times of the service are shown in the zone of the browser. */
function Facts({ block: { rows, from } }: { block: Extract<Block, { kind: "facts" }> }): JSX.Element {
  return (
    <p class="facts">
      {rows.map(({ name, value, place }, at) => {
        const shown = from === "service" && TIME.test(value) ? <Time at={value} /> : <bdi>{value}</bdi>;
        return (
          <span key={at}>
            {name !== undefined && <span class="quiet">{name} </span>}
            {place === undefined ? shown : <a href={`#/${place}`}>{shown}</a>}
          </span>
        );
      })}
    </p>
  );
}

function Quote({ block: { by, text, more } }: { block: Extract<Block, { kind: "quote" }> }): JSX.Element {
  return (
    <blockquote>
      <span class="quiet">{by}</span>
      <bdi class="text">{text}</bdi>
      {more !== undefined && <span class="quiet">{more} characters more</span>}
    </blockquote>
  );
}

function Read({ block }: { block: Extract<Block, { kind: "quote" }> }): JSX.Element {
  const { by, arguments: given, text, more = 0, isPrivate } = block;
  return (
    <details>
      <summary>
        <code>{by}</code> <bdi>{given}</bdi>
        {isPrivate && <span class="tag">private</span>}
        <span class="quiet">{text.length + more} characters</span>
      </summary>
      <Detail text={text} isVisible />
    </details>
  );
}

function Table({ block: { name, columns, rows } }: { block: Extract<Block, { kind: "table" }> }): JSX.Element {
  return (
    <table class={columns ? "arguments" : "arguments by-name"} aria-label={`${name ?? "Arguments"}, exactly`}>
      {columns && (
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
      )}
      <tbody>
        {rows.map((row, at) => (
          <tr key={at}>{columns ? row.map((cell, place) => <Value key={place} cell={cell} />) : <Row row={row} />}</tr>
        ))}
      </tbody>
    </table>
  );
}

function Row({ row: [name, value] }: { row: readonly Cell[] }): JSX.Element {
  return (
    <>
      <th scope="row">{name?.text}</th>
      <td>
        <bdi>{value?.text}</bdi>
      </td>
      <td class={value?.stands?.[0] === "nowhere" ? "nowhere" : "quiet"}>
        {value?.stands && describeStands(value.stands)}
      </td>
    </>
  );
}

function Value({ cell: { text, stands } }: { cell: Cell }): JSX.Element {
  return (
    <td>
      <bdi>{text}</bdi> {stands?.[0] === "nowhere" && <span class="nowhere">nowhere</span>}
    </td>
  );
}
