# hello and sequence on Crystal's own HTTP::Server.
require "big"
require "http/server"
require "system"
require "uri"

LARGEST_N = 10_000

# An integer from 0 to LARGEST_N, or nil.
def parse(text : String) : Int32?
  n = text.to_i? if text.matches?(/\A[0-9]{1,5}\z/)
  n if n && n <= LARGEST_N
end

def count(n : Int32) : String
  (1..n).join(' ')
end

# F(0) to F(n).
def fib(n : Int32) : String
  a, b = BigInt.new(0), BigInt.new(1)
  String.build do |text|
    (0..n).each do |i|
      text << ' ' if i > 0
      text << a
      a, b = b, a + b
    end
  end
end

def reply(context, status : HTTP::Status, body : String)
  context.response.status = status
  context.response.content_type = "text/plain"
  context.response.print body unless context.request.method == "HEAD"
end

def numbers(context, written : String, & : Int32 -> String)
  if n = parse(written)
    reply(context, :ok, yield n)
  else
    reply(context, :bad_request, "n must be an integer from 0 to 10000")
  end
end

def answer(context)
  return reply(context, :method_not_allowed, "only GET") unless context.request.method.in?("GET", "HEAD")
  path = URI.decode(context.request.path)
  if path == "/api/test"
    reply(context, :ok, "Hello, World!")
  elsif written = path.lchop?("/api/count/")
    numbers(context, written) { |n| count(n) }
  elsif written = path.lchop?("/api/fib/")
    numbers(context, written) { |n| fib(n) }
  else
    reply(context, :not_found, "no such path")
  end
end

def serve
  server = HTTP::Server.new { |context| answer(context) }
  Signal::TERM.trap { server.close }
  # The kernel shares the connections out among the workers.
  server.bind_tcp(ENV.fetch("HOST", "127.0.0.1"), ENV.fetch("PORT", "8080").to_i, reuse_port: true)
  server.listen
end

workers = ENV.fetch("WORKERS", System.cpu_count.to_s).to_i
if workers == 1
  serve
else
  children = Array.new(workers) do
    Process.new(PROGRAM_NAME, env: {"WORKERS" => "1"}, output: :inherit, error: :inherit)
  end
  Signal::TERM.trap { children.each(&.signal(:term)) }
  children.each(&.wait)
end
