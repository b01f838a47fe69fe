// Which congestion control carriers to the region get. Without BBR a long path that loses packets is slow.

import { type Controls, isLongPath, isLossBased } from '@underpass/wire/path/core/congestion.ts';
import { type Finding, ok, warning } from './finding.ts';

const allowBbr =
  'On Linux: "sudo modprobe tcp_bbr", then "sudo sysctl -w net.ipv4.tcp_allowed_congestion_control=\'reno cubic bbr\'"; the operations page shows how to keep both.';

/** Judges a connection that has just opened. `controls` is null where the control cannot be chosen or may not be. */
export function judgeCongestion(control: string, roundTripMs: number, controls: Controls | null): Finding {
  const check = 'region congestion';
  const detail = `${control}, with a round trip of ${roundTripMs < 1 ? 'less than 1' : Math.round(roundTripMs)} ms`;
  if (controls === null) return ok(check, `${detail}, as the system chooses (UNDERPASS_CONGESTION)`);
  if (controls.far !== null || !isLossBased(control) || !isLongPath(roundTripMs)) return ok(check, detail);
  return warning(check, `${detail}: slow whenever packets are lost, and this system does not offer BBR`, allowBbr);
}
