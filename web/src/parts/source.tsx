// Link to the source of a service, at the measured revision.

import type { Environment, ServiceInfo } from "../data.ts";

/** The repository, and the commit that was measured; either may be unknown. */
export interface Repository {
  address: string | null;
  commit: string | null;
}

export function repositoryOf(environment: Environment): Repository {
  const address = environment.repository ?? "";
  return {
    // Only these schemes are linked, whatever the environment contains.
    address: /^https?:\/\//.test(address) ? address.replace(/(\.git)?\/*$/, "") : null,
    commit: environment.commit ?? null,
  };
}

/** A link to the source at the measured commit; only the path if no repository is known. */
export function Source(props: { info: ServiceInfo; repository: Repository }) {
  const { info, repository } = props;
  // The variant of a service from another revision names that revision.
  const [, revision] = /@([0-9a-f]{7,40})$/.exec(info.variant) ?? [];
  const [commit, dirty] = (revision ?? repository.commit ?? "").split("+");
  const at = commit ? `, commit ${commit}${dirty ? " with changes" : ""}` : "";
  const path = info.source!;
  if (repository.address === null || !commit) return <>{`${path}${at}`}</>;
  const link = `${repository.address}/tree/${encodeURIComponent(commit)}/${path.split("/").map(encodeURIComponent).join("/")}`;
  return (
    <>
      <a href={link} rel="noreferrer">
        {path}
      </a>
      {at}
    </>
  );
}
