// stand-in until the served views are written in the next step
export function Served() {
  return null;
}
