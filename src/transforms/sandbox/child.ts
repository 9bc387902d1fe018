import { createJobRunner, type JobRunner } from "./job-runner.ts";
import { createFrameReader, encodeFrame, type Frame, type Order, type Report } from "./protocol.ts";

/*
 * The entry of a sandbox process. Orders come in on standard input and are carried out one after the other; reports
 * go out on standard output, one for each job, in order. It ends with its pipe, so that no child outlives its supervisor.
 */

/** How long it works before it reads again: a cancellation then overtakes what it cancels. */
const TURN_MS = 5;
const waiting: Frame<Order>[] = [];
const cancelled = new Set<number>();
let runner: JobRunner;

process.stdin.on("data", createFrameReader<Order>(receive));
process.stdin.on("end", () => process.kill(process.pid, "SIGKILL"));
report({ kind: "ready" });

function receive(frame: Frame<Order>): void {
  if (frame.head.kind === "cancel") cancelled.add(frame.head.job);
  else if (waiting.push(frame) === 1) setImmediate(carryOutSome);
}

function carryOutSome(): void {
  const until = performance.now() + TURN_MS;
  do {
    carryOut(waiting[0]!);
    waiting.shift();
  } while (waiting.length > 0 && performance.now() < until);
  if (waiting.length > 0) setImmediate(carryOutSome);
  // What came too late for its job cancels nothing.
  else cancelled.clear();
}

function carryOut({ head: order, text, body }: Frame<Order>): void {
  if (order.kind === "realm") runner = createJobRunner(text);
  else if (order.kind === "load") runner.load(order, text);
  else if (order.kind === "unload") runner.unload(order.module);
  else if (order.kind !== "cancel") {
    const { job, kind: operation, module, timeoutMs } = order;
    const wanted = !cancelled.delete(job);
    // Of a cancelled job nobody reads the answer; it only keeps its place in the row.
    const answer = wanted
      ? runner.run(module, { operation, text, body: body.toString("utf8"), timeoutMs })
      : "";
    report({ kind: "answer", job }, answer);
  }
}

function report(head: Report, text?: string): void {
  process.stdout.write(encodeFrame(head, text));
}
