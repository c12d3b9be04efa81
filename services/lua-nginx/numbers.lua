-- Integers and Fibonacci numbers, as text.
local numbers = {}

-- A digit of a number that is a table, the lowest first: Lua has no integers of more than 53 bits.
local BASE = 10 ^ 14

function numbers.count(n)
    local text = {}
    for i = 1, n do
        text[i] = i
    end
    return table.concat(text, " ")
end

-- b has as many digits as a, or more.
local function add(a, b)
    local sum, carry = {}, 0
    for i = 1, #b do
        local digit = b[i] + (a[i] or 0) + carry
        carry = digit >= BASE and 1 or 0
        sum[i] = digit - carry * BASE
    end
    if carry > 0 then
        sum[#sum + 1] = carry
    end
    return sum
end

local function write(number)
    local text = { string.format("%.0f", number[#number]) }
    for i = #number - 1, 1, -1 do
        text[#text + 1] = string.format("%014.0f", number[i])
    end
    return table.concat(text)
end

-- F(0) to F(n).
function numbers.fib(n)
    local text = {}
    local a, b = { 0 }, { 1 }
    for i = 0, n do
        text[i + 1] = write(a)
        a, b = b, add(a, b)
    end
    return table.concat(text, " ")
end

return numbers
