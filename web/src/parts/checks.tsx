// Which services pass which cases of their contracts.

import type { ComponentChildren } from "preact";
import { useContext, useState } from "preact/hooks";
import { idOf, type ServiceCheck, type Services } from "../data.ts";
import { plural } from "../format.ts";
import { PrintContext } from "../theme.ts";
import { Prose, Scroll } from "./elements.tsx";

/** The operations of a case in a few words; empty for reports that do not contain them. */
function operationsText(operations: string[]): string {
  return operations.length > 2 ? plural(operations.length, "operation") : operations.join(", ");
}

function Mark(props: { check: ServiceCheck; name: string }) {
  const { check, name } = props;
  const failure = check.failures.find((one) => one.case === name);
  if (failure)
    return (
      <td class="failed" title={`expected ${failure.expected}; got ${failure.got}`}>
        ✗<span class="hidden"> failed</span>
      </td>
    );
  if (check.cases.includes(name))
    return (
      <td class="passed">
        ✓<span class="hidden"> passed</span>
      </td>
    );
  return (
    <td class="self">
      <span class="hidden">not tried</span>
    </td>
  );
}

/** Whether a service has a trait, which is no condition for passing. */
function Trait(props: { has: boolean | undefined }) {
  if (props.has === undefined)
    return (
      <td class="self">
        <span class="hidden">not tried</span>
      </td>
    );
  return <td class="trait">{props.has ? "yes" : "no"}</td>;
}

function Matrix(props: { contract: string; checks: ServiceCheck[]; services: Services }) {
  const { services } = props;
  const checks = props.checks.filter((check) => check.unavailable === null);
  const cases = [...new Set(checks.flatMap((check) => [...check.cases, ...check.failures.map((failure) => failure.case)]))];
  const operations = new Map(checks.flatMap((check) => Object.entries(check.operations ?? {})));
  const all = [...new Set([...operations.values()].flat())];
  const traits = [...new Set(checks.flatMap((check) => Object.keys(check.traits ?? {})))].sort();
  return (
    <Scroll label={`Cases of ${props.contract}`} class="tall">
      <table class="matrix checks">
        <caption>
          {headline(props)}
          {all.length > 2 && `. Operations: ${all.join(", ")}`}
          {traits.length > 0 && ". The last columns are traits of a service: yes or no, and neither is a failure"}
        </caption>
        <thead>
          <tr>
            <td />
            {cases.map((name) => (
              <th key={name} scope="col" title={operations.get(name)?.join(", ")}>
                <span>
                  <small>{operationsText(operations.get(name) ?? [])}</small> {name}
                </span>
              </th>
            ))}
            {traits.map((name) => (
              <th key={name} scope="col">
                <span>
                  <small>trait</small> {name}
                </span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {checks.map((check) => (
            <tr key={`${idOf(check)} ${check.protocol ?? ""}`}>
              <th scope="row">{nameOf(check, services)}</th>
              {cases.map((name) => (
                <Mark key={name} check={check} name={name} />
              ))}
              {traits.map((name) => (
                <Trait key={name} has={check.traits?.[name]} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

const headline = ({ contract, checks }: { contract: string; checks: ServiceCheck[] }): string =>
  `${contract}: ${checks.filter((check) => check.passed).length} of ${plural(checks.length, "service")} passed`;

function nameOf(check: ServiceCheck, services: Services): string {
  const name = services.name(idOf(check));
  return check.protocol === undefined || check.protocol === "http" ? name : `${name} (${check.protocol})`;
}

const MAX_OPEN_CELLS = 1500;

/** A long table is collapsed, and drawn only when it is opened or printed. */
function CollapsibleMatrix(props: { contract: string; checks: ServiceCheck[]; services: Services }) {
  const [open, setOpen] = useState(false);
  const printing = useContext(PrintContext);
  const cells = props.checks.length * Math.max(...props.checks.map((check) => check.cases.length + check.failures.length));
  if (cells <= MAX_OPEN_CELLS || printing) return <Matrix {...props} />;
  return (
    <details class="folded" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{headline(props)}</summary>
      {open && <Matrix {...props} />}
    </details>
  );
}

/** The findings for each service: failures, warnings, or why it was not checked. */
function Findings(props: { title: string; items: { name: string; parts: ComponentChildren[] }[] }) {
  if (props.items.length === 0) return null;
  return (
    <>
      <h3>{props.title}</h3>
      <ul class="findings">
        {props.items.map(({ name, parts }) => (
          <li key={name}>
            <b>{name}</b>
            <ul>
              {parts.map((part, index) => (
                <li key={index}>{part}</li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </>
  );
}

export function Checks(props: { checks: ServiceCheck[]; services: Services }) {
  const { checks, services } = props;
  if (checks.length === 0) return null;
  const contracts = [...new Set(checks.map((check) => check.contract))];
  const title = (check: ServiceCheck) => `${nameOf(check, services)}, ${check.contract}`;
  const failures = checks
    .filter((check) => check.failures.length > 0)
    .map((check) => ({
      name: title(check),
      parts: check.failures.map((failure) => (
        <>
          {failure.case}: expected <Prose text={failure.expected} />, got <Prose text={failure.got} />
        </>
      )),
    }));
  const warnings = checks
    .filter((check) => check.warnings.length > 0)
    .map((check) => ({ name: title(check), parts: check.warnings.map((text) => <Prose text={text} />) }));
  const unavailable = checks.flatMap((check) => (check.unavailable === null ? [] : [{ name: title(check), parts: [<Prose text={check.unavailable} />] }]));
  return (
    <section aria-labelledby="checks">
      <h2 id="checks">Contract checks</h2>
      <p class="quiet">Before a service is loaded, each case of its contract is sent once and the reply is compared with the expected one.</p>
      {contracts.map((contract) => (
        <CollapsibleMatrix key={contract} contract={contract} checks={checks.filter((check) => check.contract === contract)} services={services} />
      ))}
      <Findings title="Failures" items={failures} />
      <Findings title="Warnings (do not fail the check)" items={warnings} />
      <Findings title="Not checked" items={unavailable} />
    </section>
  );
}
