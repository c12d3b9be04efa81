// A served page, chosen by its URL.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Shell } from "../parts/page.tsx";
import { Comparison } from "./compare.tsx";
import { History } from "./history.tsx";
import { LiveRun } from "./live.tsx";
import { Runs } from "./runs.tsx";

/** The state of a request. */
export type Answer<T> = { state: "waiting" } | { state: "failed"; reason: string } | { state: "here"; value: T };

/** Requests once, and again whenever `key` changes; the previous value stays until the new one arrives. */
export function useAnswer<T>(question: () => Promise<T>, key: unknown): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T>>({ state: "waiting" });
  useEffect(() => {
    let wanted = true;
    question().then(
      (value) => wanted && setAnswer({ state: "here", value }),
      (error: Error) => wanted && setAnswer({ state: "failed", reason: error.message }),
    );
    return () => {
      wanted = false;
    };
  }, [key]);
  return answer;
}

/** Shows the value, or that it is loading, or why there is none. */
export function Shown<T>(props: { answer: Answer<T>; children: (value: T) => ComponentChildren }) {
  const { answer } = props;
  if (answer.state === "waiting") return <p class="quiet" role="status">Loading …</p>;
  if (answer.state === "failed")
    return (
      <>
        <h1>This cannot be shown</h1>
        <p role="alert">{answer.reason}</p>
      </>
    );
  return <>{props.children(answer.value)}</>;
}

export function Served() {
  const { pathname, search } = location;
  const [kind, ...rest] = pathname.split("/").filter(Boolean).map(decodeURIComponent);
  const asked = new URLSearchParams(search);
  let title = "Runs";
  let body = <Runs />;
  if (kind === "run" && rest[0]) {
    title = rest[0];
    body = <LiveRun run={rest[0]} />;
  } else if (kind === "compare") {
    title = "Comparison";
    body = <Comparison a={asked.get("a") ?? ""} b={asked.get("b") ?? ""} />;
  } else if (kind === "service" && rest.length === 3) {
    title = rest[0]!;
    body = <History service={rest[0]!} variant={rest[1]!} contract={rest[2]!} />;
  }
  const back = kind ? (
    <nav aria-label="prony">
      <a href="/">Runs</a>
    </nav>
  ) : null;
  return (
    <Shell title={title} back={back}>
      {body}
    </Shell>
  );
}
