import { describeTransformRunner } from "../../../test/contracts/transform-runner.ts";
import { silentLog } from "../../telemetry/log.ts";
import { createSandbox } from "./supervisor.ts";

describeTransformRunner("sandbox", () => createSandbox({ log: silentLog }), "request");
describeTransformRunner("sandbox", () => createSandbox({ log: silentLog }), "strict");
