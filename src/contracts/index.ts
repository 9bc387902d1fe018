/** The contract suites that the built-in drivers pass, for the tests of your own drivers. */
export {
  type AgentUnderTest,
  type CallingAgentUnderTest,
  describeAgent,
  describeCallingAgent,
  describeRemoteAgent,
  type RemoteAgentUnderTest,
  turnOf,
} from "./agent.ts";
export {
  type ChannelUnderTest,
  describeChannel,
  describeRemoteChannel,
  type RemoteChannelUnderTest,
} from "./channel.ts";
export { type Fault, type FaultProxy, startFaultProxy } from "./fault-proxy.ts";
export type { TestRunner, UnderTest } from "./harness.ts";
export { describeToolSet, type ToolSetUnderTest } from "./tools.ts";
export { describeMailSource, type MailSourceUnderTest } from "./mail.ts";
export { testVendor, type VendorDoubles } from "./vendor.ts";
