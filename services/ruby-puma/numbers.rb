# frozen_string_literal: true

# Integers and Fibonacci numbers, as text.
module Numbers
  # An integer from 0 to 10,000, or nil.
  def self.parse(text)
    text.to_i if text.match?(/\A(10000|[0-9]{1,4})\z/)
  end

  def self.count(n)
    (1..n).to_a.join(" ")
  end

  # F(0) to F(n).
  def self.fib(n)
    a, b = 0, 1
    numbers = Array.new(n + 1) do
      current = a
      a, b = b, a + b
      current
    end
    numbers.join(" ")
  end
end
