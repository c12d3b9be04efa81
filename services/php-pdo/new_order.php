<?php

declare(strict_types=1);

/** What a client asks for. */
final class NewOrder
{
    private function __construct(
        public readonly int $customer,
        public readonly ?string $note,
        public readonly array $lines,
    ) {
    }

    /** A body that lacks a member, or holds a wrong kind of value, is a 400. */
    public static function read(stdClass $body): self
    {
        $note = $body->note ?? null;
        $lines = $body->lines ?? null;
        $right = is_int($body->customerId ?? null)
            // PostgreSQL has no text with NUL.
            && ($note === null || is_string($note) && !str_contains($note, "\0"))
            && is_array($lines)
            && array_filter($lines, self::is_line(...)) === $lines;
        return $right ? new self($body->customerId, $note, $lines) : throw new Refusal(400);
    }

    private static function is_line(mixed $line): bool
    {
        return $line instanceof stdClass && is_int($line->productId ?? null) && is_int($line->quantity ?? null);
    }

    /** All that is wrong with it; the prices are those of the products that there are. */
    public function faults(bool $customer_is_known, array $prices): array
    {
        $faults = [];
        if (!$customer_is_known) {
            $faults[] = ['field' => 'customerId', 'code' => 'unknown'];
        }
        if ($this->note !== null && iconv_strlen($this->note, 'UTF-8') > 500) {
            $faults[] = ['field' => 'note', 'code' => 'length'];
        }
        if (count($this->lines) < 1 || count($this->lines) > 20) {
            $faults[] = ['field' => 'lines', 'code' => 'range'];
        }
        foreach ($this->lines as $number => $line) {
            if (!isset($prices[$line->productId])) {
                $faults[] = ['field' => "lines[$number].productId", 'code' => 'unknown'];
            }
            if ($line->quantity < 1 || $line->quantity > 1000) {
                $faults[] = ['field' => "lines[$number].quantity", 'code' => 'range'];
            }
        }
        return $faults;
    }
}
