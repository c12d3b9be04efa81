// The changes that a reader may make to a run: setting its label, and deleting it from the store.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { plural } from "../format.ts";
import { send, type ListedRun } from "./api.tsx";

/** Maximum length of a label in the store. */
const MAX_LABEL_LENGTH = 80;

/** Sends a change to the server, and holds the reason if it refuses. */
export function useChange(request: () => Promise<void>, done: () => void) {
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<string | null>(null);
  const act = async () => {
    setBusy(true);
    setRefusal(null);
    try {
      await request();
      setBusy(false);
      done();
    } catch (error) {
      setRefusal((error as Error).message);
      setBusy(false);
    }
  };
  return { busy, refusal, act };
}

/** Takes the focus when it appears, before the next key press. */
function useFocus<T extends HTMLElement>() {
  const element = useRef<T>(null);
  useLayoutEffect(() => element.current?.focus(), []);
  return element;
}

const address = (run: ListedRun): string => `/api/runs/${encodeURIComponent(run.id)}`;

interface ActionProps {
  run: ListedRun;
  done: () => void;
  leave: () => void;
}

function Refusal(props: { reason: string | null }) {
  return props.reason === null ? null : <p role="alert">{props.reason}</p>;
}

function Label(props: ActionProps) {
  const { run, done, leave } = props;
  const [text, setText] = useState(run.label ?? "");
  const { busy, refusal, act } = useChange(() => send("PUT", `${address(run)}/label`, { label: text }), done);
  const field = useFocus<HTMLInputElement>();
  const save = (event: Event) => {
    event.preventDefault();
    void act();
  };
  return (
    <form class="act" onSubmit={save}>
      <label class="field">
        <span>Label of {run.id}; empty for none</span>
        <input ref={field} value={text} maxLength={MAX_LABEL_LENGTH} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <button type="submit" class="plain-button" disabled={busy}>
        Save
      </button>
      <button type="button" class="plain-button" onClick={leave}>
        Cancel
      </button>
      <Refusal reason={refusal} />
    </form>
  );
}

function Delete(props: ActionProps) {
  const { run, done, leave } = props;
  const { busy, refusal, act } = useChange(() => send("DELETE", address(run)), done);
  const cancel = useFocus<HTMLButtonElement>();
  return (
    <div class="act" role="group" aria-label={`Delete ${run.id}?`}>
      <p>
        Delete <b>{run.label ?? run.id}</b> with its {plural(run.trials, "trial")}? This cannot be undone.
      </p>
      <button type="button" class="plain-button" ref={cancel} onClick={leave}>
        Keep it
      </button>
      <button type="button" class="plain-button danger" disabled={busy} onClick={() => void act()}>
        Delete {run.id}
      </button>
      <Refusal reason={refusal} />
    </div>
  );
}

/** The controls that change a run. One that is being measured cannot be deleted. */
export function Manage(props: { run: ListedRun; changed: () => void }) {
  const { run, changed } = props;
  const [open, setOpen] = useState<"label" | "delete" | null>(null);
  const opener = useRef<HTMLElement | null>(null);
  const leave = () => {
    setOpen(null);
    opener.current?.focus();
  };
  const done = (what: "label" | "delete") => () => {
    if (what === "label") leave();
    // The row disappears, and the focus must not disappear with it.
    else document.getElementById("main")?.focus();
    changed();
  };
  const actions: ["label" | "delete", string][] = [["label", "Label"], ...(run.running ? [] : ([["delete", "Delete"]] as ["delete", string][]))];
  const forms: Record<"label" | "delete", () => ComponentChildren> = {
    label: () => <Label run={run} done={done("label")} leave={leave} />,
    delete: () => <Delete run={run} done={done("delete")} leave={leave} />,
  };
  return (
    <div class="acts" onKeyDown={(event) => event.key === "Escape" && open !== null && leave()}>
      {actions.map(([what, word]) => (
        <button
          key={what}
          type="button"
          class="quiet-button"
          aria-expanded={open === what}
          aria-label={`${word} ${run.id}`}
          onClick={(event) => {
            opener.current = event.currentTarget;
            setOpen(open === what ? null : what);
          }}
        >
          {word}
        </button>
      ))}
      {open !== null && forms[open]()}
    </div>
  );
}
