# frozen_string_literal: true

require "grape"
require_relative "numbers"

# hello and sequence, as a Grape API.
class App < Grape::API
  content_type :txt, "text/plain"
  default_format :txt
  prefix :api

  helpers do
    def length
      Numbers.parse(params[:n]) || error!("n must be an integer from 0 to 10000", 400)
    end
  end

  get(:test) { "Hello, World!" }
  # By default what follows a dot is a format.
  N = { requirements: { n: %r{[^/]+} } }.freeze
  get("count/:n", N) { Numbers.count(length) }
  get("fib/:n", N) { Numbers.fib(length) }
end
