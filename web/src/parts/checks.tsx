// Which services pass which cases of their contracts.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { idOf, type ServiceCheck, type Services } from "../data.ts";
import { plural } from "../format.ts";

function Matrix(props: { contract: string; checks: ServiceCheck[]; services: Services }) {
  const { checks, services } = props;
  const keyOf = (check: ServiceCheck) => `${idOf(check)} ${check.protocol ?? ""}`;
  const cases = [...new Set(checks.flatMap((check) => [...check.cases, ...check.failures.map((failure) => failure.case)]))];
  return (
    <div class="scroll tall" tabIndex={0} role="region" aria-label={`Cases of ${props.contract}`}>
      <table class="matrix checks">
        <caption>
          {props.contract}: {checks.filter((check) => check.passed).length} of {plural(checks.length, "service")} passed
        </caption>
        <thead>
          <tr>
            <td />
            {cases.map((name) => (
              <th key={name} scope="col">
                <span>{name}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {checks.map((check) => {
            const failed = new Map(check.failures.map((failure) => [failure.case, failure]));
            return (
              <tr key={keyOf(check)}>
                <th scope="row">{nameOf(check, services)}</th>
                {check.unavailable !== null ? (
                  <td class="unavailable" colSpan={Math.max(1, cases.length)}>
                    not checked: {check.unavailable}
                  </td>
                ) : (
                  cases.map((name) => {
                    const failure = failed.get(name);
                    if (failure)
                      return (
                        <td key={name} class="failed" title={`expected ${failure.expected}; got ${failure.got}`}>
                          ✗<span class="hidden"> failed</span>
                        </td>
                      );
                    return check.cases.includes(name) ? (
                      <td key={name} class="passed">
                        ✓<span class="hidden"> passed</span>
                      </td>
                    ) : (
                      <td key={name} class="self">
                        <span class="hidden">not tried</span>
                      </td>
                    );
                  })
                )}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function nameOf(check: ServiceCheck, services: Services): string {
  const name = services.name(idOf(check));
  return check.protocol === undefined || check.protocol === "http" ? name : `${name} (${check.protocol})`;
}

const MAX_OPEN_CELLS = 1500;

/** A long table is collapsed, and drawn only when it is opened. */
function CollapsibleMatrix(props: { contract: string; checks: ServiceCheck[]; services: Services }) {
  const { contract, checks } = props;
  const [open, setOpen] = useState(false);
  const cells = checks.length * Math.max(...checks.map((check) => check.cases.length + check.failures.length));
  if (cells <= MAX_OPEN_CELLS) return <Matrix {...props} />;
  return (
    <details class="folded" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {contract}: {checks.filter((check) => check.passed).length} of {plural(checks.length, "service")} passed
      </summary>
      {open && <Matrix {...props} />}
    </details>
  );
}

/** The findings for each service: failures, or warnings, which fail no check. */
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
          {failure.case}: expected <code>{failure.expected}</code>, got <code>{failure.got}</code>
        </>
      )),
    }));
  const warnings = checks
    .filter((check) => check.warnings.length > 0)
    .map((check) => ({ name: title(check), parts: check.warnings as ComponentChildren[] }));
  return (
    <section aria-labelledby="checks">
      <h2 id="checks">Contract checks</h2>
      <p class="quiet">Before a service is loaded, each case of its contract is sent once and the reply is compared with the expected one.</p>
      {contracts.map((contract) => (
        <CollapsibleMatrix key={contract} contract={contract} checks={checks.filter((check) => check.contract === contract)} services={services} />
      ))}
      <Findings title="Failures" items={failures} />
      <Findings title="Warnings, which fail no check" items={warnings} />
    </section>
  );
}
