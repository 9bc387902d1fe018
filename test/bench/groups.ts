import {
  bodyOf,
  findPeers,
  ONE_SESSION,
  sign,
  SIGNED,
  startAgent,
  startBareLoop,
  startBareTurn,
  startFloor,
  startHookline,
  startModules,
  startPackages,
  startStoringFloor,
  TRANSFORM,
  WAKE,
} from "./contestants.ts";
import type { BenchServer } from "./server.ts";

export const US = "hookline";
export const FLOOR = "floor";
/** The work of the floor besides an answer. */
export const FLOORS = { answer: "asks a model", calls: "makes three calls", commit: "commits each" };
const BURST = 2000;

export interface Cell {
  row: string;
  connections?: number;
  bytes?: number;
  /** Another hook than `bench`. */
  hook?: string;
  headers?: Record<string, string>;
  /** The answers are refusals. */
  refused?: true;
  /** The load comes from the Node client, which ends with the last answer, and the runs are executed. */
  drain?: true;
  /** The number of requests, instead of a time. */
  requests?: number;
  /** Compared with the AI SDK alone, with its loop that makes the same calls, or with the floor that commits each request. */
  turn?: keyof typeof FLOORS;
}

const SIZES: Cell[] = [
  { row: "1 KB, 1 connection", connections: 1 },
  { row: "1 KB, 16 connections" },
  { row: "1 KB, 64 connections", connections: 64 },
];
const LARGE: Cell[] = [
  { row: "20 KB, 16 connections", bytes: 20_000 },
  { row: "200 KB, 16 connections", bytes: 200_000 },
];

export interface Group {
  who: string;
  start(folder: string): Promise<BenchServer>;
  cells: Cell[];
  /** The name of the row of its memory after the load. */
  memory?: string;
  /** The name of the row of its start. */
  start2xx?: string;
}

const prefixed = (name: string, cells: Cell[]): Cell[] =>
  cells.map((cell) => ({ ...cell, row: `${name}, ${cell.row}` }));

/** Each has a server of its own. The floor comes first, since the others are compared with it. */
export const groups: Group[] = [
  {
    who: FLOOR,
    start: () => startFloor(),
    cells: [...SIZES, ...LARGE, { row: "by the Node client", drain: true }],
    start2xx: "first 2xx",
    memory: "under load, 1 KB",
  },
  { who: FLOOR, start: startBareTurn, cells: [{ row: FLOORS.answer, drain: true, turn: "answer" }] },
  { who: FLOOR, start: startBareLoop, cells: [{ row: FLOORS.calls, drain: true, turn: "calls" }] },
  { who: FLOOR, start: startStoringFloor, cells: [{ row: FLOORS.commit, drain: true, turn: "commit" }] },
  {
    who: US,
    start: (folder) => startHookline(folder, WAKE),
    cells: prefixed("wake", SIZES),
    start2xx: "first 2xx",
    memory: "under load, 1 KB",
  },
  {
    who: US,
    start: (folder) => startHookline(folder, WAKE),
    cells: [
      ...prefixed("wake", LARGE),
      { row: "a wrong token, 16 connections", headers: { authorization: "Bearer wrong" }, refused: true },
      { row: "an unknown hook, 16 connections", hook: "unknown", refused: true },
    ],
  },
  {
    who: US,
    start: (folder) => startHookline(folder, SIGNED),
    cells: [{ row: "wake signed by GitHub, 1 KB, 16 connections", headers: sign(bodyOf(1000)) }],
  },
  {
    who: US,
    start: (folder) => startHookline(folder, TRANSFORM),
    cells: prefixed("transform", SIZES),
    start2xx: "first 2xx with a transform",
    memory: "with a transform, 1 KB",
  },
  {
    who: US,
    start: (folder) => startHookline(folder, TRANSFORM),
    cells: prefixed("transform", LARGE),
    memory: "with a transform, 200 KB",
  },
  {
    who: US,
    start: (folder) => startModules(folder, 200),
    cells: [],
    start2xx: "first 2xx with 200 transforms",
    memory: "with 200 transforms",
  },
  {
    who: US,
    start: startPackages,
    cells: [
      { row: "transform with zod/mini, 1 KB, 16 connections", hook: "mini" },
      { row: "transform with import * as z, 1 KB, 16 connections", hook: "star" },
      { row: "transform with date-fns, 1 KB, 16 connections", hook: "dates" },
    ],
  },
  {
    who: US,
    start: startAgent,
    cells: [
      { row: "agent turn, executed, 16 connections, beside the AI SDK alone", drain: true, turn: "answer" },
      {
        row: "the same with three recorded calls, beside a bare loop of the AI SDK",
        hook: "calls",
        drain: true,
        turn: "calls",
      },
    ],
  },
  {
    who: US,
    start: (folder) => startHookline(folder, ONE_SESSION),
    cells: [
      {
        row: `a burst of ${BURST} turns in one session, executed, beside a commit each`,
        drain: true,
        turn: "commit",
        requests: BURST,
      },
    ],
  },
  ...findPeers().map(({ who, start }) => ({
    who,
    start,
    cells: prefixed("wake", who === "webhook" ? SIZES : [...SIZES, ...LARGE]),
    start2xx: "first 2xx",
    memory: "under load, 1 KB",
  })),
];
