export function parse(text: string): number | undefined;
export function count(n: number): string;
export function fib(n: number): string;
