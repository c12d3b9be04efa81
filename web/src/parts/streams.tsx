// The messages of streams in each trial.

import { idOf, type Messages, type Row, type Times } from "../data.ts";
import { human, whole } from "../format.ts";
import { Heads } from "./heads.tsx";

interface Column {
  head: string;
  /** Null if it is not known. */
  of: (messages: Messages) => string | null;
}

const time = (head: string, times: (messages: Messages) => Times | null | undefined, of: keyof Times): Column => ({
  head,
  of: (messages) => {
    const found = times(messages);
    return found ? human(found[of], "time") : null;
  },
});

/** Faults are shown only where they occurred. */
const fault = (head: string, of: (messages: Messages) => number | undefined): Column => ({
  head,
  of: (messages) => {
    const count = of(messages);
    return count ? whole(count) : null;
  },
});

/** The time per output token (TPOT) of each answer. */
const perToken = ({ llm }: Messages) => llm?.tpot_ns ?? llm?.itl_ns;

const COLUMNS: Column[] = [
  { head: "Messages", of: (messages) => whole(messages.received) },
  time("First, p50", ({ first_ns }) => first_ns, "p50"),
  time("First, p99", ({ first_ns }) => first_ns, "p99"),
  time("First token, p50", ({ llm }) => llm?.ttft_ns, "p50"),
  time("First token, p99", ({ llm }) => llm?.ttft_ns, "p99"),
  time("Per token, p50", perToken, "p50"),
  time("Per token, p99", perToken, "p99"),
  time("Inter-chunk, p50", ({ llm, gap_ns }) => llm && gap_ns, "p50"),
  time("Inter-chunk, p99", ({ llm, gap_ns }) => llm && gap_ns, "p99"),
  time("Gap, p50", ({ llm, gap_ns }) => (llm ? null : gap_ns), "p50"),
  time("Gap, p99", ({ llm, gap_ns }) => (llm ? null : gap_ns), "p99"),
  time("Longest gap", ({ gap_ns }) => gap_ns, "max"),
  time("Last, p50", ({ last_ns }) => last_ns, "p50"),
  time("Last, p99", ({ last_ns }) => last_ns, "p99"),
  { head: "Tokens", of: ({ llm }) => (llm?.usage ? human(llm.usage.per_s, "rate") : null) },
  fault("Missing", ({ ids }) => ids?.missing),
  fault("Doubled", ({ ids }) => ids?.doubled),
  fault("Late", ({ ids }) => ids?.late),
  fault("Ended early", ({ streams }) => streams?.ended_early),
];

export function Streams(props: { row: Row }) {
  const trials = (props.row.details?.points ?? []).flatMap(({ round, messages }) => (messages ? [{ round, messages }] : []));
  if (trials.length === 0) return null;
  const columns = COLUMNS.filter(({ of }) => trials.some(({ messages }) => of(messages) !== null));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`Streams of ${idOf(props.row)} in each trial`}>
      <table class="plain">
        <caption>Streams in each trial. Times run from sending a request to the end of a message; a gap is from one message of a stream to the next.</caption>
        <Heads of={["Round", ...columns.map(({ head }) => head)]} />
        <tbody>
          {trials.map(({ round, messages }, index) => (
            <tr key={index}>
              <th scope="row">{round + 1}</th>
              {columns.map(({ head, of }) => (
                <td key={head}>{of(messages) ?? "–"}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
