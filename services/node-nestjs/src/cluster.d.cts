export function start(serve: () => unknown): void;
