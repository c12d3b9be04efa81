## Integers and Fibonacci numbers, as text.
import std/[options, sequtils, strutils]

const
  LargestN = 10_000
  Base = 1_000_000_000'u32 ## of a digit of BigInt
  Width = 9 ## decimal digits of one of them

type BigInt = seq[uint32] ## the lowest digit first; the standard library has none

proc parse*(text: string): Option[int] =
  ## An integer from 0 to LargestN.
  if text.len in 1..5 and text.allCharsInSet(Digits):
    let n = parseInt(text)
    if n <= LargestN:
      return some(n)

proc count*(n: int): string =
  toSeq(1..n).join(" ")

proc `+`(a, b: BigInt): BigInt =
  ## b has as many digits as a, or more.
  var carry = 0'u32
  for i, digit in b:
    let sum = digit + (if i < a.len: a[i] else: 0) + carry
    carry = sum div Base
    result.add(sum mod Base)
  if carry > 0:
    result.add(carry)

proc `$`(number: BigInt): string =
  result = system.`$`(number[^1])
  for i in countdown(number.high - 1, 0):
    result.add(align(system.`$`(number[i]), Width, '0'))

proc fib*(n: int): string =
  ## F(0) to F(n).
  var
    a: BigInt = @[0'u32]
    b: BigInt = @[1'u32]
  for i in 0..n:
    if i > 0:
      result.add(' ')
    result.add($a)
    let next = a + b
    a = b
    b = next
