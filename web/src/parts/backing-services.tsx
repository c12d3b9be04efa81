// The backing services of a service in each trial, and the checks in them after the load.

import { idOf, type AfterLoad, type BackingPoint, type Row } from "../data.ts";
import { digits, human, whole, words, type Dimension } from "../format.ts";
import { Heads } from "./heads.tsx";

const show = (value: number | null, dimension: Dimension): string => (value === null ? "–" : human(value, dimension));

function connections({ watched }: BackingPoint): string {
  if (!watched) return "–";
  const doing = Object.entries(watched.connections).map(([what, mean]) => `${words(what)} ${digits(mean)}`);
  return `up to ${watched.connections_most}${doing.length > 0 ? `; on average ${doing.join(", ")}` : ""}`;
}

function Used(props: { row: Row; used: { round: number; one: BackingPoint }[] }) {
  if (props.used.length === 0) return null;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`Backing services of ${idOf(props.row)} in each trial`}>
      <table class="plain">
        <caption>Backing services in each trial</caption>
        <Heads of={["Round", "Backing service", "CPU per request", "Memory, peak", "Written to disk", "Connections of the service"]} />
        <tbody>
          {props.used.map(({ round, one }, index) => (
            <tr key={index}>
              <th scope="row">{round + 1}</th>
              <td>{[one.title, one.version].filter(Boolean).join(" ")}</td>
              <td>{show(one.cpu_ns_per_request, "time")}</td>
              <td>{show(one.memory_bytes_peak, "bytes")}</td>
              <td>{show(one.disk_written_bytes, "bytes")}</td>
              <td>{connections(one)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Found(props: { row: Row; found: { round: number; one: AfterLoad }[] }) {
  if (props.found.length === 0) return null;
  const wanted = ({ low, high }: AfterLoad) => (low === high ? whole(low) : `${whole(low)} to ${whole(high)}`);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`Checks in the backing services of ${idOf(props.row)} after each load`}>
      <table class="plain">
        <caption>Checks in the backing services after the load</caption>
        <Heads of={["Round", "Backing service", "Check", "Expected", "Found"]} />
        <tbody>
          {props.found.map(({ round, one }, index) => (
            <tr key={index}>
              <th scope="row">{round + 1}</th>
              <td>{one.backing_service}</td>
              <td>
                {one.name}: {one.equals}
              </td>
              <td>{wanted(one)}</td>
              <td>{whole(one.found)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function BackingProcesses(props: { row: Row }) {
  const points = props.row.details?.points ?? [];
  return (
    <>
      <Used row={props.row} used={points.flatMap(({ round, backing_services }) => (backing_services ?? []).map((one) => ({ round, one })))} />
      <Found row={props.row} found={points.flatMap(({ round, after }) => (after ?? []).map((one) => ({ round, one })))} />
    </>
  );
}
