// The headings of a plain table.

export function Heads(props: { of: string[] }) {
  return (
    <thead>
      <tr>
        {props.of.map((head) => (
          <th key={head} scope="col">
            {head}
          </th>
        ))}
      </tr>
    </thead>
  );
}
