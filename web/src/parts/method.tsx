// Where and how the run was measured, in plain words.

import type { Environment, TestbedHost, Report } from "../data.ts";
import { formatTime, humanize, plural } from "../format.ts";
import { Facts, Prose, type Fact } from "./elements.tsx";

function environmentFacts(environment: Environment): Fact[] {
  const { cpu } = environment;
  const flagText = (flag: boolean | null | undefined, on: string, off: string) => (flag == null ? null : flag ? on : off);
  const size = (count: number | null | undefined) => (count == null ? null : humanize(count, "bytes"));
  const limit = size(environment.memory_limit_bytes);
  const facts: [string, string | null | undefined][] = [
    ["prony", [environment.prony, environment.commit].filter(Boolean).join(", commit ")],
    ["System", environment.os],
    ["Kernel", environment.kernel],
    ["CPU", cpu.model],
    ["CPUs usable", String(cpu.online) + (cpu.cores ? ` on ${plural(cpu.cores, "core")}` : "") + (flagText(cpu.smt, ", two threads a core", "") ?? "")],
    ["Frequency", [cpu.governor && `governor ${cpu.governor}`, flagText(cpu.turbo, "turbo on", "turbo off")].filter(Boolean).join(", ")],
    ["Memory", [size(environment.memory_bytes), limit && `of which prony may use ${limit}`].filter(Boolean).join(", ")],
    ["Virtualisation", environment.virtualisation],
    ["Control groups", environment.cgroup],
    ["Load average before", environment.load_average?.toFixed(2)],
    ...Object.entries(environment.runtimes ?? {}),
  ];
  return facts.filter((fact): fact is [string, string] => Boolean(fact[1]));
}

/** The hosts of a testbed, each with its roles and its machine. */
function Hosts(props: { environment: Environment }) {
  const hosts = Object.entries(props.environment.hosts ?? {});
  const links = props.environment.links ?? [];
  if (hosts.length === 0) return null;
  const description = ({ roles, address, cpus, environment }: TestbedHost) =>
    [
      `${roles.join(" and ")} at ${address}`,
      plural(cpus.length, "CPU") + (environment.cpu.model ? ` of ${environment.cpu.model}` : ""),
      environment.kernel && `Linux ${environment.kernel}`,
    ]
      .filter(Boolean)
      .join(", ");
  return (
    <>
      <h3>Hosts</h3>
      <Facts
        facts={[
          ...hosts.map(([name, host]): Fact => [name, description(host)]),
          ...links.map((link): Fact => [`${link.from} to ${link.to}`, `${(link.bits_per_s / 1e9).toFixed(2)} Gbit/s, round trip ${humanize(link.round_trip_ns, "time")}`]),
        ]}
      />
    </>
  );
}

export function Method(props: { report: Report }) {
  const { report } = props;
  const findings = report.environment.findings ?? [];
  return (
    <section aria-labelledby="method">
      <h2 id="method">How this was measured</h2>
      <div class="method">
        <div>
          <h3>Method</h3>
          <ul class="prose">
            {report.method.map((sentence) => (
              <li key={sentence}>
                <Prose text={sentence} />
              </li>
            ))}
          </ul>
          {findings.length > 0 && (
            <>
              <h3>Limits of accuracy on this machine</h3>
              <ul class="prose">
                {findings.map((finding) => (
                  <li key={finding.text}>
                    <Prose text={finding.text} />{" "}
                    <span class="quiet">
                      To fix it: <Prose text={finding.remedy} />
                    </span>
                  </li>
                ))}
              </ul>
            </>
          )}
        </div>
        <div>
          <h3>Machine</h3>
          <Facts facts={environmentFacts(report.environment)} />
          <Hosts environment={report.environment} />
        </div>
      </div>
      <p class="quiet">
        Run <code>{report.run}</code>, begun {formatTime(report.started_at)}, seed <code>{report.seed}</code>.
      </p>
    </section>
  );
}
