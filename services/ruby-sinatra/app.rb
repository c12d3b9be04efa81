# frozen_string_literal: true

require "sinatra/base"
require_relative "numbers"

# hello and sequence, as a modular Sinatra application.
class App < Sinatra::Base
  # No line per request, and no page with a stack for an error.
  set :environment, :production
  disable :logging, :static

  before { content_type "text/plain" }

  get("/api/test") { "Hello, World!" }
  get("/api/count/:n") { Numbers.count(length) }
  get("/api/fib/:n") { Numbers.fib(length) }

  def length
    Numbers.parse(params["n"]) || halt(400, "n must be an integer from 0 to 10000")
  end
end
